"""The page of a server in a real browser: from a dropped sheet to results, by mouse, keyboard and in two windows at once."""

import json
import subprocess
import time
import urllib.request

import icee
import pytest

pytest.importorskip("selenium", reason="no selenium: pages are not tested")

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import expected_conditions
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

    def undo(self, words):
        """Undoes the last step, which the page says in these words."""
        self.button("Undo").click()
        asked = self.alert()
        assert f"The last step: {words}" in asked.text, asked.text
        asked.accept()

    def alert(self):
        return WebDriverWait(self.browser, 20).until(expected_conditions.alert_is_present())

    def opens(self, words):
        """Opens what is folded under these words."""
        self.wait(lambda: [one for one in self.all("summary") if one.text.startswith(words)])[0].click()

    def says(self, words):
        self.wait(lambda: words in self.one("#messages").text)

    def narrow(self, width):
        """How wide the page is on a telephone."""
        size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": True}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        return wide

    def starts(self, server, path, direction="maximize"):
        """A study of the sheet at a path, as the page reads it."""
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
    # How the columns are used, and what is corrected.
    page.reads("number, 150 to 240")
    assert Select(page.one("#value")).first_selected_option.text == "score"
    page.choose("#role-0", "Names the rows")
    page.choose("#role-2", "Logarithmic")
    page.reads("log")
    page.button("Start the study").click()
    page.reads("Which results are good, high or low ones?")
    assert page.browser.switch_to.active_element.get_attribute("id") == "good-maximize"
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
    page.reads('"much" is not a number')
    page.browser.switch_to.active_element.send_keys(Keys.CONTROL, "a", Keys.NULL, "8", Keys.ENTER)
    page.reads("No row is in progress.")
    told = read(server, "/studies/my-bread")["told"]
    assert [(row["id"], row["value"]) for row in told[3:]] == [(rows[0], 7.5), (rows[1], 8.0)]
    assert page.all("figure svg circle.dot")
    page.undo(f"results of row {rows[1]}")
    page.wait(lambda: page.cards() == rows[1:])
    page.reads(f"Undone: results of row {rows[1]}.")
    folded = {"Most promising rows": "tbody th", "Predicted and measured": "figure", "Effects of the columns": "svg circle.place"}
    for words, there in folded.items():
        page.opens(words)
        page.wait(lambda there=there: page.all(f"details[open] {there}"))
    # On a telephone nothing sticks out.
    assert page.narrow(360) == 360


def test_what_others_do_is_seen_at_once_and_what_is_typed_stays(server, page, tmp_path):
    (tmp_path / "bread.csv").write_text(SHEET)
    page.starts(server, tmp_path / "bread.csv")
    mine = post(server, "/studies/bread/ask", {"more": True})["suggestions"][0]["id"]
    page.wait(lambda: page.cards() == [mine])
    page.one(f"#value-{mine}").send_keys("6.")
    theirs = post(server, "/studies/bread/ask", {"more": True, "by": "Ada"})["suggestions"][0]["id"]
    page.wait(lambda: page.cards() == [mine, theirs])
    page.reads("reserved by Ada")
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
    page.reads("This server needs a token.")
    page.one("#token").send_keys(secret, Keys.ENTER)
    page.reads("None yet.")
    (tmp_path / "bread.csv").write_text(SHEET)
    page.one("#sheet").send_keys(str(tmp_path / "bread.csv"))
    page.one("#good-minimize").click()
    page.button("Start the study").click()
    page.one("#ask").click()
    page.reads("reserved by ada")
    # A row that someone else has is released in their name.
    mine = page.cards()
    icee.Study(url=server.url("bread"), token=server.token("bob", "write")).ask(more=True)
    page.reads("reserved by bob")
    [button for button in page.all("li.card form button") if button.text == "Release"][1].click()
    page.wait(lambda: page.cards() == mine)
    page.browser.execute_script("sessionStorage.clear()")


def test_with_several_objectives_there_is_a_front(server, page):
    sheet = "heat,flour\n" + "".join(f"{150 + 10 * row},{FLOURS[row % 3]}\n" for row in range(20))
    post(server, "/studies", {"name": "soup", "sheet": sheet, "direction": "max", "also": ["pH = 7.2", "salt <= 9"]})
    for row, (value, ph, salt) in enumerate([(140, 3, 1), (90, 7.2, 1), (80, 6, 1), (150, 7.2, 99)], 1):
        post(server, "/studies/soup/tell", {"row": row, "value": value, "further": {"pH": ph, "salt": salt}})
    page.browser.get(f"{server.base}/#/study/soup")
    page.reads("2 Pareto-optimal rows: none is better than another")
    front = page.all(".table")[0].find_elements(By.CSS_SELECTOR, "tbody th")
    assert sorted(row.text for row in front) == ["1", "2"]
    page.one("#ask").click()
    page.reads("chance of joining the Pareto front.")
    assert "best so far" not in page.text() and "Points: every experiment." in page.text()
    # All results of a row can be corrected.
    page.all("table.cards")[1].find_elements(By.XPATH, ".//button[text()='Correct']")[0].click()
    for value in ("151", "7,3", "8"):
        page.alert().send_keys(value)
        page.alert().accept()
    page.wait(lambda: read(server, "/studies/soup")["told"][3]["further"] == [["pH", 7.3], ["salt", 8]])


def test_a_sheet_that_is_refused_leaves_room_for_the_next(server, page, tmp_path):
    (tmp_path / "words.csv").write_text("heat,flour,score\n1,a,2\n2,b,n.d.\n3,a,\n")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\0\0\0\0\0")
    (tmp_path / "ansi.csv").write_bytes("Mehl;Wärme (°C)\nRoggen;200\nWeizen;210\nWeizen;220\n".encode("cp1252"))
    page.browser.get(server.base + "/")
    page.one("#sheet").send_keys(str(tmp_path / "words.csv"))
    page.says("n.d.")
    # Another column may be the one with results, or another sheet the right one.
    page.choose("#value", "none: I record results here")
    page.wait(lambda: "n.d." not in page.one("#messages").text)
    page.one("#sheet").send_keys(str(tmp_path / "old.xls"))
    page.says("old.xls cannot be used")
    assert "One moment" not in page.text()
    # What older programs save is read.
    page.one("#sheet").send_keys(str(tmp_path / "ansi.csv"))
    page.reads("Wärme (°C)")
    page.reads("read as Windows writes them")
    page.browser.get("about:blank")
    for name, words in [("%", "cannot be called"), ("nowhere", 'There is no study "nowhere"')]:
        page.browser.get(f"{server.base}/#/study/{name}")
        page.reads("All studies")
        page.says(words)
        assert not page.all("#ask") and "POST" not in page.text(), page.text()


def test_tokens_that_may_not_or_are_revoked_are_said_and_another_can_be_entered(server, page, tmp_path):
    looks, writes = server.token("rita", "read"), server.token("wim", "write")
    page.browser.get(server.base + "/")
    page.one("#token").send_keys(looks, Keys.ENTER)
    page.reads("None yet.")
    (tmp_path / "bread.csv").write_text(SHEET)
    page.one("#sheet").send_keys(str(tmp_path / "bread.csv"))
    page.reads("write")
    page.one("#token").send_keys(writes, Keys.ENTER)
    page.one("#good-maximize").click()
    page.button("Start the study").click()
    page.one("#ask")
    subprocess.run([server.program, "serve", "token", "revoke", "wim", "--studies", server.folder], check=True, capture_output=True)
    page.wait(lambda: page.one("#door").is_displayed() and "token" in page.one("#messages").text)
    page.one("#token").send_keys(looks, Keys.ENTER)
    page.wait(lambda: not page.one("#door").is_displayed())
    page.button("another token").click()
    assert page.one("#door").is_displayed()
    page.browser.execute_script("sessionStorage.clear()")


def test_what_was_typed_for_a_row_that_others_have_recorded_is_not_lost(server, page, tmp_path):
    (tmp_path / "bread.csv").write_text(SHEET)
    page.starts(server, tmp_path / "bread.csv")
    page.one("#by").send_keys("Bob")
    page.one("#ask").click()
    page.reads("reserved by Bob")
    (row,) = page.cards()
    page.one(f"#value-{row}").send_keys("6,5")
    post(server, "/studies/bread/tell", {"row": row, "value": 9})
    page.reads("Someone has recorded a result meanwhile: 9. You had typed:")
    page.wait(lambda: page.all("li.left button"))[0].click()
    page.reads("mean of 2")
    assert read(server, "/studies/bread")["told"][-1]["values"] == [9, 6.5] and not page.all("li.left")
    page.browser.execute_script("localStorage.clear()")


def test_what_would_be_undone_is_said_first(server, page, tmp_path):
    (tmp_path / "bread.csv").write_text(SHEET)
    page.starts(server, tmp_path / "bread.csv")
    row = post(server, "/studies/bread/ask", {"by": "Ada"})["suggestions"][0]["id"]
    post(server, "/studies/bread/tell", {"row": row, "value": 9})
    page.reads("4\nmeasured")
    page.button("Undo").click()
    asked = page.alert()
    assert f"results of row {row}" in asked.text, asked.text
    asked.dismiss()
    assert len(read(server, "/studies/bread")["told"]) == 4
    page.undo(f"results of row {row}")
    page.reads(f"Undone: results of row {row}.")
    page.undo(f"suggestion of row {row}, by Ada")
    page.reads("No row is in progress.")


def test_results_of_any_row_sheets_that_change_and_the_end(server, page, tmp_path):
    sheet = SHEET.replace("score\n", "score,crust (mm)\n").replace("\n", ",\n").replace("(mm),\n", "(mm)\n")
    (tmp_path / "bread.csv").write_text(sheet)
    page.browser.get(server.base + "/")
    page.one("#sheet").send_keys(str(tmp_path / "bread.csv"))
    page.choose("#role-0", "Names the rows")
    page.reads("names the rows")
    # A range, and an additional goal.
    page.opens("Range and additional goals")
    page.one("#bounds").send_keys("0..100")
    page.button("Add a goal").click()
    page.choose("#also-name-0", "crust (mm)")
    page.choose("#also-wanted-0", "at least")
    page.one("#also-number-0").send_keys("1,5", Keys.TAB)
    page.one("#good-maximize").click()
    page.button("Start the study").click()
    page.reads("crust (mm): at least 1.5")
    post(server, "/studies/bread/ask", {})
    page.opens("Record or predict another row")
    page.one("#any-row").send_keys("b30")
    for typed, words in [("0x10", '"0x10" is not a number'), ("500", "0 to 100")]:
        page.one("#any-value").send_keys(Keys.CONTROL, "a", Keys.NULL, typed, Keys.ENTER)
        page.says(words)
    page.one("#any-value").send_keys(Keys.CONTROL, "a", Keys.NULL, "7,25", Keys.TAB, "2", Keys.ENTER)
    page.wait(lambda: read(server, "/studies/bread")["told"][-1]["id"] == "b30")
    told = read(server, "/studies/bread")["told"][-1]
    assert (told["value"], told["further"]) == (7.25, [["crust (mm)", 2]])
    # What is predicted of a row, and why.
    page.one("#any-row").send_keys("b31")
    page.button("Predict").click()
    page.reads("The measured rows most like it:")
    # Other goals, within what was recorded.
    page.opens("Change the goals")
    page.one("#goal-bounds").send_keys("0..5")
    page.one("#change-goals").click()
    page.says("outside the range")
    page.one("#goal-bounds").send_keys(Keys.CONTROL, "a", Keys.NULL, "0..50")
    page.one("#goal-also").send_keys("crust (mm) >= 2", Keys.ENTER)
    page.reads("crust (mm): at least 2")
    # The sheet has a row more, and another cell in a row with a result.
    changed = sheet.replace("b0,150,", "b0,155,") + "b40,1,1,rye,,\n"
    (tmp_path / "bread.csv").write_text(changed)
    page.opens("Update from a sheet")
    page.one("#new-sheet").send_keys(str(tmp_path / "bread.csv"))
    page.one("#update").click()
    page.says('the box "Keep results of corrected rows"')
    page.one("#keep").click()
    page.one("#update").click()
    page.says("40 rows before, 41 now")
    page.button("Delete the study").click()
    page.alert().accept()
    page.reads("None yet.")


def test_reservations_that_expire_and_names_that_are_long(server, page, tmp_path):
    long = "Temperatur_des_Reaktionsgemisches_nach_der_Zugabe_(Grad_Celsius)"
    sheet = f"{long},flour,{long.lower()}\n" + "".join(f"{row},{FLOURS[row % 3] * 20},\n" for row in range(9))
    (tmp_path / "long.csv").write_text(sheet)
    page.browser.get(server.base + "/")
    page.one("#sheet").send_keys(str(tmp_path / "long.csv"))
    page.one("#good-maximize")
    assert page.narrow(390) == 390
    page.choose("#value", long.lower())
    page.wait(lambda: not page.all("#role-2"))
    page.one("#good-maximize").click()
    page.button("Start the study").click()
    page.one("#ask")
    post(server, "/studies/long/ask", {"within": "1s"})
    page.browser.get("about:blank")
    time.sleep(2)
    page.browser.get(f"{server.base}/#/study/long")
    page.reads("Reservation expired")
    assert page.narrow(390) == 390
    page.button("Extend").click()
    page.alert().accept()
    page.wait(lambda: "Reservation expired" not in page.text() and page.cards())


def test_a_server_that_is_busy_is_asked_again(server, page, tmp_path):
    """The transport of the page: as long as the server says, for requests that may be sent twice."""
    (tmp_path / "bread.csv").write_text(SHEET)
    page.starts(server, tmp_path / "bread.csv")
    # The first reply is lost, the second says that the server is busy.
    page.browser.execute_script(
        """const send = window.fetch; window.sent = [];
        window.fetch = async (path, request) => {
          if (request?.method !== "POST") return send(path, request);
          window.sent.push(request.headers);
          if (window.sent.length === 1) { await send(path, request); throw new TypeError("lost"); }
          return window.sent.length === 2 ? new Response("{}", { status: 503, headers: { "Retry-After": "1" } }) : send(path, request);
        };"""
    )
    page.one("#ask").click()
    page.wait(lambda: page.one("#waiting").is_displayed())
    page.wait(page.cards)
    # What the first has done is seen before the third is sent.
    page.wait(lambda: len(page.browser.execute_script("return window.sent")) == 3)
    sent = page.browser.execute_script("return window.sent")
    assert len({one["Idempotency-Key"] for one in sent}) == 1
    assert {one["icee-face"] for one in sent} == {"page"}
    page.wait(lambda: not page.one("#waiting").is_displayed())
    assert len(page.cards()) == 1 and len(read(server, "/studies/bread")["running"]) == 1
