"""Whole runs in fresh processes with the smallest bundled model: Ctrl-C, kill, identical results."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tape.lm.bundled import sizes
from tests.tape.helpers import without_times

pytestmark = pytest.mark.slow


def command(out: Path, *more: str) -> list[str]:
    base = [sys.executable, "-m", "tape", "run", "sokoban", "--levels", "easy", "--model", f"bundled:{sizes()[0]}"]
    return [*base, "--limit", "6", "--repeats", "2", "--cohort", "3", "--quiet", "--out", str(out), *more]


def play(out: Path, hashseed: str = "0", *more: str) -> list[dict[str, Any]]:
    env = {**os.environ, "PYTHONHASHSEED": hashseed}
    done = subprocess.run(command(out, *more), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return without_times(out)


def stop_after(out: Path, lines: int, how: signal.Signals) -> tuple[int, str]:
    """Start a run and send it a signal once it has printed that many episodes."""
    process = subprocess.Popen(command(out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(how)
    _, error = process.communicate()
    return process.returncode, error


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return play(tmp_path_factory.mktemp("whole") / "run")


def test_the_same_command_gives_the_same_episodes_in_every_process(tmp_path: Path, whole: list[Any]) -> None:
    assert play(tmp_path / "run", "12345") == whole
    assert len(whole) == 12
    assert not any(line["result"]["budget_violations"] for line in whole)


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_resume(tmp_path: Path, whole: list[Any]) -> None:
    out = tmp_path / "run"
    code, error = stop_after(out, 4, signal.SIGINT)
    assert code == 130
    assert "Resume with" in error
    assert "Traceback" not in error
    assert 0 < len(without_times(out)) < len(whole)
    assert json.loads((out / "summary.json").read_text())["groups"]
    assert play(out) == whole


@pytest.mark.parametrize("lines", [1, 5])
def test_a_killed_run_resumes_to_the_same_episodes(tmp_path: Path, whole: list[Any], lines: int) -> None:
    out = tmp_path / "run"
    stop_after(out, lines, signal.SIGKILL)
    assert play(out) == whole


def test_a_cache_changes_nothing_but_the_work(tmp_path: Path, whole: list[Any]) -> None:
    cache = str(tmp_path / "cache.sqlite")
    assert play(tmp_path / "a", "0", "--cache", cache) == whole
    filled = Path(cache).read_bytes()
    assert play(tmp_path / "b", "0", "--cache", cache) == whole
    assert Path(cache).read_bytes() == filled, "the second run asked the model for something new"


def test_constrained_and_forced_execution_act_alike_with_a_real_model(tmp_path: Path, whole: list[Any]) -> None:
    forced = play(tmp_path / "run", "0", "--execution", "forced")
    assert [line["result"]["actions"] for line in forced] == [line["result"]["actions"] for line in whole]
    assert all("act" not in line["result"]["lm_calls"] for line in forced)
    assert any(line["result"]["lm_calls"].get("act") for line in whole)
