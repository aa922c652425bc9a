"""What a person sees while a run goes on."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tape import trace
from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.protocols import Task
from tape.protocols.result import EpisodeResult
from tape.runner.configurations import Job
from tape.runner.spec import RunSpec
from tape.runner.summary import table
from tape.runner.work import Work
from tape.show import pace
from tape.show.progress import LiveDisplay, PlainDisplay, display, loading, show_results, working
from tape.show.scene import Marks, Scene
from tape.trace import Event
from tests.tape.commandline import Terminal


def line(configuration: str, success: bool) -> dict[str, Any]:
    result = EpisodeResult(end_state="success" if success else "failure", success=success, steps=3, replans=2)
    held = {"cell": configuration, "key": "j", "task": "one", "repeat": 0}
    return {**held, "result": result.model_dump(mode="json")}


def plain(total: int, *, quiet: bool, begin: int = 0) -> list[str]:
    """Two configurations, the first of which solves everything."""
    out = io.StringIO()
    with PlainDisplay("a label", out, quiet=quiet) as shown:
        for done in range(begin + 1, total + 1):
            shown.watcher().finished(line("a" if done <= total // 2 else "b", done <= total // 2), done, total)
    return out.getvalue().splitlines()


def test_a_line_per_episode_and_ten_lines_where_quiet() -> None:
    lines = plain(4, quiet=False)
    assert lines[0] == "[1/4] a label | one #0: success, 3 steps, 2 replans | 1/1 solved"
    assert lines[3] == "[4/4] a label | b | one #0: failure, 3 steps, 2 replans | 0/2 solved"
    lines = plain(5000, quiet=True)
    assert (len(lines), len(plain(5000, quiet=True, begin=4999))) == (10, 1)
    assert lines[0] == "[500/5000] a label | 500/500 solved"
    assert lines[9] == "[5000/5000] a label | b | 0/2500 solved"
    assert plain(5000, quiet=True, begin=4600)[0].startswith("[5000/5000]")


def screen(width: int = 100, height: int = 40, **changes: Any) -> Console:
    settings = {"force_terminal": True, "color_system": None, "_environ": {"TERM": "xterm"}} | changes
    return Console(file=io.StringIO(), width=width, height=height, **settings)


def written(console: Console) -> str:
    """What a console got, without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def batch(*keys: str, configuration: str = "a", kept: str = "") -> Work:
    spec = RunSpec(environment="sokoban", options={}, agent="tape", config=TapeConfig(), model="bundled:nano",
                   model_identity="x", prompt_version="1")  # fmt: skip
    jobs = tuple(Job(Task(id=key, level_set="easy", budget=Budget(), digest=key), 0, key) for key in keys)
    return Work(configuration, spec, jobs, frozenset([kept]))


def frame(shown: LiveDisplay, console: Console) -> str:
    """What would be on the screen now."""
    other = screen(console.width, console.height)
    other.print(shown._shown())
    return written(other)


def finished(success: bool, end_state: str = "", steps: int = 3, detail: str = "") -> trace.FinishedEvent:
    state = end_state or ("success" if success else "failure")
    return trace.FinishedEvent(result={"success": success, "end_state": state, "steps": steps, "detail": detail})


def selected(
    *actions: str, status: str = "OPTIMAL", partial: bool = False, **consumption: int
) -> trace.PathSelectedEvent:
    return trace.PathSelectedEvent(
        selector="labelling", status=status, partial=partial, actions=list(actions), nodes=[], objective=1.0,
        bound=1.0, consumption=consumption, problem={}, seconds=0.0,
    )  # fmt: skip


def acted(action: str, step: int = 1) -> trace.ActedEvent:
    return trace.ActedEvent(step=step, action=action, text=f"move {action}", planned=action, cost={})


def observed(picture: str, step: int = 0, **left: int) -> trace.ObservedEvent:
    return trace.ObservedEvent(step=step, key="s", picture=picture, remaining=left or {"steps": 5})


@contextmanager
def live(*begun: dict[str, Any], total: int = 8, **settings: Any) -> Iterator[tuple[Any, Callable[[], str], Console]]:
    """A live display of a run: its watcher, what would be on the screen now, and its console."""
    console = screen()
    with LiveDisplay("a label", console, **settings) as shown:
        watcher = shown.watcher()
        watcher.begun([*begun], total)
        yield watcher, lambda: frame(shown, console), console


def test_counts_are_right_from_the_first_episode_of_a_batch() -> None:
    with live() as (watcher, now, console):
        assert "a label: no episode finished yet" in now()
        assert "─ 0/8 episodes" in now()
        watcher.started(batch("k", "l"))
        watcher.event("k", observed("#@ $.#"))
        assert "#@ $.#" in now()
        watcher.event("k", finished(True))
        assert "0/8 episodes" in now(), "it counts when it is kept"
        watcher.finished({**line("a", True), "key": "k"}, 1, 8)
        assert "━" * 7 + "─" * 53 + " 1/8 episodes" in now()
        assert "a label: 1/1 solved, 1.00" in now(), "before its batch has ended"
        watcher.finished({**line("a", False), "key": "l"}, 2, 8)
        assert "2/8 episodes" in now()
    assert written(console).rstrip().endswith("a label: 1/2 solved, 0.50")


def generated(prompt: int, completion: int) -> trace.GeneratedEvent:
    return trace.GeneratedEvent(role="plan", prompt=(), texts=(), prompt_tokens=prompt, completion_tokens=completion)


def used(key: str, tokens: int) -> dict[str, Any]:
    return {**line("a", True), "key": key, "result": {**line("a", True)["result"], "used": {"tokens": tokens}}}


def test_calls_tokens_and_the_expected_end_are_shown_from_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, out = [0], io.StringIO()
    monkeypatch.setattr(pace, "monotonic", lambda: seconds[0])
    with PlainDisplay("a label", out) as shown:
        watcher = shown.watcher()
        watcher.begun([], 4)

        def at(second: int, key: str, *events: Event, ended: int = 0) -> str:
            """The line that is written then."""
            seconds[0], before = second, len(out.getvalue())
            [watcher.event(key, event) for event in events]
            if ended:
                watcher.finished(used(key, 1999), ended, 4)
            return out.getvalue()[before:].removeprefix(f"[{ended}/4] a label | ").strip()

        watcher.started(batch("k", "l"))
        begun = observed("", steps=10, tokens=4000, wall_seconds=9, usd=0)
        assert at(1, "k", begun, generated(700, 299)) == "", "a fast model writes no lines between"
        assert at(20, "l", generated(900, 101)) == "2 at work: 2 calls, 2,000 tokens in 0:00:20; end not known yet"
        assert at(40, "k", observed("", steps=9, tokens=2000), generated(1, 0)) == "", "not every call"
        # Episode k has used 1,000 tokens and half of a cap, so one takes 2,000 at most. A tenth is left to l.
        assert (
            at(60, "l", generated(900, 99))
            == "2 at work: 4 calls, 3,000 tokens in 0:01:00; at most about 0:01:44 to go"
        )
        assert at(80, "k", ended=1).endswith("| 1/1 solved | about 0:01:24 to go")
        assert at(100, "l", ended=2).endswith("| 2/2 solved | about 0:01:40 to go")
        watcher.started(batch("m", "n", kept="n"))  # n is played for the sake of m and brings the end no nearer
        again = at(130, "n", generated(5000, 0))
        assert again == "[2/4] a label | 1 at work: 5 calls, 8,000 tokens in 0:02:10; about 0:02:10 to go"
        assert at(160, "m", ended=3).endswith("| 3/3 solved | about 0:00:53 to go")
        assert at(161, "o", ended=4).endswith("| 4/4 solved")
    with live(total=4) as (watcher, now, _):
        watcher.started(batch("k", "l"))
        assert "0:00:00; end not known yet" in now()
        watcher.event("k", generated(700, 299))
        seconds[0] += 7
        assert "1 call, 999 tokens in 0:00:07; end not known yet" in now()


def test_a_resumed_run_counts_what_is_there_already() -> None:
    held = [{**line(name, True), "key": str(i)} for i, name in enumerate("aaab")]
    with live(*held) as (watcher, now, _):
        assert "━" * 30 + "─" * 30 + " 4/8 episodes" in now()
        assert "a label | b: 1/1 solved" in now()
        watcher.started(batch("k"))
        assert "a label | a: 3/3 solved" in now(), "the configuration that is played"
    out = io.StringIO()
    with PlainDisplay("a label", out) as plainly:
        plainly.watcher().begun(held[:3], 4)
        plainly.watcher().finished(line("a", False), 4, 4)
    first, second = out.getvalue().splitlines()
    assert first == "[3/4] a label | 3/3 solved before, 1 to play"
    assert second.endswith("| 3/4 solved")


def test_episodes_of_other_processes_have_a_spinner_that_says_what_is_waited_for() -> None:
    with live(total=4, boards=0) as (watcher, now, _):
        watcher.started(batch("k", "l"))
        watcher.started(batch("m"))
        assert "3 episodes at work in other processes, which load bundled:nano first" in now()
        watcher.finished({**line("a", True), "key": "k"}, 1, 4)
        shown = re.sub(" +\n", "\n", now())
        for text in ("2 episodes at work in other processes\n", "1/4 episodes", "1/1 solved"):
            assert text in shown
        watcher.loading("bundled:mini")
        assert "loading bundled:mini" in now()


@pytest.mark.parametrize(("width", "height"), [(40, 12), (40, 24), (80, 24), (100, 40), (24, 8)])
def test_bar_and_score_are_never_pushed_off_the_screen(width: int, height: int) -> None:
    console = screen(width, height)
    with LiveDisplay("hard tape bundled:nano", console) as shown:
        watcher = shown.watcher()
        watcher.begun([], 6)
        keys = [f"level {i}" for i in range(6)]
        watcher.started(batch(*keys))
        for key in keys:
            watcher.event(key, observed("#########\n" * 8, steps=12))
            watcher.event(key, selected(*"LLDRRRUULLDD", steps=12))
        text = frame(shown, console)
        assert len(text.splitlines()) < height
        assert max(map(len, text.splitlines())) <= width
        assert "0/6 episodes" in text
        assert "no episode finished yet" in re.sub(r"\s+", " ", text)
        boards, told = text.count("╭"), re.search(r"and (\d) more of this batch", text)
        lines = len(re.findall(r"▶ level", text))
        assert boards + lines + (int(told[1]) if told else 0) == 6
        for key in keys[:4]:
            watcher.event(key, finished(True))
        text = frame(shown, console)
        assert "level 4" in text, "those that still play are shown first"


def play_scene(*events: Event, marks: Marks | None = None) -> Scene:
    scene = Scene("one") if marks is None else Scene("one", marks)
    for event in events:
        scene.tell(event)
    return scene


def test_the_path_shows_where_it_is_without_colour() -> None:
    scene = play_scene(
        trace.StartedEvent(config={}, budget={"steps": 4, "usd": 50_000}, seed=0),
        observed("#@ #", steps=4, usd=50_000),
        selected("up", "left", "right", steps=3, usd=20_000),
    )
    for events, texts in (
        ([], ["path  ▶ up  left  right", "best path, at worst 3 steps, $0.02"]),
        (
            [acted("up"), observed("# @#", 1, steps=3, usd=40_000)],
            ["path  ✓ up  ▶ left  right", "left  3 of 4 steps, $0.04 of $0.05"],
        ),
        ([selected("right", "up")], ["path  ✓ up  ▶ right  up"]),  # the rest was selected anew
        (
            [trace.ReplannedEvent(reason="mismatch", count=1), selected("down", partial=True)],
            ["path  ▶ down", "best partial path"],
        ),
        ([acted("down"), finished(True, steps=2)], ["path  ✓ down", "✓ success after 2 steps"]),
    ):
        for event in events:
            scene.tell(event)
        assert all(text in rendered(scene) for text in texts)


def rendered(scene: Scene, width: int = 80) -> str:
    console = screen(width)
    with console.capture() as captured:
        console.print(scene.panel(width))
    return captured.get()


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30), max_size=12),
    st.integers(0, 12),
    st.integers(24, 90),
)
def test_panels_keep_their_width_and_show_every_short_step(actions: list[str], done: int, width: int) -> None:
    picture = "\x1b[31m#@ #\x1b[0m\nwide 日本語 " * 9
    scene = play_scene(observed(picture), selected(*actions), *map(acted, actions[:done]))
    text = rendered(scene, width)
    assert "\x1b" not in text, "what models and tools write moves no cursor"
    sizes = {Console().measure(shown).maximum for shown in text.splitlines()}
    assert sizes <= {min(width, 76), min(width, 38)}
    assert ("▶" in text) == (done < len(actions)), "the current step is always to be seen"


def test_a_screen_without_unicode_gets_marks_that_it_has() -> None:
    scene = play_scene(selected("up", "left", "right"), acted("up"), marks=Marks("ascii"))
    text = "".join(c for c in rendered(scene) if c not in "╭╮╰╯─│")
    assert "path  + up  > left  right" in text
    assert text.isascii()


def test_waiting_is_one_plain_line_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for plainly in (Console(file=io.StringIO()), screen(_environ={"TERM": "dumb"})):
        with loading("loading bundled:nano", plainly), working("drawing", plainly) as tell:
            assert capsys.readouterr().err == "loading bundled:nano\n"
            tell(0, 3)
        assert written(plainly) == ""
        assert capsys.readouterr() == ("", "")
    terminal = screen()
    with working("drawing", terminal) as tell:
        tell(1, 3)
    assert "drawing: 2 of 3" in written(terminal)


def in_a_terminal(act: Callable[[], None], monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """What an action writes to a terminal of its own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"} | environment).items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        act()
    return terminal.getvalue()


def play() -> None:
    with loading("loading bundled:nano"):
        pass
    with display("a label") as shown:
        watcher = shown.watcher()
        watcher.begun([], 1)
        watcher.started(batch("k"))
        for event in (selected("up", "left"), acted("up"), finished(True)):
            watcher.event("k", event)
        watcher.finished({**line("a", True), "key": "k"}, 1, 1)


def test_a_terminal_moves_in_colour_if_it_has_any(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = r"\x1b\[[0-9;?]*[A-Za-z]"
    text = in_a_terminal(play, monkeypatch)
    assert "\x1b[32m" in text, "green"
    assert "✓ up" in re.sub(codes, "", text)
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h"), "the cursor is given back"
    assert text.rstrip().endswith("a label: 1/1 solved, 1.00")
    text = in_a_terminal(play, monkeypatch, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", text)
    assert "✓ success" in re.sub(codes, "", text)
    text = in_a_terminal(play, monkeypatch, TERM="dumb")
    assert "\x1b" not in text
    assert text.splitlines() == ["[1/1] a label | one #0: success, 3 steps, 2 replans | 1/1 solved"]


GROUP = {
    "cell": "tape", "level_set": "hard", "agent": "tape", "model": "bundled:nano", "episodes": 4, "success_rate": 0.5,
    "ci95": [0.1, 0.9], "mean_steps": 3.0, "replans": 2, "lm_calls": 8, "lm_tokens": 80, "solver_seconds": 0.1,
    "budget_violations": 0, "ci95_method": "wilson", "end_states": {"success": 2, "failure": 2}, "method": {},
    "broken_declarations": 0, "under_deadline": 0, "wall_overruns": 0, "longest_wall_overrun_seconds": 0.0,
}  # fmt: skip


def test_results_are_markdown_in_a_file_and_fit_a_terminal() -> None:
    out = io.StringIO()
    show_results([GROUP], Console(file=out))
    assert out.getvalue() == f"{table([GROUP])}\n"
    for width in (200, 80, 40):
        console = screen(width)
        show_results([GROUP, {**GROUP, "level_set": "easy"}], console)
        rows = written(console).splitlines()
        assert max(map(len, rows)) <= width
        assert "0.10 to 0.90" in written(console), "no cell is broken"
        assert any(re.match(r"success +0.50 +0.50", row) for row in rows) == (width < 200), "turned where narrow"


def test_an_episodes_budget_drains_between_observations() -> None:
    scene = play_scene(
        observed("", usd=50_000, tokens=90),
        trace.LedgerEvent(what="reserve", purpose="lm:plan", amounts={"usd": 30_000, "tokens": 80}),
        trace.LedgerEvent(what="settle", purpose="lm:plan", amounts={"usd": 10_000, "tokens": 200, "calls": 1}),
        trace.CostAboveBoundEvent(purpose="lm:plan", kind="tokens", declared=80, used=200),
    )
    assert scene.remaining == {"usd": 40_000, "tokens": 0}
    text = rendered(scene)
    assert "$0.04, 0 tokens" in text
    assert "broken declaration: lm:plan" in text
