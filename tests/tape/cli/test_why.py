"""``tape why`` on a run directory, and how episodes are found there."""

import io
import json
import shutil
from pathlib import Path

import pytest

from envs.sokoban.xsb import write
from tape.analysis.why import about, rounds
from tape.analysis.why.screen import write as write_screen
from tape.cli import main
from tape.errors import ConfigError, UnknownNameError
from tape.runner.directory import RunDirectory
from tape.runner.runner import find_episode
from tape.trace import Event, TraceWriter, read_trace
from tests.tape.analysis.why.shop import acted, episode, finished, folded, selection, shop
from tests.tape.commandline import Tape, Terminal
from tests.tape.helpers import CORRIDOR, ROOM
from tests.tape.runner.records import record

WIDE = 80


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two levels, played by the smallest bundled model."""
    folder = tmp_path_factory.mktemp("why")
    write(folder / "levels.xsb", [CORRIDOR.with_start(CORRIDOR.start, "corridor"), ROOM.with_start(ROOM.start, "room")])
    command = ["run", "sokoban", "--levels", str(folder / "levels.xsb"), "--model", "bundled:nano", "--quiet"]
    assert main([*command, "--out", str(folder / "run")]) == 0
    return folder / "run"


def test_an_episode_is_explained_in_80_columns(run: Path, tape: Tape) -> None:
    text = tape("why", run, "corridor").out
    assert text.startswith("corridor #0 (episode 1 of 2, ")
    for part in ("ROUND 1, before the first step, with ", "CHOSEN", "a little more would buy"):
        assert part in text
    assert "\x1b" not in text
    assert all(line == line.rstrip() and len(line) <= WIDE for line in text.splitlines())


def test_one_round_and_json(run: Path, tape: Tape) -> None:
    found = tape("why", run, "2", "--json").data
    assert (found["episode"]["task"], found["episode"]["number"]) == ("room", 2)
    assert found["about"]
    events = list(read_trace(run / "traces" / f"{found['episode']['key']}.jsonl"))
    assert found["rounds"] == json.loads(json.dumps([one.to_dict() for one in rounds(events)]))
    assert [one["number"] for one in tape("why", run, "2", "--round", "1", "--json").data["rounds"]] == [1]
    assert [line.split()[0] for line in tape("why", run, "--list").out.splitlines()] == ["1", "2"]


def test_what_is_not_there_is_an_error_that_lists_what_is(run: Path, tmp_path: Path, tape: Tape) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    shutil.rmtree(copy / "traces")
    for arguments, text in (
        ([run, "castle"], "there is no episode 'castle'; there is: 1 (corridor), 2 (room)"),
        ([run, "o"], "2 episodes match 'o': 1 (corridor #0), 2 (room #0); give the number of one"),
        ([run, "1", "--round", "9"], "there is no planning round '9'; there is: 1"),
        ([tmp_path], "holds no readable run"),
        ([copy, "room"], "cannot be read"),
    ):
        code, _, error = tape("why", *arguments)
        assert (code, text in error) == (2, True), error


def screen(events: list[Event], out: io.StringIO) -> str:
    write_screen("x", about(events), rounds(events), out)
    return out.getvalue()


def test_what_models_write_reaches_no_terminal_as_a_code() -> None:
    graph = shop()
    bad = "say \x1b[31m\ud800 [red]hi[/red] :smile:\r"
    graph.fold(["start", "answer"], [bad])
    graph.set_cost(graph.find("start", bad, "answer"), graph.edge(0).cost)
    trace = TraceWriter("x")
    for event in episode(folded(graph), selection(bad, graph=graph), acted(bad), finished("failure", detail=bad)):
        trace.write(event)
    text = screen(trace.events, io.StringIO())
    text.encode("utf-8")
    assert "\\x1b[31m\\ud800 [red]hi[/red] :smile:\\r" in text
    assert not set(text) & {"\x1b", "\r"}


def test_a_terminal_gets_colours_and_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    events = episode(folded(), selection("ask cheap"), acted("ask cheap"), finished())
    assert "\x1b[1m" in screen(events, Terminal())


# --- finding an episode ---------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> RunDirectory:
    """A directory of twelve episodes, of which two are of one task."""
    tasks = [*(f"hard-{i:02} T*=10" for i in range(10)), "7", "hard-00 T*=10"]
    lines = [record(f"{i:04x}beef", task=task, repeat=int(i == 11)) for i, task in enumerate(tasks)]
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return RunDirectory(tmp_path)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        (None, 1),
        ("3", 3),
        ("7", 7),  # a number before a name
        ("HARD-04", 5),
        ("04", 5),
        ("hard-04 T*=10", 5),
        ("hard-00 T*=10 #1", 12),
        ("0002beef", 3),
        ("0002", 3),
    ],
)
def test_an_episode_is_found_by_what_only_it_has(many: RunDirectory, name: str | None, number: int) -> None:
    assert find_episode(many, name) == many.episodes()[number - 1]


def test_several_are_listed_and_where_there_is_none_the_first(many: RunDirectory) -> None:
    for name in ("hard-00", "hard-00 T*=10", "hard", "t*"):
        with pytest.raises(ConfigError, match=r"episodes match .*1 \(hard-00 T\*=10 #0\).* give the number of one"):
            find_episode(many, name)
    for name in ("99", "", "castle", "000"):
        with pytest.raises(UnknownNameError, match=r"1 \(hard-00 T\*=10\).*3 more; `--list` lists them all"):
            find_episode(many, name)
