"""Whole runs with the smallest bundled model, some of them interrupted: always the same results."""

import csv
import json
import os
import signal
import subprocess
import sys
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.lm.bundled import sizes
from tests.tape.helpers import without_times

pytestmark = pytest.mark.slow


PROCESS = [sys.executable, "-m", "tape"]


def arguments(out: Path, *more: str) -> list[str]:
    base = ["run", "sokoban", "--levels", "easy", "--model", f"bundled:{sizes('compact')[0]}", "--limit", "5"]
    return [*base, "--repeats", "2", "--batch", "3", "--out", str(out), *more]


def play(out: Path, *more: str) -> list[dict[str, Any]]:
    assert main(arguments(out, *more)) == 0
    return without_times(out)


BACKGROUND = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
"""What a non-interactive shell does for ``command &``: the command starts with Ctrl-C ignored."""


def stopped(out: Path, *more: str) -> tuple[int, str]:
    """Start a run and send it Ctrl-C once it has printed an episode."""
    full = [*BACKGROUND, *PROCESS, *arguments(out, *more)]
    process = subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    while " solved" not in (process.stdout.readline() or " solved"):
        pass  # a line about what is at work
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, error = process.communicate()
    return process.returncode, error


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    play(out)
    return out


@pytest.fixture(scope="module")
def whole(first: Path) -> list[dict[str, Any]]:
    return without_times(first)


def tables(out: Path) -> tuple[str, list[list[str]]]:
    """The summary and the rows of the results, without what a clock measured."""
    rows = [line.split(" | ") for line in (out / "summary.md").read_text().splitlines()]
    clock = rows[0].index("solver ms")
    summary = "\n".join(" | ".join(row[:clock] + row[clock + 1 :] if len(row) > 2 else row) for row in rows)
    with (out / "results.csv").open(newline="") as file:
        return summary, [row[:-2] for row in csv.reader(file)]


def test_the_same_command_gives_the_same_tables_in_every_process(tmp_path: Path, first: Path, whole: list[Any]) -> None:
    env = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [*PROCESS, *arguments(tmp_path / "run")], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert without_times(tmp_path / "run") == whole
    assert tables(tmp_path / "run") == tables(first)
    assert "solver ms" not in tables(first)[0]
    assert "| tape |" in tables(first)[0]
    assert len(whole) == len(tables(first)[1]) - 1 == 10
    assert not any(line["result"]["budget_violations"] for line in whole)


def test_ctrl_c_keeps_what_is_finished_and_prints_how_to_resume(tmp_path: Path, whole: list[Any]) -> None:
    out = tmp_path / "run"
    code, error = stopped(out, "--workers", "2")
    assert code == 130
    assert "Resume with" in error
    assert "--workers 2" in error
    assert "Traceback" not in error
    assert 0 < len(without_times(out)) < len(whole)
    assert json.loads((out / "summary.json").read_text())["groups"]
    assert sorted(play(out), key=itemgetter("key")) == sorted(whole, key=itemgetter("key"))


def test_a_run_goes_on_with_the_batch_that_it_began_with(first: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = arguments(first)
    at = command.index("--batch")
    assert main([*command[:at], *command[at + 2 :]]) == 0
    assert json.loads((first / "config.json").read_text())["cells"]["tape"]["batch"] == 3
    assert main([*command[:at], "--batch", "4", *command[at + 2 :]]) == 2
    assert "batch: 3 there, 4 now" in capsys.readouterr().err


def test_a_cache_changes_nothing_but_the_work(tmp_path: Path, whole: list[Any]) -> None:
    cache = str(tmp_path / "cache.sqlite")
    assert play(tmp_path / "a", "--cache", cache) == whole
    filled = Path(cache).read_bytes()
    assert play(tmp_path / "b", "--cache", cache) == whole
    assert Path(cache).read_bytes() == filled, "the second run asked the model for something new"
    results = [json.loads(line)["result"] for line in (tmp_path / "b" / "episodes.jsonl").read_text().splitlines()]
    assert all(result["paid"] == {"steps": result["steps"]} for result in results)
    assert all(result["used"]["tokens"] for result in results)
