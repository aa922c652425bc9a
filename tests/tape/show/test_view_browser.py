"""The page in a real browser: headless Chromium, where the system has it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.document import Bullets, Section, Table, write_report
from tape import trace
from tape.choice.graph import PlanGraph
from tape.show.draw import draw
from tape.trace import Event
from tests.tape.loaders import command
from tests.tape.show.browser import LAPTOP, PHONE, Browser, chromium, missing
from tests.tape.show.view_runs import episode, refused_episode, write_run, write_trace

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as result:
        yield result


@pytest.fixture(autouse=True)
def nothing_is_complained_of(browser: Browser) -> Iterator[None]:
    browser.complaints()
    yield
    assert browser.complaints() == []


def page_of(folder: Path, *runs: Sequence[Sequence[Event]], tasks: Sequence[str] = ()) -> Path:
    """The page of one run, or of two."""
    agents = ("tape", "react")
    paths = [write_run(folder / agents[n], episodes, tasks=tasks, agent=agents[n]) for n, episodes in enumerate(runs)]
    assert command("view", *paths, "-o", folder / "page.html") == 0
    return folder / "page.html"


def test_a_person_looks_through_an_episode(browser: Browser, tmp_path: Path) -> None:
    browser.open(page_of(tmp_path, [episode(), episode(success=False)]))
    assert "0.50" in browser.text(".rate")
    assert len(browser.all(".row")) == 2
    # The list is filtered by end state and by text.
    browser.click('.chip[data-end="failure"]')
    assert [row.get_attribute("data-episode") for row in browser.all(".row")] == ["1"]
    browser.click('.chip[data-end="failure"]')
    browser.click("#search")
    browser.press(*"olemund kaloris")
    assert len(browser.all(".row")) == 2
    browser.press(*"?")
    assert "No episode matches" in browser.text(".list")
    browser.do("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'));")
    # An episode opens at its first plan.
    browser.click(".row")
    assert (browser.text("h1"), browser.text(".moment-head")) == ("task 0", "Plan 1")
    assert "Find out who rules Olemund." in browser.text(".asked")
    assert "Kaloris" in browser.text(".answer")
    assert [bar.text.split("\n")[0] for bar in browser.all(".budget")] == ["steps", "usd"]
    assert "$0.003 left of $0.008" in browser.text(".budgets")
    # The strips have no outline: stretched to the width of the page, it would cover them.
    assert browser.do("return getComputedStyle(document.querySelector('.bars rect')).stroke") == "none"
    # The path and what is left along it stand in the graph.
    drawn = browser.text(".graph-area")
    assert all(text in drawn for text in ("search cheap", "$0.007 left", "$0.003 left"))
    assert "$0.002 more" in browser.text(".moment-body")
    # Hover, and clicks on a state and on an edge.
    browser.move_to(".node.on-path .box", 1)
    assert "plans through it" in browser.text(".tip")
    browser.click(".node.on-path .box", 1)
    assert browser.text(".drawer").startswith("State")
    assert "Leads here" in browser.text(".drawer")
    browser.click(".drawer .ways .link")
    assert re.search("of the path|Action", browser.text(".drawer h3"))
    browser.click(".drawer .drawer-head button")
    browser.click(".edge.on-path .action")
    assert browser.text(".drawer h3") == "Step 1 of the path"
    assert "Left after it: 5 steps · $0.007" in browser.text(".drawer")
    # The timeline is stepped through, by its buttons, by keys, and by the bars.
    browser.click('button[aria-label="Next moment"]')
    assert browser.text(".moment-head") == "Malformed answer, survived"
    browser.press("j")
    assert browser.text(".moment-head") == "Step 1: search cheap"
    assert "Not as predicted" in browser.text(".moment-body")
    browser.press("j")
    assert browser.text(".moment-head") == "Plan 2"
    changed = browser.text(".moment-body")
    assert all(text in changed for text in ("What changed since the round before", "1 newly contradicted"))
    assert browser.all(".edge.contradicted")
    assert browser.all(".edge.certified")
    browser.click('.bar[data-step="2"]')
    assert browser.text(".moment-head") == "Step 2: ask a person"
    assert browser.all(".node.now")
    # Prompts and completions are folded away.
    browser.click('.moment[data-moment="1"]')
    assert "You plan." not in browser.text()
    browser.click(".details > .fold:last-child > summary")
    browser.click(".calls .fold > summary")
    assert browser.says(".calls", "Plan from the start.")
    assert browser.says(".calls", "search cheap, ask a person")
    # And back.
    browser.click(".back")
    assert browser.text(".card h2") == "Results"
    browser.back()
    assert browser.text(".episode h1") == "task 0"


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_the_page_of_one_trace_opens_on_its_episode_with_its_graph_fitted(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    file = write_trace(tmp_path / "one.jsonl", refused_episode())
    assert command("view", file, "-o", tmp_path / "one.html") == 0
    browser.open(tmp_path / "one.html", size=size, until=".drawing")
    assert (browser.text("h1"), browser.text(".moment-head")) == ("one", "Plan 1")
    fits = """const box = (one) => document.querySelector(one).getBoundingClientRect();
      const [area, drawn] = ['.graph-area', '.drawing'].map(box);
      return [drawn.left >= area.left - 1, drawn.right <= area.right + 1, drawn.height <= area.height + 1, area.height]
    """
    *within, height = browser.do(fits)
    assert within == [True, True, True]
    assert "✗ refused" in browser.text(".graph-area")
    browser.click('button[aria-label="Zoom in"]')
    assert browser.do(fits)[3] > height
    browser.click(".moment.note.bad")
    assert browser.text(".moment-head") == "Approval: refused"
    browser.click(".moment.plan", 1)
    assert "an action was refused where it was to be approved" in browser.text(".moment.plan[aria-current]")
    browser.click(".edge.refused .action")
    assert "refused: approval was asked for and not given" in browser.text(".drawer")
    assert "1 newly refused" in browser.text(".moment-body")
    browser.click(".home")
    assert len(browser.all(".row")) == 1


def test_keys_move_through_a_graph(browser: Browser, tmp_path: Path) -> None:
    browser.open(page_of(tmp_path, [episode()]), "#/episode/0")
    browser.wait(".node")
    browser.do("document.querySelector('.graph-area').focus();")
    at = "return document.activeElement.getAttribute('aria-label');"
    browser.press("\ue014")  # right: the start, then along the path
    assert "start" in browser.do(at)
    browser.press("\ue014")
    assert "rumour" in browser.do(at)
    assert browser.text(".moment-head") == "Plan 1"  # the keys are the graph's
    browser.press("\ue007")  # enter
    assert "rumour" in browser.text(".drawer")
    before = browser.do("return document.querySelector('.drawing').getBoundingClientRect().width;")
    browser.do("document.querySelector('.graph-area').focus();")
    browser.press("-")
    assert browser.do("return document.querySelector('.drawing').getBoundingClientRect().width;") < before


def test_light_and_dark(browser: Browser, tmp_path: Path) -> None:
    page = page_of(tmp_path, [episode()])
    colour = "return getComputedStyle(document.body).backgroundColor;"
    browser.open(page)
    light = browser.do(colour)
    browser.click("#theme")
    dark = browser.do(colour)
    assert (light != dark, browser.text("#theme")) == (True, "Light")
    browser.open(page, dark=True)
    assert browser.do(colour) == dark
    browser.click("#theme")
    assert browser.do(colour) == light


def test_nothing_is_wider_than_a_phone(browser: Browser, tmp_path: Path) -> None:
    page = page_of(tmp_path, [episode("a" * 400), episode(success=False)], [episode(), episode()])
    for first, size in enumerate((PHONE, (320, 700))):
        browser.open(page, size=size)
        assert browser.too_wide() == 0
        for place in range(first, 8, 2):
            browser.open(page, f"#/episode/0/{place}", size=size, dark=place % 4 > 1)
            browser.do("for (const one of document.querySelectorAll('details')) one.open = true;")
            assert browser.too_wide() == 0, (size, place)


def test_two_runs_side_by_side(browser: Browser, tmp_path: Path) -> None:
    runs = [episode(), episode()], [episode(), episode(success=False)]
    browser.open(page_of(tmp_path, *runs))
    assert [run.text.split() for run in browser.all(".run")] == [["A", "tape"], ["B", "react"]]
    difference = browser.text(".card:nth-of-type(2)")
    assert all(text in difference for text in ("Difference, A − B", "+0.50", "no significant difference"))
    assert len(browser.all(".row.pair")) == 2
    browser.click(".side-link", 3)
    assert browser.text(".status .badge").endswith("failure")
    browser.click(".siblings a")
    assert browser.says(".siblings [aria-current]", "A: tape")
    assert browser.text(".status .badge").endswith("success")


EVIL = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "javascript:window.hacked=1",
    "\u2028window.hacked = 1\u2029<!--",
    "lone \ud800 and \udfff, turned \u202e, null \x00",
    "'\"`${window.hacked=1}` onmouseover=window.hacked=1",
    "\" autofocus onfocus='window.hacked=1' x=\"",
    "'><svg onload=window.hacked=1><style>*{display:none}</style>",
    "&lt;b&gt; &#x3c;script&#x3e; ]]><!--<script>",
)


def planted(text: str) -> list[Event]:
    """An episode in which every text of a model, a tool or a task is this one."""

    def changes(event: Event) -> dict[str, Any]:
        match event:
            case trace.StartedEvent():
                return {"task": text, "config": {**event.config, text: text, "agent": text, "model": text}}
            case trace.ObservedEvent():
                return {"picture": text}
            case trace.ActedEvent():
                return {"action": text, "text": text, "planned": f"{text}!"}
            case trace.GeneratedEvent():
                parts = tuple(part.model_copy(update={"content": text, "role": text}) for part in event.prompt)
                return {"prompt": parts, "texts": (text,), "role": text}
            case trace.GraphFoldedEvent():
                nodes = [{**node, "label": text} for node in event.graph["nodes"]]
                return {"graph": {**event.graph, "nodes": nodes}}
            case trace.FinishedEvent():
                end = {"detail": text, "answer": text, "success": False, "end_state": "failure"}
                return {"result": {**event.result, **end}}
        return {}

    return [event.model_copy(update=changes(event)) for event in episode()]


@pytest.mark.parametrize("text", EVIL, ids=range(len(EVIL)))
def test_nothing_that_is_planted_runs(browser: Browser, tmp_path: Path, text: str) -> None:
    page = page_of(tmp_path, [planted(text)], tasks=[text.replace("\x00", "")])
    literal = browser_text(text)
    browser.open(page)
    assert literal in browser.do("return document.querySelector('.row').textContent;")
    seen = ""
    browser.open(page, "#/episode/0")  # once: what has run on any moment is still known at the end
    browser.wait(".moment")
    for place in range(8):
        browser.do(f"document.querySelector('.moment[data-moment=\"{place}\"]').click();")
        browser.wait(".moment-body > .details")
        browser.do("for (const one of document.querySelectorAll('details')) one.open = true;")
        browser.do(
            "for (const one of document.querySelectorAll('.calls details')) one.open = true;"
            "for (const one of document.querySelectorAll('.node .box, .edge .hit'))"
            "  one.dispatchEvent(new MouseEvent('click', { bubbles: true }));"
        )
        seen += browser.do("return document.querySelector('main').textContent;")
        assert browser.do("return document.querySelectorAll('main script, main img, main iframe').length;") == 0
    assert seen.count(literal) > 40
    assert browser.do("return window.hacked;") is None
    addresses = browser.do("return [...document.querySelectorAll('[href]')].map((one) => one.getAttribute('href'));")
    assert {address[:2] for address in addresses} <= {"#/", "#m", "da"}


def test_nothing_that_is_planted_in_a_report_runs(browser: Browser, tmp_path: Path) -> None:
    sections = [Section(text, (text, Bullets((text,)), Table((text, "b"), ((text, "c"),), text))) for text in EVIL]
    [_, page] = write_report(tmp_path, " ".join(EVIL), sections)
    browser.open(page, until="table")
    assert browser.do("return window.hacked;") is None
    result = browser.do("return [...document.querySelectorAll('body *')].map((one) => one.tagName);")
    assert {*result} - {"CODE", "STRONG"} == {*["DIV", "H1", "H2", "LI", "P", "TABLE", "TBODY", "TD", "TH", "TR", "UL"]}
    assert browser.do("return [...document.querySelectorAll('*')].every((one) => one.attributes.length < 2);")


def test_nothing_that_is_planted_in_a_picture_runs(browser: Browser, tmp_path: Path) -> None:
    nodes = [{"id": f"n{n}", "label": text} for n, text in enumerate((*EVIL, f"$\\frac{{{EVIL[0]}$"))]
    links = [
        {"source": f"n{n}", "target": f"n{n + 1}", "key": n, "action": text, "cost": {"steps": 1}, "reward": 0.5}
        for n, text in enumerate(EVIL)
    ]
    graph = PlanGraph.from_dict({"schema": 1, "kind": "plan_graph", "nodes": nodes, "links": links})
    file = tmp_path / "picture.svg"
    draw(graph, file, start="n0", title=" ".join(EVIL), note=" ".join(EVIL))
    browser.open(file, until="svg")
    assert browser.do("return window.hacked;") is None
    assert not browser.all("script, foreignObject, a, image")


def browser_text(text: str) -> str:
    """As the page shows it: what cannot be seen as its code."""
    shown = "".join(f"\\u{ord(c):04x}" if c in "\u2028\u2029\u202e\x00\ud800\udfff" else c for c in text)
    return " ".join(shown.split())


def test_many_episodes_open_at_once(browser: Browser, tmp_path: Path) -> None:
    few = [episode(), episode(success=False)]
    page = page_of(tmp_path, few * 101)
    browser.open(page)
    assert len(browser.all(".row")) == 200
    assert "202 episodes" in browser.text()
    unpacked = "return document.querySelectorAll('script[type=\"application/octet-stream\"]').length;"
    assert browser.do(unpacked) == 202
    browser.click(".list > button")
    assert len(browser.all(".row")) == 202
    browser.open(page, "#/episode/201")
    assert browser.text("h1") == "task 201"
