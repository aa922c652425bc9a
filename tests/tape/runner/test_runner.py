"""Run directories: resumption, refusal, identical results, what a kill leaves behind."""

import json
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.plugin import PLUGIN
from envs.sokoban.xsb import write
from tape.engine.settings import TapeConfig
from tape.errors import RunDirectoryError, UnknownNameError
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory, differing
from tape.runner.runner import Runner, Watcher, errored, find_episode
from tape.runner.spec import RunSpec
from tape.runner.summary import summarise, table
from tape.runner.workers import InProcess
from tests.tape.helpers import CORRIDOR, ROOM, tiny_lm, without_times
from tests.tape.runner.records import record


def two_levels(folder: Path) -> Path:
    path = folder / "levels.xsb"
    titled = [level.with_start(level.start, title) for level, title in ((CORRIDOR, "one"), (ROOM, "two"))]
    write(path, titled)
    return path


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    return two_levels(tmp_path)


def spec_for(levels: Path, **changes: Any) -> RunSpec:
    base: dict[str, Any] = {
        "environment": "sokoban",
        "options": {"levels": str(levels), "slack": 2},
        "agent": "tape",
        "config": TapeConfig(num_plans=2, temperature=1.0, max_replans=2),
        "model": "tiny",
        "model_identity": "tiny",
        "repeats": 3,
        "batch": 2,
    }
    return RunSpec(**{**base, **changes})


def run(spec: RunSpec, path: Path, watcher: Watcher | None = None) -> list[dict[str, Any]]:
    configurations = [Configuration(spec.label(), spec, tuple(PLUGIN.tasks(spec.options)))]
    return Runner(configurations, RunDirectory(path), InProcess(lambda _: tiny_lm()), watcher).run()


def test_a_run_is_complete_summarised_and_identical_when_repeated(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels)
    groups = run(spec, tmp_path / "a")
    run(spec, tmp_path / "b")
    assert without_times(tmp_path / "a") == without_times(tmp_path / "b")
    [group] = groups
    assert group["episodes"] == 6
    assert sum(group["end_states"].values()) == 6
    assert group["budget_violations"] == 0
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert summary["groups"] == json.loads(json.dumps(groups))
    assert len(list((tmp_path / "a" / "traces").iterdir())) == 6
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert config["versions"]["torch"]
    assert config["cells"]["tape"]["config"]["num_plans"] == 2
    before = (tmp_path / "a" / "episodes.jsonl").read_bytes()
    run(spec, tmp_path / "a")
    assert (tmp_path / "a" / "episodes.jsonl").read_bytes() == before


def test_an_interrupted_run_resumes_to_the_same_episodes(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels)
    run(spec, tmp_path / "whole")

    def stop(line: Any, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", Watcher(finished=stop))
    assert len(without_times(tmp_path / "cut")) == 4
    assert (tmp_path / "cut" / "summary.json").exists()
    # A kill in the middle of a line leaves a torn tail; it is cut and its batch runs again.
    with (tmp_path / "cut" / "episodes.jsonl").open("a") as file:
        file.write('{"schema": 1, "key": "to')
    run(spec, tmp_path / "cut")
    assert without_times(tmp_path / "cut") == without_times(tmp_path / "whole")
    assert {path.suffix for path in (tmp_path / "cut" / "traces").iterdir()} == {".jsonl"}


def test_a_torn_batch_runs_again_as_a_whole_and_leaves_nothing_behind(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels)
    run(spec, tmp_path / "a")
    file = tmp_path / "a" / "episodes.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))
    whole = [json.loads(line)["key"] for line in lines]
    run(spec, tmp_path / "a")
    assert [line["key"] for line in without_times(tmp_path / "a")] == whole
    assert {path.suffix for path in (tmp_path / "a" / "traces").iterdir()} == {".jsonl"}


def test_an_interrupt_inside_a_batch_drops_the_whole_batch(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels)
    count = 0

    def stop(key: str, event: Any) -> None:
        nonlocal count
        count += 1
        if count == 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", Watcher(event=stop))
    kept = RunDirectory(tmp_path / "cut").episodes()
    assert len(kept) % spec.batch == 0
    run(spec, tmp_path / "cut")
    run(spec, tmp_path / "whole")
    assert without_times(tmp_path / "cut") == without_times(tmp_path / "whole")


def test_another_configuration_is_refused_with_the_differing_keys(tmp_path: Path, levels: Path) -> None:
    run(spec_for(levels, repeats=1), tmp_path / "a")
    before = (tmp_path / "a" / "episodes.jsonl").read_bytes()
    other = spec_for(levels, repeats=1, seed=7, config=TapeConfig(num_plans=3, temperature=1.0, max_replans=2))
    with pytest.raises(RunDirectoryError, match=r"config\.num_plans: 2 there, 3 now; seed: 0 there, 7 now"):
        run(other, tmp_path / "a")
    assert (tmp_path / "a" / "episodes.jsonl").read_bytes() == before


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, levels: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep me")
    with pytest.raises(RunDirectoryError, match="not empty"):
        run(spec_for(levels), tmp_path / "notes")
    with pytest.raises(RunDirectoryError, match="is a file"):
        run(spec_for(levels), tmp_path / "notes" / "mine.txt")


def test_a_kill_at_the_very_start_leaves_a_folder_that_can_be_used(tmp_path: Path, levels: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json.partial").write_text('{"sch')
    run(spec_for(levels, repeats=1), tmp_path / "a")
    assert len(RunDirectory(tmp_path / "a").episodes()) == 2


def test_a_run_of_another_schema_is_refused(tmp_path: Path, levels: Path) -> None:
    (tmp_path / "config.json").write_text('{"schema": 1, "run": {}}')
    with pytest.raises(RunDirectoryError, match="schema 1, not 2"):
        run(spec_for(levels), tmp_path)
    (tmp_path / "config.json").write_text('{"schema": 2, "title": "", "cells": {"tape": {"agent": 3}}}')
    with pytest.raises(RunDirectoryError, match="written by another version of the program"):
        RunDirectory(tmp_path).configurations()


def test_keys_depend_on_everything_that_matters_and_seeds_only_on_the_level(levels: Path) -> None:
    [task, other] = PLUGIN.tasks({"levels": str(levels), "slack": 2})
    spec = spec_for(levels)
    changed = [
        spec_for(levels, seed=1),
        spec_for(levels, agent="open_loop"),
        spec_for(levels, model_identity="other"),
        spec_for(levels, budget={"tokens": 5}),
        spec_for(levels, config=TapeConfig()),
        spec_for(levels, prompt_version="other"),
    ]
    keys = {s.episode_key(task, 0) for s in [spec, *changed]} | {spec.episode_key(task, 1), spec.episode_key(other, 0)}
    assert len(keys) == len(changed) + 3
    assert spec_for(levels, repeats=9).episode_key(task, 0) == spec.episode_key(task, 0)
    assert spec_for(levels, agent="open_loop").episode_seed(task, 0) == spec.episode_seed(task, 0)


def test_switches_that_are_younger_than_a_run_do_not_change_it(tmp_path: Path, levels: Path) -> None:
    [task, _] = PLUGIN.tasks({"levels": str(levels), "slack": 2})
    spec = spec_for(levels, config=TapeConfig())
    # Whoever changes this key makes other episodes of all that were played so far: no run is resumed any more.
    assert spec.episode_key(task, 0) == "f6c344f0d61ce9d7"
    answering = spec_for(levels, config=TapeConfig(on_limit="final_answer"))
    assert answering.episode_key(task, 0) != spec.episode_key(task, 0)
    assert spec_for(levels, config=TapeConfig(no_repeat=False)).episode_key(task, 0) == spec.episode_key(task, 0)
    assert spec_for(levels, config=TapeConfig(no_repeat=True)).episode_key(task, 0) != spec.episode_key(task, 0)
    spec = spec_for(levels, repeats=1)
    run(spec, tmp_path / "a")
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    del config["cells"]["tape"]["config"]["on_limit"]
    (tmp_path / "a" / "config.json").write_text(json.dumps(config))
    before = (tmp_path / "a" / "episodes.jsonl").read_bytes()
    run(spec, tmp_path / "a")
    assert (tmp_path / "a" / "episodes.jsonl").read_bytes() == before


def test_a_run_from_before_the_domain_settled_switches_is_not_gone_on_with_but_can_be_repeated(
    tmp_path: Path, levels: Path
) -> None:
    """Earlier versions wrote ``constrained`` and ``partial`` where nobody had said anything."""
    old = spec_for(levels, repeats=1, config=TapeConfig(execution="constrained", on_infeasible="partial"))
    run(old, tmp_path / "a")
    before = (tmp_path / "a" / "episodes.jsonl").read_bytes()
    with pytest.raises(RunDirectoryError, match=r"config\.execution: 'constrained' there, None now; config\.on_infeas"):
        run(spec_for(levels, repeats=1, config=TapeConfig()), tmp_path / "a")
    run(old, tmp_path / "a")
    assert (tmp_path / "a" / "episodes.jsonl").read_bytes() == before


def test_the_simulator_is_said_in_every_output(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels, repeats=1, config=TapeConfig(world_model="simulator", max_replans=1))
    groups = run(spec, tmp_path / "a")
    assert "simulator" in groups[0]["agent"]
    assert "simulator" in table(groups)
    assert "simulator" in RunDirectory(tmp_path / "a").episodes()[0]["agent"]


def test_faults_are_counted_apart() -> None:
    result = {
        "success": False,
        "end_state": "model_error",
        "steps": 0,
        "replans": 0,
        "mismatches": 0,
        "malformed": 0,
        "partial_walk": False,
        "lm_calls": {},
        "prompt_tokens": {},
        "completion_tokens": {},
        "solver_seconds": 0.0,
        "budget_violations": [],
    }
    line = {"cell": "tape", "level_set": "x", "digest": "d", "result": result}
    groups = summarise({"tape": spec_for(Path("x"))}, [line])
    assert errored(groups) == 1


def test_an_episode_is_found_by_number_task_or_key(tmp_path: Path, levels: Path) -> None:
    run(spec_for(levels, repeats=1), tmp_path / "a")
    directory = RunDirectory(tmp_path / "a")
    second = directory.episodes()[1]
    assert find_episode(directory, "2") == find_episode(directory, "two") == find_episode(directory, second["key"])
    with pytest.raises(UnknownNameError, match=r"1 \(one\)"):
        find_episode(directory, "9")


def test_differing_keys_are_dotted() -> None:
    assert differing({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2, "d": 4}) == [("a.b", 1, 3), ("d", None, 4)]


def test_a_level_file_that_has_changed_is_another_run(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels, repeats=1)
    run(spec, tmp_path / "a")
    before = (tmp_path / "a" / "episodes.jsonl").read_bytes()
    write(levels, [ROOM])
    with pytest.raises(RunDirectoryError, match="tasks_digest"):
        run(spec, tmp_path / "a")
    assert (tmp_path / "a" / "episodes.jsonl").read_bytes() == before


def test_only_committed_episodes_have_a_trace(tmp_path: Path, levels: Path) -> None:
    stopped = []

    def stop(key: str, event: Any) -> None:
        if event.type == "finished" and not stopped:  # Ctrl-C is pressed once, and not while it is dealt with
            stopped.append(key)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec_for(levels), tmp_path / "cut", Watcher(event=stop))
    assert not list((tmp_path / "cut" / "traces").iterdir())


def test_one_run_directory_is_used_by_one_process_at_a_time(tmp_path: Path, levels: Path) -> None:
    def intrude(jobs: Any) -> None:
        with pytest.raises(RunDirectoryError, match="another process"):
            run(spec_for(levels), tmp_path / "a")

    run(spec_for(levels, repeats=1), tmp_path / "b", Watcher(started=lambda _: None))
    run(spec_for(levels), tmp_path / "a", Watcher(started=intrude))


def test_odd_characters_survive_the_episode_file(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    (tmp_path / "traces").mkdir()
    directory.append([record(task="a\u2028b\x85\ud800")], {"k": ""})
    [read] = directory.episodes()
    assert read["task"] == "a\u2028b\x85\\ud800", "half a surrogate pair is no text and is written as its escape"


def test_episodes_are_numbered_before_they_are_named(tmp_path: Path) -> None:
    path = tmp_path / "levels.xsb"
    write(path, [ROOM.with_start(ROOM.start, "2"), CORRIDOR.with_start(CORRIDOR.start, "1")])
    run(spec_for(path, repeats=1), tmp_path / "a")
    assert find_episode(RunDirectory(tmp_path / "a"), "2")["task"] == "1"
