"""Ctrl-C at random moments of five kinds of command."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from tests.tape.cli.commands import check, commands
from tests.tape.cli.interrupting import Running

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc"),
    pytest.mark.usefixtures("adopted"),
]

SWEPT = {"run": 5.0, "workers": 6.0, "solve": 2.0, "solve apart": 3.0, "view": 1.2}
"""Commands, and seconds after which nothing new comes."""


def sweep(data: Path, folder: Path, seed: int, each: int) -> dict[str, dict[str, float]]:
    """Ctrl-C at so many random moments of each command; checks every one."""
    rng = random.Random(seed)
    found: dict[str, dict[str, float]] = {}
    for kind, most in SWEPT.items():
        tally = {"interrupted": 0, "had ended": 0, "most cpu": 0.0, "most seconds": 0.0}
        for number in range(each):
            place = folder / f"{kind} {number}"
            running = Running(commands(data, place / "out")[kind], place)
            running.until(running.guards)
            moment = time.monotonic() + rng.uniform(0, most)
            running.until(lambda: time.monotonic() > moment)  # noqa: B023 - called here
            ended = running.interrupt(group=rng.random() < 0.8)
            if ended.status == 130:
                check(ended, f"tape {kind.partition(' ')[0].replace('workers', 'run')}")
                tally["interrupted"] += 1
            else:  # it was done, or as good as
                assert (ended.status, ended.said, ended.left, ended.files) == (0, "", [], []), ended
                tally["had ended"] += 1
            tally["most cpu"] = round(max(tally["most cpu"], ended.cpu), 2)
            tally["most seconds"] = round(max(tally["most seconds"], ended.seconds), 2)
        found[kind] = tally
    return found


@pytest.mark.slow
def test_ctrl_c_at_random_moments(data: Path, tmp_path: Path) -> None:
    found = sweep(data, tmp_path, seed=1, each=1)
    assert sum(tally["interrupted"] for tally in found.values()) >= 3


@pytest.mark.soak
def test_ctrl_c_at_fifty_random_moments(data: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    found = sweep(data, tmp_path, seed=2, each=10)
    counted = sum(int(tally["interrupted"] + tally["had ended"]) for tally in found.values())
    figures = {"moments": counted, "commands": found, "tracebacks": 0, "children left": 0, "files left": 0,
               "seconds": round(time.monotonic() - began, 1)}  # fmt: skip
    if where := os.environ.get("TAPE_SOAK_RESULTS"):
        (Path(where) / "interrupts.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    assert counted == 50
    assert sum(tally["interrupted"] for tally in found.values()) > 25
