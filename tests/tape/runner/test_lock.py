"""A process that works on a run locks it, whatever happens to its files; nothing is written through a link."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, Resources
from tape.errors import RunDirectoryError
from tape.files import is_there, open_plain, partial_file, replace_file
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tape.runner.run_ledger import RunLedger
from tape.runner.runner import Runner, Watcher
from tape.runner.workers import InProcess
from tests.tape.runner.records import record
from tests.tape.runner.test_workers import configuration, play, scripted


def run(folder: Path, out: Path, watcher: Watcher | None = None) -> None:
    play([configuration(folder, "fine")], out, InProcess(scripted), watcher)


def keys(out: Path) -> list[str]:
    return [json.loads(line)["key"] for line in (out / "episodes.jsonl").read_text().splitlines()]


def once(do: Callable[[], Any]) -> Watcher:
    """Does something when the first batch is committed."""
    return Watcher(finished=lambda _line, done, _total: do() if done == 2 else None)


def test_another_process_takes_over_from_a_run_whose_records_were_removed(tmp_path: Path) -> None:
    out = tmp_path / "a"

    def take_over() -> None:
        (out / "episodes.jsonl").unlink()
        run(tmp_path, out)

    with pytest.raises(RunDirectoryError, match=r"episodes\.jsonl was removed or replaced .* commits nothing more"):
        run(tmp_path, out, once(take_over))
    assert len(keys(out)) == len(set(keys(out))) == 6
    summary = json.loads((out / "summary.json").read_text())
    assert summary["groups"][0]["episodes"] == 6, "what the other process wrote stays"


@pytest.mark.parametrize(
    "attack",
    [
        lambda out: (out / "episodes.jsonl").unlink(),
        lambda out: (out / "episodes.jsonl").rename(out / "away"),
        lambda out: os.replace(replaced(out), out / "episodes.jsonl"),
        lambda out: out.rename(out.with_name("elsewhere")),
    ],
    ids=["removed", "renamed", "replaced", "folder moved"],
)
def test_a_run_stops_if_its_records_are_gone(tmp_path: Path, attack: Callable[[Path], object]) -> None:
    out = tmp_path / "a"
    with pytest.raises(RunDirectoryError, match="removed or replaced"):
        run(tmp_path, out, once(lambda: attack(out)))
    kept = [path for path in tmp_path.rglob("*") if path.name in ("episodes.jsonl", "away", "copy")]
    assert all(path.read_bytes().count(b"\n") <= 2 for path in kept), "nothing is committed after that"


def replaced(out: Path) -> Path:
    copy = out / "copy"
    copy.write_bytes((out / "episodes.jsonl").read_bytes())
    return copy


def test_the_lock_leaves_no_file_beside_the_run_and_old_ones_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / ".a.lock").write_text("")
    run(tmp_path, tmp_path / "a")
    assert {path.name for path in tmp_path.iterdir()} == {".a.lock", "a", "levels.xsb"}
    assert (tmp_path / ".a.lock").read_text() == ""


def test_a_lock_is_kept_from_other_processes_and_ends_with_its_own(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from tape.runner.directory import RunDirectory
with RunDirectory(Path({str(tmp_path / "a")!r})).locked():
    print("locked", flush=True)
    input()
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    with (
        pytest.raises(RunDirectoryError, match="in use by another process; wait for it or name another --out"),
        RunDirectory(tmp_path / "a").locked(),
    ):
        raise AssertionError("two have the lock")
    process.kill()
    process.communicate()
    with RunDirectory(tmp_path / "a").locked():
        pass


def test_an_append_takes_a_free_lock(tmp_path: Path) -> None:
    first, second = RunDirectory(tmp_path), RunDirectory(tmp_path)
    with first.locked():
        first.append([record("a")], {})
        with pytest.raises(RunDirectoryError, match="in use"):
            second.append([record("b")], {})
    second.append([record("b")], {})
    assert keys(tmp_path) == ["a", "b"]


def test_an_episode_that_is_there_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    run(tmp_path, tmp_path / "a")
    file = tmp_path / "a" / "episodes.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[1]]))
    with pytest.raises(RunDirectoryError, match=r"episodes\.jsonl:7: .* in line 2: two .* Delete line 7, then repeat"):
        run(tmp_path, tmp_path / "a")
    file.write_text("".join(lines))
    run(tmp_path, tmp_path / "a")
    # The same episode of two configurations is no repetition.
    (tmp_path / "b").mkdir()
    RunDirectory(tmp_path / "b").append([record("a"), record("a", cell="other")], {})
    assert len(RunDirectory(tmp_path / "b").episodes()) == 2


# --- links ----------------------------------------------------------------------------------------------------


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file outside of the run that nothing may change."""
    file = tmp_path / "victim"
    file.write_text("precious, and without an end of line")
    return file


def test_links_in_the_place_of_what_is_written_are_replaced(tmp_path: Path, victim: Path) -> None:
    out = tmp_path / "a"
    run(tmp_path, out)
    for name in ("summary.json", "summary.md", "results.csv", "results.parquet"):
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(victim)
        partial_file(out / name).symlink_to(victim)
    run(tmp_path, out)
    assert victim.read_text().startswith("precious")
    assert not [path for path in out.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("link", ["symbolic", "hard", "dangling"])
def test_records_are_not_written_through_a_link(tmp_path: Path, victim: Path, link: str) -> None:
    out = tmp_path / "a"
    run(tmp_path, out)
    file = out / "episodes.jsonl"
    file.unlink()
    if link == "hard":
        os.link(victim, file)
    else:
        file.symlink_to(victim if link == "symbolic" else tmp_path / "made")
    with pytest.raises(RunDirectoryError, match=r"episodes\.jsonl .*(symbolic|hard) link"):
        run(tmp_path, out)
    assert victim.read_text().startswith("precious")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["config.json", "run-ledger.jsonl", "traces"])
def test_nothing_is_read_or_written_through_a_link(tmp_path: Path, name: str) -> None:
    out = tmp_path / "a"
    run(tmp_path, out)
    if name == "run-ledger.jsonl":
        RunLedger(out / name, Budget(), Resources()).payer.close()
    (out / name).rename(tmp_path / "moved")
    (out / name).symlink_to(tmp_path / "moved")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(RunDirectoryError, match=rf"{name} (cannot be opened \(it )?is a symbolic link"):
        run(tmp_path, out)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    run(tmp_path, tmp_path / "a")
    for name in ("episodes.jsonl", "config.json"):
        (tmp_path / "a" / name).unlink()
        os.mkfifo(tmp_path / "a" / name)
    with pytest.raises(RunDirectoryError, match="pipe or device"):
        RunDirectory(tmp_path / "a").episodes()
    with pytest.raises(RunDirectoryError, match="pipe or device"):
        RunDirectory(tmp_path / "a").configurations()
    with pytest.raises(OSError, match="pipe or device"):
        open_plain(tmp_path / "a" / "episodes.jsonl", os.O_RDWR)


def test_a_file_is_replaced_as_a_whole_whatever_a_kill_left(tmp_path: Path) -> None:
    file = tmp_path / "f"
    partial_file(file).write_text("torn")
    replace_file(file, "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    descriptor = open_plain(file, os.O_RDWR)
    assert is_there(descriptor, file)
    replace_file(file, "other")
    assert not is_there(descriptor, file)
    os.close(descriptor)


# --- the run's ledger -----------------------------------------------------------------------------------------


def test_nothing_is_spent_that_would_not_be_recorded(tmp_path: Path) -> None:
    path, calls = tmp_path / "run-ledger.jsonl", Resources({"calls": 1})
    run = RunLedger(path, Budget(), Resources())
    run.payer.settle(run.payer.reserve(calls), calls)
    other = RunLedger(path, Budget(), Resources())  # makes the file anew
    with pytest.raises(RunDirectoryError, match=r"removed or replaced.* spends nothing more"):
        run.payer.reserve(calls)
    assert other.spent() == calls
    path.unlink()
    with pytest.raises(RunDirectoryError, match="removed or replaced"):
        other.payer.reserve(calls)


# --- places that are refused ----------------------------------------------------------------------------------


def readable_only(folder: Path) -> Path:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder.mkdir()
    folder.chmod(0o500)
    return folder / "run"


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (lambda _: Path("/"), "/ is not empty and holds no run; name another --out"),
        (lambda _: Path.home(), "is not empty and holds no run|cannot be"),
        (lambda tmp: _made(tmp / "file"), "is a file, not a folder"),
        (lambda tmp: _made(tmp / "file") / "below", "can be no folder|cannot be made"),
        (lambda tmp: tmp, "is not empty and holds no run"),
        (lambda tmp: tmp / ("n" * 300), "can be no folder|cannot be made"),
        (lambda tmp: tmp / "nul\0", "can be no folder|cannot be made"),
        (lambda tmp: readable_only(tmp / "locked"), "cannot be made"),
    ],
    ids=["root", "home", "file", "below a file", "other files", "long", "nul", "not writable"],
)
def test_a_place_that_can_be_no_run_is_refused_in_a_sentence(
    tmp_path: Path, place: Callable[[Path], Path], says: str
) -> None:
    spec = configuration(tmp_path, "fine")  # a file is in the folder
    with pytest.raises(RunDirectoryError, match=says) as refused:
        Runner([spec], RunDirectory(place(tmp_path)), InProcess(scripted)).run()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1000
    assert not Path("/episodes.jsonl").exists()
    assert not (Path.home() / "episodes.jsonl").exists()


def _made(file: Path) -> Path:
    file.write_text("")
    return file


def test_a_lost_lock_is_reported_instead_of_a_summary(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    with directory.locked():
        directory.require_held()
        (tmp_path / "episodes.jsonl").unlink()
        with pytest.raises(RunDirectoryError, match="removed or replaced"):
            write_derived(directory)
        with pytest.raises(RunDirectoryError, match="removed or replaced"):
            directory.append([record()], {"k": "trace"})
    assert not (tmp_path / "traces").exists()
