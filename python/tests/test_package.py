"""The package as a whole: examples, types, and how fast it is there."""

import doctest
import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import icee

ROOT = pathlib.Path(__file__).parents[2]
MODULES = sorted(module.name for module in pkgutil.walk_packages(icee.__path__, "icee."))


@pytest.mark.parametrize("name", ["icee", *MODULES])
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"icee": icee, "folder": tmp_path})
    assert failed == 0


def test_the_version_is_the_programs():
    text = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{icee.__version__}"' in text


def test_importing_it_imports_nothing_large():
    large = "pandas polars pyarrow gymnasium optuna sklearn scipy torch matplotlib".split()
    code = f"import sys, icee; print([name for name in {large} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


WITHOUT = "import sys; sys.modules.update(dict.fromkeys('gymnasium optuna sklearn pandas polars pyarrow minari'.split()));"


@pytest.mark.parametrize(
    "code",
    [
        "from icee import *; Study, Agent, worlds",
        "import icee, inspect; [getattr(icee, name) for name in icee.__all__]; inspect.getmembers(icee)",
        "import icee, pydoc; assert 'InContextRegressor' in pydoc.render_doc(icee)",
        "import icee; assert icee.worlds.ids()",
    ],
)
def test_numpy_is_enough(code):
    subprocess.run([sys.executable, "-c", WITHOUT + code], check=True)


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("icee.evaluate('dark-room__icee', games=1)", "gymnasium"),
        ("icee.evaluate('dark-room__icee', 'CartPole-v1', games=1)", "gymnasium"),
        ("icee.collect('icee/DarkRoom-v0', 'random', games=1, episodes=1)", "gymnasium"),
        ("icee.optuna", "optuna"),
        ("icee.InContextRegressor()", "sklearn"),
    ],
)
def test_what_is_missing_is_named(code, needed):
    code = f"import icee\ntry: {code}\nexcept ImportError as error: print(error)"
    out = subprocess.check_output([sys.executable, "-c", f"{WITHOUT}\n{code}"], text=True)
    assert f"pip install icee[{needed}]" in out


def test_everything_of_icee_leaves_others_names_alone():
    code = "import optuna\nfrom icee import *\nassert optuna.__name__ == 'optuna', optuna"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert icee.optuna.IceeSampler


def test_types(tmp_path):
    # Elsewhere than in python/, where the package would be found without its engine.
    settings = ["--cache-dir", tmp_path]
    stubs = ["-m", "mypy.stubtest", "icee._native", "--ignore-missing-stub"]
    for words in (stubs, ["-m", "mypy", "--config-file", ROOT / "pyproject.toml", *settings, "-p", "icee"]):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


# A run that is only tried, not waited for: steps and games.
SHORTER = {"own_world": ["3", "20"]}


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "python").glob("*.py")), ids=lambda path: path.stem)
def test_programs(path, tmp_path):
    assert len(path.read_text().splitlines()) <= 40
    # What they show is not about to go.
    words = [sys.executable, "-W", "error::FutureWarning", path, *SHORTER.get(path.stem, [])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
