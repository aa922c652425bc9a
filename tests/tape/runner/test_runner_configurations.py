"""Runs of many configurations: shared episodes, order, and what is derived from the committed lines."""

import csv
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.plugin import PLUGIN
from tape.budget import Budget, Ledger
from tape.errors import ConfigError, RunDirectoryError, UnknownNameError
from tape.lm.base import LanguageModel
from tape.runner import derived
from tape.runner.configurations import Configuration
from tape.runner.derived import in_order, natural, write_derived
from tape.runner.directory import RunDirectory
from tape.runner.runner import Runner, Watcher
from tape.runner.spec import source_digest
from tape.runner.work import Keep, Played, Work
from tape.runner.workers import InProcess
from tape.trace import read_trace
from tests.tape.helpers import tiny_lm, without_times
from tests.tape.runner.test_runner import quick_lm, spec_for, two_levels

DERIVED = ("summary.json", "summary.md", "results.csv", "results.parquet")


class Signed(InProcess):
    """Records the work it is given, and writes into every episode the batch that it was played in."""

    def __init__(self, model: Callable[[], LanguageModel] = quick_lm) -> None:
        super().__init__(lambda _: model())
        self.asked: list[tuple[str, int]] = []

    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: Ledger | None = None) -> None:
        self.asked = [(item.configuration, len(item.jobs)) for item in work]

        def signed(item: Work, played: Played) -> None:
            played.line["result"]["detail"] = f"{item.configuration} {[job.key for job in item.jobs]}"
            keep(item, played)

        super().play(work, watcher, signed, run)


class Backwards(Signed):
    """The last batch ends first, as may happen with many workers."""

    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: Ledger | None = None) -> None:
        super().play(work[::-1], watcher, keep, run)


def configurations_of(folder: Path, *names: str, **changes: Any) -> list[Configuration]:
    """By name, on the two levels: ``NAME``, an agent, or ``NAME=AGENT``; ``one:`` in front: the first level."""
    configurations = []
    for name in names:
        spec = spec_for(two_levels(folder), agent=name.split("=")[-1].split(":")[-1], **changes)
        tasks = PLUGIN.tasks(spec.options)
        configurations.append(Configuration(name, spec, tuple(tasks[:1] if name.startswith("one:") else tasks)))
    return configurations


def play(configurations: Sequence[Configuration], path: Path, pool: Any = None, **options: Any) -> list[dict[str, Any]]:
    return Runner(configurations, RunDirectory(path), pool or InProcess(lambda _: quick_lm()), **options).run()


def comparable(path: Path) -> list[Any]:
    return sorted(without_times(path), key=lambda line: (line["cell"], line["key"]))


def unsigned(path: Path) -> list[Any]:
    lines = comparable(path)
    for line in lines:
        line["result"].pop("detail")
    return lines


def groups_without_times(path: Path) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = json.loads((path / "summary.json").read_text())["groups"]
    for group in groups:
        group.pop("solver_seconds")
    return groups


def test_every_configuration_has_its_group_in_order(tmp_path: Path) -> None:
    groups = play(configurations_of(tmp_path, "z=react", "a=tape"), tmp_path / "run", title="A title | of mine")
    assert [(g["cell"], g["agent"], g["episodes"], g["levels"]) for g in groups] == [
        ("z=react", "react", 6, 2),
        ("a=tape", "tape", 6, 2),
    ]
    assert all(g["ci95_method"] in {"clustered", "wilson-levels"} for g in groups)
    directory = RunDirectory(tmp_path / "run")
    assert list(directory.configurations()) == ["z=react", "a=tape"]
    assert directory.configurations()["a=tape"].tasks_digest
    summary = (tmp_path / "run" / "summary.md").read_text()
    assert summary.startswith("# A title \\| of mine\n")
    assert "| z=react | " in summary
    assert Counter(line["cell"] for line in directory.episodes()) == {"z=react": 6, "a=tape": 6}


def test_configurations_are_checked_before_anything_is_made(tmp_path: Path) -> None:
    react, tape = configurations_of(tmp_path, "react", "tape")
    for configurations, says in (
        ([], "at least one configuration"),
        ([react, react], "'react'"),
        ([Configuration(" ", react.spec, react.tasks)], "empty"),
        ([tape, Configuration("twice", react.spec, react.tasks * 2)], "has the task 'one' twice"),
    ):
        with pytest.raises(ConfigError, match=says):
            play(configurations, tmp_path / "run")
    with pytest.raises(UnknownNameError, match="unheard_of"):
        play(configurations_of(tmp_path, "unheard_of"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_other_configurations_are_refused_and_named(tmp_path: Path) -> None:
    configurations = configurations_of(tmp_path, "react", "tape", repeats=1)
    play(configurations, tmp_path / "run")
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    changed = [
        configurations[0],
        Configuration("tape", configurations[1].spec.model_copy(update={"seed": 7}), configurations[1].tasks),
    ]
    for other, says in (
        (changed, r"\(configurations\.tape\.seed: 0 there, 7 now\)"),
        (configurations[::-1], r"configurations: \['react', 'tape'\] there, \['tape', 'react'\] now"),
        (configurations[:1], r"\['react'\] now"),
        (configurations_of(tmp_path, "react", "tape"), "repeats: 1 there, 3 now"),
    ):
        with pytest.raises(RunDirectoryError, match=says):
            play(other, tmp_path / "run")
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == before


def test_an_episode_of_two_configurations_is_played_once_and_committed_for_both(tmp_path: Path) -> None:
    seen: list[str] = []
    pool = Backwards()
    configurations = configurations_of(tmp_path, "one:tape", "react", "both=tape")
    groups = play(
        configurations, tmp_path / "run", pool, watcher=Watcher(finished=lambda line, *_: seen.append(line["cell"]))
    )
    assert pool.asked[::-1] == [("one:tape", 2), ("one:tape", 1), *[("react", 2)] * 3, *[("both=tape", 2)] * 2]
    assert Counter(seen) == {"one:tape": 3, "react": 6, "both=tape": 6}
    assert [group["episodes"] for group in groups] == [3, 6, 6]
    lines = comparable(tmp_path / "run")
    shared = [[line for line in lines if line["cell"] == configuration] for configuration in ("one:tape", "both=tape")]
    assert [{**line, "cell": ""} for line in shared[0]] == [
        {**line, "cell": ""} for line in shared[1] if line["task"] == "one"
    ]
    assert len(list((tmp_path / "run" / "traces").iterdir())) == 12


def test_nothing_depends_on_which_batch_ends_first(tmp_path: Path) -> None:
    # An episode of two configurations is in two batches of different members, on which the last digits depend.
    configurations = configurations_of(tmp_path, "one:tape", "both=tape")
    play(configurations, tmp_path / "a", Signed(tiny_lm))
    play(configurations, tmp_path / "b", Backwards(tiny_lm))
    assert without_times(tmp_path / "a") != without_times(tmp_path / "b")
    assert comparable(tmp_path / "a") == comparable(tmp_path / "b")
    assert groups_without_times(tmp_path / "a") == groups_without_times(tmp_path / "b")


def test_a_shared_directory_saves_the_work(tmp_path: Path) -> None:
    play(configurations_of(tmp_path, "tape", repeats=2), tmp_path / "first")
    first = RunDirectory(tmp_path / "first")
    first.trace_file(first.episodes()[0]["key"]).unlink()
    pool, heard = Signed(), []
    configurations = configurations_of(tmp_path, "react", "mine=tape")
    shared = [RunDirectory(tmp_path / name) for name in ("not there yet", "first", "second")]
    play(
        configurations,
        tmp_path / "second",
        pool,
        shared=shared,
        watcher=Watcher(finished=lambda line, *n: heard.append(n)),
    )
    # Of the six episodes of tape, repeats 0 and 1 of both levels are there; batches are (0, 1), (2, 0), (1, 2).
    # One of them has no trace any more, so it is not shared.
    assert pool.asked == [*[("react", 2)] * 3, *[("mine=tape", 2)] * 3]
    assert heard == [(i, 12) for i in range(1, 13)]
    play(configurations, tmp_path / "alone")
    assert unsigned(tmp_path / "second") == unsigned(tmp_path / "alone")
    for line in RunDirectory(tmp_path / "second").episodes():
        assert list(read_trace(RunDirectory(tmp_path / "second").trace_file(line["key"])))


def test_a_run_is_neither_finished_nor_shared_by_another_version_of_the_program(tmp_path: Path) -> None:
    configurations = configurations_of(tmp_path, "react", repeats=1)
    play(configurations, tmp_path / "a")
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    config["versions"] |= {"sources": "another", "torch": "0.1"}
    (tmp_path / "a" / "config.json").write_text(json.dumps(config))
    play(configurations, tmp_path / "a")  # complete: nothing would be mixed
    pool = Signed()
    play(configurations, tmp_path / "b", pool, shared=[RunDirectory(tmp_path / "a")])
    assert pool.asked == [("react", 2)]
    file = RunDirectory(tmp_path / "a").episodes_file
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    before = file.read_bytes()
    with pytest.raises(RunDirectoryError, match=r"another version .*sources: 'another' there.*torch: '0\.1' there"):
        play(configurations, tmp_path / "a", run_budget=Budget({"calls": 99}))
    assert file.read_bytes() == before
    assert not (tmp_path / "a" / "run-ledger.jsonl").exists()


def test_the_digest_of_the_sources_is_that_of_what_plays(tmp_path: Path) -> None:
    [configuration] = configurations_of(tmp_path, "react")
    assert source_digest([configuration.spec]) == source_digest(
        [configuration.spec, configuration.spec.model_copy(update={"agent": "tape"})]
    )
    assert source_digest([configuration.spec]) != source_digest(), "the environment counts"


def test_the_current_folder_can_be_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    play(configurations_of(tmp_path, "react", repeats=1), Path())
    assert (tmp_path / "here" / "summary.json").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [], "no file beside the run"


def test_everything_derived_is_rebuilt_to_the_byte_from_lines_in_any_order(tmp_path: Path) -> None:
    play(configurations_of(tmp_path, "react", "tape"), tmp_path / "run", title="t")
    directory = RunDirectory(tmp_path / "run")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in DERIVED if (tmp_path / "run" / name).exists()}
    lines = directory.episodes_file.read_text().splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    directory.episodes_file.write_text("".join(lines) + '{"torn')
    for name in before:
        (tmp_path / "run" / name).unlink()
    write_derived(directory)
    assert {name: (tmp_path / "run" / name).read_bytes() for name in before} == before


def test_levels_are_in_the_order_that_people_expect() -> None:
    titles = ["level " + "7" * 6000, "level 10", "level 02b", "level 2", "a"]
    assert sorted(titles, key=natural) == ["a", "level 2", "level 02b", "level 10", titles[0]]
    line = {"cell": "c", "level_set": "s", "digest": "d", "repeat": 0, "key": "k"}
    lines = [{**line, "task": task} for task in ("10 x", "9 x")]
    assert [mapping["task"] for mapping in in_order(lines, ["c"])] == ["9 x", "10 x"]
    with pytest.raises(RunDirectoryError, match="belongs to 'c'"):
        in_order(lines, ["other"])


def test_results_have_one_row_per_episode(tmp_path: Path) -> None:
    play(configurations_of(tmp_path, "react", "tape"), tmp_path / "run")
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = RunDirectory(tmp_path / "run").episodes()
    episodes = {(line["cell"], line["key"]): line for line in lines}
    assert {(row["cell"], row["key"]) for row in rows} == set(episodes)
    for row in rows:
        line = episodes[row["cell"], row["key"]]
        assert row["success"] == str(line["result"]["success"]).lower()
        assert row["actions"].split() == line["result"]["actions"]
        assert int(row["used_steps"]) == line["result"]["steps"] <= int(row["budget_steps"])
        assert int(row["lm_calls"]) == sum(line["result"]["lm_calls"].values())
    assert list(rows[0])[-2:] == ["solver_seconds", "wall_seconds"]
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(tmp_path / "run" / "results.parquet")
    assert read.to_pylist() == derived.rows(in_order(lines, ["react", "tape"]))
    assert not any(name.startswith("unproven_") for name in rows[0]), "only where there is any"
    lines[0]["result"]["unproven"] = {"usd": 7}
    assert [row["unproven_usd"] for row in derived.rows(lines)] == [7, *[0] * (len(lines) - 1)]


def test_parquet_has_the_columns_that_pyarrow_would_infer() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = ("text", "whole", "real", "mixed", "flag", "none", "late", "empty")
    rows: list[tuple[derived.Value, ...]] = [
        ("é", 1, 0.5, 2, True, None, None, ""),
        (None, None, math.inf, 0.25, None, None, 7, ""),
        *(("b" * n, -n, 0.0, n, n % 3 == 0, None, None, "") for n in range(20)),
    ]
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    wanted = pyarrow.table({name: [row[name] for row in table] for name in columns})
    read = parquet.read_table(pyarrow.BufferReader(derived.parquet_bytes(table)))
    assert read.schema == wanted.schema
    assert read.to_pylist() == wanted.to_pylist() == table


def test_without_pyarrow_parquet_is_left_out_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    derived._warn_left_out.cache_clear()
    (tmp_path / "results.parquet").write_text("of an earlier state")
    for _ in range(2):
        derived.write_results(tmp_path, [])
    assert not (tmp_path / "results.parquet").exists()
    assert [record.getMessage() for record in caplog.records] == [
        "results.parquet is left out: it needs the package 'pyarrow', which is not installed: "
        "pip install 'tape-planner[parquet]'"
    ]
