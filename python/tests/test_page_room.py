"""The room page of a server in a real browser: a goal is hidden, the agent finds it."""

import pytest

pytest.importorskip("selenium", reason="no selenium: pages are not tested")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait


@pytest.fixture
def room(server, browser):
    browser.get(f"{server.base}/room")
    wait(browser, lambda: browser.find_element(By.CSS_SELECTOR, "#board svg"))
    Select(one(browser, "#speed")).select_by_visible_text("fastest")
    return browser


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def wait(browser, until):
    return WebDriverWait(browser, 12, poll_frequency=0.05).until(lambda _: until())


def returns(browser):
    return one(browser, "svg.returns").get_attribute("aria-label").split(": ")[1]


def test_a_hidden_goal_is_found_and_remembered(room):
    one(room, '[data-cell="41"]').click()
    wait(room, lambda: "It has met the goal" in one(room, "#said").text)
    wait(room, lambda: "The game is over" in one(room, "#said").text)
    played = [float(value) for value in returns(room).split(", ")]
    assert len(played) == 10 and max(played) > 0
    label = one(room, '[data-cell="41"]').get_attribute("aria-label")
    assert label.startswith("column 6, row 5, ") and "the goal, visited, it expects " in label
    # What was played can be looked at again.
    room.execute_script("const at = document.getElementById('at'); at.value = 0; at.dispatchEvent(new Event('input'))")
    assert "Episode 1 of 10, step 0 of 20" in one(room, "#now").text
    one(room, "#step").click()
    assert "Episode 1 of 10, step 1 of 20" in one(room, "#now").text


def test_it_can_be_used_with_the_keyboard_alone(room):
    room.execute_script("document.querySelector('[data-cell][tabindex=\"0\"]').focus()")
    focused = room.switch_to.active_element
    assert focused.get_attribute("data-cell") == "40"
    for key, cell in [(Keys.ARROW_UP, "31"), (Keys.ARROW_LEFT, "30"), (Keys.HOME, "27"), (Keys.ARROW_LEFT, "27")]:
        room.switch_to.active_element.send_keys(key)
        assert room.switch_to.active_element.get_attribute("data-cell") == cell
    room.switch_to.active_element.send_keys(Keys.ENTER)
    wait(room, lambda: "The goal is in column 1, row 4." in one(room, "#said").text)
    wait(room, lambda: one(room, "#play").is_enabled())
    assert one(room, "#play").text == "Pause"
    one(room, "#play").send_keys(Keys.SPACE)
    assert one(room, "#play").text == "Play"


def test_who_wants_no_motion_starts_it_himself(server, room):
    reduce = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    room.execute_cdp_cmd("Emulation.setEmulatedMedia", reduce)
    try:
        one(room, '[data-cell="0"]').click()
        wait(room, lambda: "Press Play or Step" in one(room, "#said").text)
        assert one(room, "#play").text == "Play" and "step 0 of 20" in one(room, "#now").text
    finally:
        room.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_narrow_page_is_not_wider_than_the_window(server, room):
    narrow = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    room.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        assert room.execute_script("return document.documentElement.scrollWidth") <= 360
    finally:
        room.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_who_has_no_token_is_asked_for_it(server, room):
    token = server.token("ada", "read")
    room.refresh()
    wait(room, lambda: one(room, "#door").is_displayed())
    one(room, "#token").send_keys(token, Keys.ENTER)
    wait(room, lambda: one(room, "#board svg").is_displayed())
    one(room, '[data-cell="10"]').click()
    wait(room, lambda: "The goal is in column 2, row 2." in one(room, "#said").text)
