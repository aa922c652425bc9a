"""The page for people in a real browser: headless Chromium, where the system has it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.tape.gateway.busy import CONFIG, TOKENS, People, call, meanwhile, people_at, write_journal
from tests.tape.gateway.helpers import write_config
from tests.tape.show.browser import LAPTOP, PHONE, Browser, chromium, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

EVIL = "<img src=x onerror='window.hacked = 1'></script><script>window.hacked = 1</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as result:
        yield result


@pytest.fixture
def people(tmp_path: Path, browser: Browser) -> Iterator[People]:
    """Of a busy gateway; the browser is elsewhere before it ends, so that nothing is asked in vain."""
    shared = f'[ledger]\nurl = "file://{tmp_path}/org.ledger"\nscope = "acme/desk"\n'
    file = write_config(tmp_path, CONFIG.replace("[python.echo]", f"{shared}[python.echo]"))
    write_journal(file.with_suffix(".journal.jsonl"), 600)
    browser.complaints()
    with people_at(file) as result:
        yield result
        said = browser.complaints()
        browser.do("window.stop(); location.replace('about:blank')")
        assert said == []


def opened(browser: Browser, people: People, size: tuple[int, int] = LAPTOP, dark: bool = False) -> None:
    browser.open(f"http://{people.address}/", f"#token={people.token}", size=size, dark=dark, until=".history")


def test_an_approval_that_a_person_clicks_lets_the_call_through(browser: Browser, people: People) -> None:
    opened(browser, people)
    assert browser.do("return location.hash;") == ""  # the token is not in sight
    with meanwhile(people.address, "ONE", "wipe", path=EVIL) as made:
        browser.click(".place-waiting .act")
        browser.wait("dialog[open]")
        assert "window.hacked" in browser.text("dialog pre")
        browser.click("dialog input")
        browser.press(*"old files")
        browser.click("dialog .act")
        assert browser.says(".place-acts", "approved wipe for one")
    assert made[0]["isError"] is False
    assert browser.says(".place-acts", "old files")
    assert browser.all(".place-waiting .card") == []
    with meanwhile(people.address, "ONE", "wipe", path="/") as made:
        browser.click(".place-waiting .act")
        browser.click("dialog[open] .act", 1)
    assert "did not allow it" in made[0]["structuredContent"]["message"]
    call(people.address, "ONE", EVIL)
    assert browser.says(".place-refused", "<img src=x")
    assert browser.do("return window.hacked;") is None
    assert browser.do("return document.querySelectorAll('main img, main script, main iframe').length;") == 0


def test_nothing_is_wider_than_the_window(browser: Browser, people: People) -> None:
    call(people.address, "ONE", "w" * 400)
    with meanwhile(people.address, "TWO", "wait", text="x"):
        opened(browser, people)
        assert browser.says(".place-live", "wait")
        for size, dark, back in (
            (LAPTOP, False, "rgb(247, 247, 245)"),
            (PHONE, True, "rgb(17, 19, 21)"),
            ((320, 700), False, "rgb(247, 247, 245)"),
        ):
            opened(browser, people, size, dark)
            assert browser.too_wide() == 0
            assert browser.do("return getComputedStyle(document.body).backgroundColor;") == back
            assert len(browser.all(".history .bar")) >= 30
    assert browser.says(".place-live", "No call is in flight")
    assert browser.says(".place-refused", "unanswered")


def test_who_has_no_token_sees_nothing(browser: Browser, people: People) -> None:
    browser.open(f"http://{people.address}/", until=".sign-in")
    assert "research desk" not in browser.text()
    browser.click(".sign-in input")
    browser.press(*TOKENS["ONE"])  # that of an agent
    browser.click(".sign-in .act")
    assert browser.says(".sign-in", "does not know this token")
    assert all("401" in said for said in browser.complaints())
    browser.click(".sign-in input")
    browser.press(*people.token, "\ue007")
    assert browser.says(".place-caps", "left of $60")
