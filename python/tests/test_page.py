"""The page of a server in a real browser: from a dropped sheet to results, by mouse, keyboard and in two windows at once."""

import json
import urllib.request

import pytest

pytest.importorskip("selenium", reason="no selenium: pages are not tested")

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

FLOURS = ["rye", "wheat", "spelt"]
SHEET = "name,heat,minutes,flour,score\n" + "".join(
    f"b{row},{150 + row % 10 * 10},{10 + row // 10 * 5},{FLOURS[row % 3]},{row if row < 3 else ''}\n" for row in range(40)
)


class Page:
    def __init__(self, browser):
        self.browser = browser

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, what):
        # What is looked at may be drawn anew at any moment.
        waiting = WebDriverWait(self.browser, 20, ignored_exceptions=[StaleElementReferenceException])
        return waiting.until(lambda _: what(), f"waited for too long; the page said: {self.text()}")

    def one(self, selector):
        self.wait(lambda: self.all(selector))
        return self.all(selector)[0]

    def text(self):
        return self.browser.find_element(By.TAG_NAME, "body").text

    def reads(self, words):
        self.wait(lambda: words in self.text())

    def choose(self, selector, words):
        def chosen():
            choice = Select(self.one(selector))
            if choice.first_selected_option.text != words:
                choice.select_by_visible_text(words)
                return False
            return True

        self.wait(chosen)

    def button(self, words):
        return self.wait(lambda: [one for one in self.all("button") if one.text == words])[0]

    def cards(self):
        return [card.get_attribute("data-row") for card in self.all("li.card")]

    def starts(self, server, path, direction="maximize"):
        """A study of the sheet at a path, as the page has understood it."""
        self.browser.get(server.base.removesuffix("/api") + "/")
        self.one("#sheet").send_keys(str(path))
        self.one(f"#good-{direction}").click()
        self.button("Start the study").click()
        self.one("#ask")


@pytest.fixture
def page(browser):
    return Page(browser)


def post(server, path, body):
    request = urllib.request.Request(
        f"{server.base}/api{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def read(server, path):
    with urllib.request.urlopen(f"{server.base}/api{path}") as answer:
        return json.load(answer)


def test_from_a_sheet_to_results(server, page, tmp_path):
    (tmp_path / "my bread.csv").write_text(SHEET)
    page.browser.get(server.base + "/")
    page.reads("None yet.")
    page.one("#sheet").send_keys(str(tmp_path / "my bread.csv"))
    # What was understood, and what is corrected.
    page.reads("number, 150 to 240")
    assert Select(page.one("#value")).first_selected_option.text == "score"
    page.choose("#role-0", "the name of the row")
    page.choose("#role-2", "numbers, by orders of magnitude")
    page.reads("log")
    page.button("Start the study").click()
    page.reads("which values are good?")
    page.one("#good-maximize").click()
    page.button("Start the study").click()
    page.reads("40 rows; score: higher is better.")
    assert (read(server, "/studies/my-bread")["id_column"], len(read(server, "/studies/my-bread")["told"])) == ("name", 3)
    # Two rows, by keyboard alone from here on: ask, type, enter, type, enter.
    page.one("#count").send_keys(Keys.ARROW_UP, Keys.ENTER)
    page.wait(lambda: len(page.cards()) == 2)
    rows = page.cards()
    page.browser.switch_to.active_element.send_keys("7,5", Keys.ENTER)
    page.wait(lambda: page.cards() == rows[1:])
    page.browser.switch_to.active_element.send_keys("much", Keys.ENTER)
    page.reads('"much" is no number')
    page.browser.switch_to.active_element.send_keys(Keys.CONTROL, "a", Keys.NULL, "8", Keys.ENTER)
    page.reads("Nothing is running.")
    told = read(server, "/studies/my-bread")["told"]
    assert [(row["id"], row["value"]) for row in told[3:]] == [(rows[0], 7.5), (rows[1], 8.0)]
    assert page.all("figure svg circle.dot")
    page.button("Undo the last change").click()
    page.wait(lambda: page.cards() == rows[1:])
    for question, there in [("How far could its predictions", "figure"), ("What do the columns do?", "svg rect.bar")]:
        (summary,) = [one for one in page.all("summary") if one.text.startswith(question)]
        summary.click()
        page.wait(lambda there=there: page.all(f"details[open] {there}"))
    # On a telephone nothing sticks out.
    page.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": True}
    )
    width = page.browser.execute_script("return document.documentElement.scrollWidth")
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width == 360


def test_what_others_do_is_seen_at_once_and_what_is_typed_stays(server, page, tmp_path):
    (tmp_path / "bread.csv").write_text(SHEET)
    page.starts(server, tmp_path / "bread.csv")
    mine = post(server, "/studies/bread/ask", {"more": True})["suggestions"][0]["id"]
    page.wait(lambda: page.cards() == [mine])
    page.one(f"#value-{mine}").send_keys("6.")
    theirs = post(server, "/studies/bread/ask", {"more": True, "by": "Ada"})["suggestions"][0]["id"]
    page.wait(lambda: page.cards() == [mine, theirs])
    page.reads("Ada has it")
    page.browser.switch_to.active_element.send_keys("5")
    assert page.one(f"#value-{mine}").get_attribute("value") == "6.5"
    post(server, "/studies/bread/tell", {"row": theirs, "value": 9})
    page.wait(lambda: page.cards() == [mine])
    page.reads(f"row {theirs}")


def test_nothing_in_a_sheet_is_more_than_text(server, page, tmp_path):
    evil = '<img src=x onerror="document.title=1">'
    cell = evil.replace('"', '""')
    (tmp_path / "evil.csv").write_text(f'a,"{cell}"\n' + "".join(f'{row},"{cell}{row % 2}"\n' for row in range(9)))
    page.starts(server, tmp_path / "evil.csv")
    page.one("#ask").click()
    page.wait(page.cards)
    page.reads(evil)
    assert not page.all("img") and page.browser.title == "evil – icee"
    # Nor can a script of this page run what is not its own.
    assert "Refused" in page.browser.execute_async_script(
        """const done = arguments[0];
        try { document.body.innerHTML = "<b>x</b>"; done("taken"); } catch (error) { done("Refused: " + error); }"""
    )
    page.browser.get_log("browser")


def test_who_has_no_token_is_asked_for_one(server, page, tmp_path):
    secret = server.token("ada", "write")
    page.browser.get(server.base + "/")
    page.reads("This server asks who you are.")
    page.one("#token").send_keys(secret, Keys.ENTER)
    page.reads("None yet.")
    (tmp_path / "bread.csv").write_text(SHEET)
    page.one("#sheet").send_keys(str(tmp_path / "bread.csv"))
    page.one("#good-minimize").click()
    page.button("Start the study").click()
    page.one("#ask").click()
    page.reads("ada has it")
    page.browser.execute_script("sessionStorage.clear()")
