"""A full disk stops a run with one message; what is committed stays, and the same command goes on."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget
from tape.cli.main import main
from tape.errors import TapeError
from tape.runner.directory import RunDirectory
from tape.runner.run_ledger import spent_in
from tape.runner.runner import Runner
from tape.runner.workers import InProcess
from tests.full_disk import FullDisk, grow, small_disk
from tests.tape.runner.test_workers import comparable, configuration, scripted

CAP = 10_000


def run(folder: Path, out: Path, budget: bool) -> None:
    """Six episodes in three batches, some committed for two configurations."""
    both = [configuration(folder, "fine"), configuration(folder, "fine", "again")]
    caps = Budget({"calls": CAP}) if budget else None
    Runner(both, RunDirectory(out), InProcess(scripted), run_budget=caps).run()


def stopped(folder: Path, out: Path, budget: bool, full_at: int, once: bool) -> str:
    """Play on a disk that fills up; the run's error, empty if it came to its end."""
    with FullDisk(out, full_at, once).mounted():
        try:
            run(folder, out, budget)
        except TapeError as error:
            return str(error)
    return ""


def lines(out: Path) -> list[bytes]:
    file = out / "episodes.jsonl"
    return file.read_bytes().split(b"\n")[:-1] if file.exists() else []


def spent(out: Path) -> int:
    return spent_in(out / "run-ledger.jsonl")["calls"] or 0


def sweep(folder: Path, every: int) -> dict[str, Any]:
    """Fill the disk at every n-th write of a run, with and without a budget, for good and for a moment."""
    values: dict[str, Any] = {"writes": 0, "stops": 0, "went on to the end": 0, "stopped again": 0}
    for budget in (False, True):
        whole = folder / f"whole-{budget}"
        with FullDisk(whole).mounted() as disk:
            run(folder, whole, budget)
        wanted, paid = comparable(whole), spent(whole) if budget else 0
        values["writes"] += disk.writes
        for once in (False, True):
            for full_at in range(1, disk.writes + 1, every):
                place = (budget, once, full_at)
                out = folder / f"{budget}-{once}-{full_at}"
                error = stopped(folder, out, budget, full_at, once)
                values["stops" if error else "went on to the end"] += 1
                assert not error or ("No space left on device" in error and str(out) in error and len(error) < 1000), (
                    error
                )
                kept = lines(out)
                if error and (out / "config.json").exists():
                    assert not list(out.rglob("*.partial")), place
                    again = stopped(folder, out, budget, 2, False)  # the disk is still full
                    values["stopped again"] += bool(again)
                    assert lines(out)[: len(kept)] == kept, place
                run(folder, out, budget)
                assert lines(out)[: len(kept)] == kept, place
                assert comparable(out) == wanted, place
                assert not list(out.rglob("*.partial")), place
                assert {path.name for path in out.iterdir()} == {path.name for path in whole.iterdir()}, place
                if budget:  # a call whose end could not be written counts, and so does one that was broken off
                    assert paid <= spent(out) <= CAP, place
    return values


@pytest.mark.timeout(300)
def test_a_full_disk_stops_a_run_which_goes_on_when_there_is_room(tmp_path: Path) -> None:
    mapping = sweep(tmp_path, every=37)
    assert mapping["stops"] > 5


def test_the_command_ends_with_a_sentence_and_goes_on_when_there_is_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a real full disk."""
    with small_disk(tmp_path / "disk", 16) as disk:
        command = ["run", "sokoban", "--levels", "easy", "--limit", "2", "--agent", "open_loop", "--quiet"]
        command += ["--model", "bundled:nano", "--repeats", "2", "--batch", "1", "--out", str(disk / "run")]
        assert main(command) == 2
        error = capsys.readouterr().err.strip().splitlines()[-1]
        assert error.startswith(f"tape run: {disk}/run/")
        assert "cannot be written (No space left on device); what is finished is kept" in error
        kept = lines(disk / "run")
        grow(disk, 4096)
        assert main(command) == 0
        capsys.readouterr()
        assert lines(disk / "run")[: len(kept)] == kept
        assert len(lines(disk / "run")) == 4


@pytest.mark.soak
def test_a_disk_that_is_full_at_every_write(tmp_path: Path) -> None:
    mapping = sweep(tmp_path, every=1)
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        (Path(folder) / "full_disk.json").write_text(json.dumps(mapping, indent=1) + "\n")
