"""What a person sees while a run goes on."""

import io
from typing import Any

from rich.console import Console

from tape.runner.configurations import Job
from tape.show.progress import LiveDisplay, PlainDisplay, _Scene, display
from tape.trace import BrokenDeclarationEvent, LedgerEvent, ObservedEvent


def line(configuration: str, success: bool) -> dict[str, Any]:
    result = {"success": success, "end_state": "success" if success else "failure", "steps": 3, "replans": 2}
    return {"cell": configuration, "task": "one", "repeat": 0, "result": {**result, "malformed": 0}}


def plain(total: int, *, quiet: bool, begin: int = 0) -> list[str]:
    """Two configurations, the first of which solves everything."""
    out = io.StringIO()
    with PlainDisplay("a label", out, quiet=quiet) as shown:
        for done in range(begin + 1, total + 1):
            shown.watcher().finished(line("a" if done <= total // 2 else "b", done <= total // 2), done, total)
    return out.getvalue().splitlines()


def test_a_line_per_episode() -> None:
    lines = plain(4, quiet=False)
    assert lines[0] == "[1/4] a label | one #0: success, 3 steps, 2 replans | 1/1 solved"
    assert lines[3] == "[4/4] a label | b | one #0: failure, 3 steps, 2 replans | 0/2 solved"


def test_quiet_is_ten_lines_however_long_the_run() -> None:
    lines = plain(5000, quiet=True)
    assert len(lines) == 10
    assert lines[0] == "[500/5000] a label | 500/500 solved"
    assert lines[9] == "[5000/5000] a label | b | 0/2500 solved"
    assert len(plain(5000, quiet=True, begin=4999)) == 1
    assert plain(5000, quiet=True, begin=4600)[0].startswith("[5000/5000]")


def test_no_terminal_no_live_display() -> None:
    assert isinstance(display("x"), PlainDisplay), "pytest captures the output"


def live(boards: int) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with LiveDisplay("a label", console, boards) as shown:
        watcher = shown.watcher()
        job = Job(task=type("Task", (), {"id": "one"})(), repeat=0, key="k")
        watcher.started([job])
        watcher.event("k", ObservedEvent(step=0, key="s", picture="#@ $.#", remaining={"steps": 5}))
        watcher.finished(line("a", True), 1, 4)
        watcher.finished(line("b", False), 2, 4)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_one_bar_with_the_boards_where_they_can_be_followed() -> None:
    text = live(4)
    assert "2/4 episodes" in text
    assert "━" * 30 + "─" * 30 in text
    assert "#@ $.#" in text
    assert text.rstrip().endswith("a label | b: 0/1 solved, 0.00")
    assert "#@ $.#" not in live(0)
    assert "2/4 episodes" in live(0)


def test_the_budget_of_the_run_is_shown_as_it_drains() -> None:
    out = io.StringIO()
    with PlainDisplay("a label", out) as shown:
        watcher = shown.watcher()
        for done, left in enumerate((400_000, 150_000), 1):
            watcher.drained({"usd": left, "calls": 9}, {"usd": 1_000_000, "calls": 10})
            watcher.finished(line("a", True), done, 2)
    first, second = out.getvalue().splitlines()
    assert first.endswith("1/1 solved | left for the run: 0.4 usd of 1 usd, 9 calls of 10 calls")
    assert second.endswith("2/2 solved | left for the run: 0.15 usd of 1 usd, 9 calls of 10 calls")


def test_an_episodes_budget_drains_between_observations() -> None:
    scene = _Scene("one")
    scene.tell(ObservedEvent(step=0, key="s", picture="", remaining={"usd": 50_000, "tokens": 90}))
    scene.tell(LedgerEvent(what="reserve", purpose="lm:plan", amounts={"usd": 30_000, "tokens": 80}))
    scene.tell(LedgerEvent(what="settle", purpose="lm:plan", amounts={"usd": 10_000, "tokens": 200, "calls": 1}))
    assert scene.remaining == {"usd": 40_000, "tokens": 0}
    scene.tell(BrokenDeclarationEvent(purpose="lm:plan", kind="tokens", declared=80, used=200))
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(scene.panel())
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "0.04 usd, 0 tokens" in text
    assert "broken declaration: lm:plan" in text
