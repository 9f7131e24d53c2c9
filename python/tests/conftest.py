import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program():
    """The command line: `target/debug/icee`, or where `ICEE_BIN` says."""
    named = os.environ.get("ICEE_BIN")
    program = pathlib.Path(named or ROOT / "target" / "debug" / "icee")
    # Who says where it is means to have it tested.
    if named is None and not program.exists():
        pytest.skip("there is no icee to compare with; build it with `cargo build`, or say where it is: ICEE_BIN=…")
    return program


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture(scope="session")
def command(program):
    """The command line, to compare with: `command("study", "ask", …)` gives what it prints."""

    def run(*words, folder):
        done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class Server:
    """`icee serve` in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        command = [program, "serve", "--port", "0", "--studies", folder]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = self.process.stdout.readline().split(" ")[0]

    def url(self, name):
        return f"{self.base}/studies/{name}"

    def token(self, name, role):
        words = ["serve", "token", "create", name, "--role", role, "--studies", self.folder]
        return subprocess.run([self.program, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def server(program, tmp_path, monkeypatch):
    monkeypatch.delenv("ICEE_TOKEN", raising=False)
    running = Server(program, tmp_path / "served")
    yield running
    running.process.kill()
    running.process.wait()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser, once for all tests."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: pages are not tested")
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        # Who has to have one does not skip what is tested in it.
        assert "ICEE_REQUIRE_BROWSER" not in os.environ, "there is no chromium, or no chromedriver"
        pytest.skip("no chromium and chromedriver: pages are not tested")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    quiet = ["disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"]
    for switch in ["headless=new", "no-sandbox", "window-size=1000,1200", f"user-data-dir={tmp_path_factory.mktemp('chromium')}", *quiet]:
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(tmp_path_factory.getbasetemp())})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium):
    """The browser with an empty window. Whatever a page complains about on its console, is an error."""
    chromium.get("about:blank")
    chromium.get_log("browser")
    yield chromium
    complaints = [entry for entry in chromium.get_log("browser") if "status of 4" not in entry["message"]]
    assert complaints == []
