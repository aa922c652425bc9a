"""What a person sees while a run goes on."""

import io
from typing import Any

from rich.console import Console

from tape.runner.cells import Job
from tape.show.progress import LiveDisplay, PlainDisplay, display
from tape.trace import ObservedEvent


def line(cell: str, success: bool) -> dict[str, Any]:
    result = {"success": success, "end_state": "success" if success else "failure", "steps": 3, "replans": 2}
    return {"cell": cell, "task": "one", "repeat": 0, "result": {**result, "malformed": 0}}


def plain(total: int, *, quiet: bool, begin: int = 0) -> list[str]:
    """Two cells, the first of which solves everything."""
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
