"""Ctrl-C, SIGTERM and SIGHUP at any moment of any command, and streams that break; whole commands in real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tape.cli import main
from tests.places import ROOT
from tests.tape.cli.commands import MANY, MODEL, TAPE, check, commands, playing
from tests.tape.cli.interrupting import Ended, Running

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc"),
    pytest.mark.usefixtures("adopted"),
]


def plays(running: Running) -> bool:
    return " solved" in running.out  # a line about what is at work may come before


def has_worker(running: Running) -> bool:
    return any(running.temporary.glob("tape-solver-*"))


MOMENTS: dict[str, tuple[str, Callable[[Running], object]]] = {
    "start-up": ("models", lambda running: running.guards()),
    "imports": ("loads", lambda running: running.guards() and time.sleep(0.3) is None),
    "loading": ("loads", lambda running: "loading" in running.err),
    "playing": ("run", plays),
    "workers start": ("loads in workers", lambda running: "loading" in running.err and time.sleep(1) is None),
    "workers play": ("workers", plays),
    "solving": ("solve", lambda running: running.guards() and time.sleep(1) is None),
    "a worker starts": ("solve apart", has_worker),
    "a worker solves": ("solve apart", lambda running: has_worker(running) and time.sleep(1) is None),
}


RARE = ("imports", "workers start", "a worker starts")


def interrupted(
    command: list[str],
    folder: Path,
    holds: Callable[[Running], object],
    *signals: signal.Signals,
    name: str = "tape run",
    status: int = 130,
    **how: Any,
) -> Ended:
    """What becomes of a command that gets signals at a moment; it ends as an interrupted one does."""
    running = Running(command, folder)
    running.until(partial(holds, running))
    ended = running.interrupt(*signals, **how)
    check(ended, name, status)
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("moment", [pytest.param(m, marks=[pytest.mark.soak] * (m in RARE)) for m in MOMENTS])
def test_ctrl_c_at_a_moment(moment: str, data: Path, tmp_path: Path) -> None:
    kind, holds = MOMENTS[moment]
    command = commands(data, tmp_path / "out")[kind]
    ended = interrupted(command, tmp_path / "folder", holds, name=f"tape {command[len(TAPE)]}")
    if "play" in moment:
        assert "finished episodes are kept. Resume with: tape run sokoban" in ended.said
        assert f"--out {tmp_path / 'out'}" in ended.said
        assert ("--workers 2" in ended.said) is (kind == "workers")
        assert json.loads((tmp_path / "out" / "summary.json").read_text())["groups"]
        file = tmp_path / "out" / "episodes.jsonl"
        assert 0 < len({json.loads(line)["key"] for line in file.read_text().splitlines()}) < MANY
    else:
        assert "Resume with" not in ended.said


def sleepy(data: Path, folder: Path, how: str) -> Running:
    """A run that has come to where it stays."""
    plugin, mark = data / "plugin", folder / "mark"
    model = f"scripted:{plugin / 'calls.json'}"
    command = [*TAPE, *f"run sleepy --agent react --limit 1 --model {model} --out".split(), str(folder / "out")]
    running = Running(command, folder, {"PYTHONPATH": str(plugin), "SLEEPY": how, "SLEEPY_MARK": str(mark)})
    running.until(mark.exists)
    return running


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sleeps", "stays", "spins", "summarises"])
def test_nothing_that_does_not_end_is_waited_for(how: str, data: Path, tmp_path: Path) -> None:
    """A synchronous tool, an asynchronous one that cannot be cancelled, a summary that takes for ever.

    A second Ctrl-C ends it where it stands.
    """
    again = 2 if how == "spins" else 0
    check(sleepy(data, tmp_path, how).interrupt(*[signal.SIGINT] * (1 + again), apart=0.3), "tape run")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, "workers"), (signal.SIGHUP, "run")])
def test_other_signals_end_it_alike(number: signal.Signals, kind: str, data: Path, tmp_path: Path) -> None:
    command = commands(data, tmp_path / "out")[kind]
    ended = interrupted(command, tmp_path / "folder", plays, number, status=128 + number, group=False)
    assert f"interrupted by {number.name}" in ended.said


@pytest.mark.slow
def test_under_nohup_a_closed_terminal_interrupts_nothing(data: Path, tmp_path: Path) -> None:
    playing = commands(data, tmp_path / "out")["run"]
    command = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *playing]
    interrupted(command, tmp_path / "folder", plays, signal.SIGHUP, signal.SIGINT, apart=0.5)


@pytest.mark.soak
def test_a_script_of_the_studies_says_how_to_go_on(tmp_path: Path) -> None:
    module = "experiments.studies.tape.sokoban"
    command = [sys.executable, "-m", module, "--limit", "1", "--seeds", "2", "--models", MODEL]
    command += ["--register", str(tmp_path / "list.json")]  # or the repository's own list would name it
    command += ["--out", str(tmp_path / "out")]
    ended = interrupted(command, tmp_path / "folder", lambda running: "solved" in running.out, name=module)
    assert f"finished episodes are kept. Resume with: python -m {module} --limit 1" in ended.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_interpreters_last_moments_changes_no_status(number: signal.Signals, tmp_path: Path) -> None:
    code = f"""
import os
from tape.interrupts import own_process

class Late:
    def __del__(self, kill=os.kill, me=os.getpid()):
        kill(me, {int(number)})

late = Late()
own_process("a script", lambda: 0)
"""
    running = Running([sys.executable, "-c", code], tmp_path / "folder")
    running.until(lambda: False)
    assert (running.process.returncode, running.err) == (0, "")


@pytest.mark.slow
def test_an_interrupt_that_python_only_reports_is_raised_again(tmp_path: Path) -> None:
    """Also one that arrives in a finaliser, where no exception gets out."""
    code = """
import time
from tape.interrupts import cleaning_up, own_process

class Slow:
    def __del__(self):
        print("begun", flush=True)
        time.sleep(1)

def run():
    with cleaning_up(lambda: "this is kept"):
        Slow()
        time.sleep(3600)

own_process("a script", run)
"""
    begun = [sys.executable, "-c", code]
    ended = interrupted(begun, tmp_path, lambda running: "begun" in running.out, name="a script")
    assert ended.said == "a script: interrupted; this is kept\n"


@pytest.mark.slow
def test_a_terminal_that_takes_nothing_more_is_not_waited_for(data: Path, tmp_path: Path) -> None:
    """Both streams are full pipes without a reader."""
    _reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while os.write(writing, bytes(4096)):
            pass
    os.set_blocking(writing, True)
    process = subprocess.Popen([*TAPE, "why", str(data / "run")], stdout=writing, stderr=writing, cwd=ROOT)
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130


def run(*command: str, **options: object) -> tuple[int, str]:
    """Exit status and stderr, where that is captured."""
    made = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": ROOT, "text": True, **options}
    done = subprocess.run([*TAPE, *command], check=False, **made)  # type: ignore[call-overload]
    return done.returncode, done.stderr


@pytest.fixture
def broken() -> Iterator[int]:
    """The end of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.slow
def test_streams_that_break(data: Path, tmp_path: Path, broken: int) -> None:
    why = ("why", str(data / "run"))
    assert run(*why, stdout=broken) == (141, "")
    assert run("--help", stdout=broken)[1] == ""
    with open("/dev/full", "w") as full:
        status, said = run(*why, stdout=full)
        assert (status, said.count("\n")) == (2, 1)
        assert "No space left" in said
        assert run(*why, stderr=full)[0] == 0
    # A closed stderr does not stop a command.
    a, b = ([*playing(data, tmp_path / name, 2), "--quiet"] for name in "ab")
    assert run(*a, stderr=broken)[0] == 0
    assert run("solve", "nowhere.json", stderr=broken)[0] == 2
    shell = ["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", *TAPE, *b]
    assert subprocess.run(shell, cwd=ROOT, check=False).returncode == 0
    lines = [(tmp_path / name / "episodes.jsonl").read_text().splitlines() for name in "ab"]
    assert len(lines[0]) == len(lines[1]) == 2
    assert all(json.loads(line) for line in [*lines[0], *lines[1]])


def test_next_to_nothing_is_imported_before_the_guard_stands() -> None:
    code = "import sys; before = set(sys.modules); from tape.cli import main; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = set(done.stdout.split())
    ours = {name for name in words if name.partition(".")[0] == "tape"}
    assert ours == {"tape", "tape.cli", "tape.cli.main", "tape.interrupts"}
    assert len(words - ours) <= 25, words  # those of `signal` and `collections.abc`
    assert not words & {"typing", "argparse", "threading", "asyncio", "importlib.metadata", "json"}


def test_an_interrupt_of_main_as_a_function_is_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("tape.cli.models.main", stop)
    assert main(["models"]) == 130
    assert capsys.readouterr().err == "tape models: interrupted\n"
