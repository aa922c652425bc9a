"""``tape why`` on a run directory, how episodes are found there, and commands on single traces."""

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
from tape.plugins import missing_extra
from tape.runner.directory import RunDirectory
from tape.runner.runner import find_episode
from tape.trace import Event, TraceWriter, read_trace
from tests.tape.analysis.why.shop import acted, episode, finished, folded, selection, shop
from tests.tape.commandline import Tape
from tests.tape.helpers import CORRIDOR, ROOM
from tests.tape.runner.records import record
from tests.tape.show.view_runs import REFUSED, blocks_of, refused_episode, write_trace

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
    data = tape("why", run, "2", "--json").data
    assert (data["episode"]["task"], data["episode"]["number"]) == ("room", 2)
    assert data["about"]
    events = list(read_trace(run / "traces" / f"{data['episode']['key']}.jsonl"))
    assert data["rounds"] == json.loads(json.dumps([planning_round.to_dict() for planning_round in rounds(events)]))
    assert [entry["number"] for entry in tape("why", run, "2", "--round", "1", "--json").data["rounds"]] == [1]
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


# --- single traces --------------------------------------------------------------------------------------------


def test_every_command_takes_the_trace_of_one_episode_and_shows_what_was_refused(tmp_path: Path, tape: Tape) -> None:
    file = write_trace(tmp_path / "run.jsonl", refused_episode())
    written = tape("why", file)
    assert written.out.startswith("run.jsonl\ntape with none, at most 6 steps and $0.008.\n")
    told = " ".join(written.out.split())
    assert "ask a person was refused where it was to be approved, so it was planned anew without it." in told
    assert "2 actions; 1 refused when approval was asked for, and left out." in told
    written = tape("why", file, "--json")
    assert (written.data["episode"]["key"], written.data["episode"]["agent"]) == ("run", "tape")
    assert [entry["ended"]["refused"] for entry in written.data["rounds"]] == [REFUSED, ""]
    shown = tape("show", file)
    assert (shown.code, "asked before ask a person (destructive): refused" in shown.out) == (0, True)
    pictures = [(tmp_path / f"run-round-{number}.svg").read_text() for number in (1, 2)]
    assert all("✗ refused</text>" in picture and "✗ contradicted" not in picture for picture in pictures)
    assert tape("show", file, "--list").out == "   1 run #0: success, 2 steps, $0.001 of $0.008\n"
    assert tape("view", file).code == 0
    [record] = blocks_of(file.with_suffix(".html").read_text())
    assert [moment["title"] for moment in record["moments"] if moment.get("tone") == "bad"] == ["Approval: refused"]
    assert record["rounds"][1]["reason"] == "an action was refused where it was to be approved"
    assert record["rounds"][1]["changes"]["edges"]["refused"] == {"count": 1, "first": [REFUSED]}
    marked = [{edge["action"] for edge in graph["edges"] if edge.get("refused")} for graph in record["graphs"]]
    assert marked == [{REFUSED}, {REFUSED}]


def test_an_unfinished_trace_ends_with_what_there_is(tmp_path: Path, tape: Tape) -> None:
    cut = write_trace(tmp_path / "cut.jsonl", refused_episode()[:8])
    torn = tmp_path / "torn.jsonl"
    torn.write_text(cut.read_text() + '{"schema": 2, "se')
    for file, said in ((cut, "The trace ends before the episode does"), (torn, "can be read up to event 8: line 9: ")):
        written = tape("why", file)
        assert (written.code, "The trace stops before the episode has ended." in written.out) == (0, True)
        assert "CHOSEN" in written.out
        assert said in written.err
        assert said in tape("show", file, "--no-pictures").out.splitlines()[-1]
        assert ": unfinished, " in tape("show", file, "--list").out
        assert tape("view", file).code == 0
        assert said in blocks_of(file.with_suffix(".html").read_text())[0]["problem"]
        if not missing_extra("inspect", "inspect_ai"):
            assert said in tape("export", file, "--to", "inspect").err


@pytest.mark.parametrize("command", [("why",), ("show",), ("view",), ("export", "--to", "inspect")])
def test_what_is_neither_a_run_nor_a_trace_is_refused_in_one_sentence(
    tmp_path: Path, tape: Tape, command: tuple[str, ...]
) -> None:
    for name, text, said in (
        ("notes.txt", "hello\n", "notes.txt:1: no JSON"),
        ("empty.jsonl", "", "not a trace: it is empty"),
        ("episodes.jsonl", "{}\n", "lists the episodes of a run; name the folder"),
        ("other.jsonl", '{"a": 1}\n', "not a trace event: field schema is missing"),
        ("nothing", None, "does not exist; name a run directory or a trace file"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        code, out, error = tape(command[0], tmp_path / name, *command[1:])
        assert (code, out, said in error, error.count("\n")) == (2, "", True, 1), error


def test_a_trace_holds_one_episode_of_no_configuration(tmp_path: Path, tape: Tape) -> None:
    file = write_trace(tmp_path / "run.jsonl", refused_episode())
    assert "is the trace of one episode; leave '2' out" in tape("why", file, "2").err
    assert "leave --configuration out" in tape("export", file, "--to", "inspect", "--configuration", "tape").err


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
