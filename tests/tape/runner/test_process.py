"""Whole runs with the smallest bundled model: always the same results."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.lm.bundled import sizes
from tests.tape.helpers import without_times

pytestmark = pytest.mark.slow


PROCESS = [sys.executable, "-m", "tape"]


def arguments(out: Path, *more: str) -> list[str]:
    base = ["run", "sokoban", "--levels", "easy", "--model", f"bundled:{sizes('compact')[0]}", "--limit", "3"]
    return [*base, "--repeats", "2", "--batch", "3", "--out", str(out), *more]


def play(out: Path, *more: str) -> list[dict[str, Any]]:
    assert main(arguments(out, *more)) == 0
    return without_times(out)


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
    assert len(whole) == len(tables(first)[1]) - 1 == 6
    assert not any(line["result"]["budget_violations"] for line in whole)


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
