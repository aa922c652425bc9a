"""Run directories: resumption, refusal, identical results, what a kill leaves behind, and runs whose model fails."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.plugin import PLUGIN
from envs.sokoban.xsb import write
from tape.budget import Budget
from tape.cli.main import main
from tape.engine.settings import TapeConfig
from tape.errors import RunDirectoryError, UnknownNameError
from tape.lm.base import LanguageModel, Request
from tape.lm.scripted import ScriptedLM
from tape.lm.wrapper import WrappedLM
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.runner import Runner, Watcher, errored, find_episode
from tape.runner.spec import RunSpec
from tape.runner.summary import FAULTS, cells, fault_note, remark, score, summarise
from tape.runner.workers import InProcess
from tape.show.progress import PlainDisplay
from tape.trace import read_trace
from tests.tape.helpers import CORRIDOR, ROOM, tiny_lm, without_times
from tests.tape.runner.records import record


def two_levels(folder: Path, *titles: str) -> Path:
    path = folder / "levels.xsb"
    titled = zip((CORRIDOR, ROOM), titles or ("one", "two"), strict=True)
    write(path, [level.with_start(level.start, title) for level, title in titled])
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


def quick_lm() -> ScriptedLM:
    """A model for what does not depend on its answers, which cost nothing."""

    def answer(request: Request, sample: int) -> str:
        query = str(request.prompt).partition(" <")[2]
        if query.startswith("plan"):
            return " R R R"[: 2 + 2 * (sample % 3)]
        if query.startswith("next"):
            return " invalid"
        return " open" if query.startswith("score") else " next: move R action: R"

    return ScriptedLM(answer, prompt_format="compact", identity="tiny")


def run(
    spec: RunSpec, path: Path, watcher: Watcher | None = None, model: Callable[[], LanguageModel] = quick_lm
) -> list[dict[str, Any]]:
    configurations = [Configuration(spec.label(), spec, tuple(PLUGIN.tasks(spec.options)))]
    return Runner(configurations, RunDirectory(path), InProcess(lambda _: model()), watcher).run()


def test_a_run_is_complete_summarised_and_identical_when_repeated(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels)
    groups = run(spec, tmp_path / "a", model=tiny_lm)
    run(spec, tmp_path / "b", model=tiny_lm)
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
    run(spec, tmp_path / "whole", model=tiny_lm)

    def stop(line: Any, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", Watcher(finished=stop), tiny_lm)
    assert len(without_times(tmp_path / "cut")) == 4
    assert (tmp_path / "cut" / "summary.json").exists()
    # A kill in the middle of a line leaves a torn tail; it is cut and its batch runs again.
    with (tmp_path / "cut" / "episodes.jsonl").open("a") as file:
        file.write('{"schema": 1, "key": "to')
    run(spec, tmp_path / "cut", model=tiny_lm)
    assert without_times(tmp_path / "cut") == without_times(tmp_path / "whole")
    assert {path.suffix for path in (tmp_path / "cut" / "traces").iterdir()} == {".jsonl"}


def test_an_interrupt_inside_a_batch_drops_only_what_runs(tmp_path: Path, levels: Path) -> None:
    spec = spec_for(levels)
    ended: list[str] = []

    def stop(key: str, event: Any) -> None:
        if ended and key not in ended:  # the other one goes on
            raise KeyboardInterrupt
        ended.extend([key] if event.type == "finished" else [])

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", Watcher(event=stop))
    [kept] = RunDirectory(tmp_path / "cut").episodes()
    assert [kept["key"]] == ended
    [unfinished] = (tmp_path / "cut" / "unfinished").iterdir()
    assert {event.type for event in read_trace(unfinished)} >= {"started", "generated"}
    run(spec, tmp_path / "cut")
    run(spec, tmp_path / "whole")
    assert without_times(tmp_path / "cut") == without_times(tmp_path / "whole")
    assert not (tmp_path / "cut" / "unfinished").exists()


def test_an_episode_that_is_played_alone_goes_on_from_the_answers_that_it_has(tmp_path: Path, levels: Path) -> None:
    spec, asked, acted = spec_for(levels, batch=1), [0], [0]

    class Counted(WrappedLM):
        async def generate(self, requests: Any) -> Any:
            asked[0] += len(requests)
            return await self._model.generate(requests)

        async def score_options(self, requests: Any) -> Any:
            asked[0] += len(requests)
            return await self._model.score_options(requests)

    def play(name: str, stops: int | None = None) -> None:
        def event(_: str, event: Any) -> None:
            acted[0] += event.type == "acted"
            if acted[0] == stops:
                raise KeyboardInterrupt

        acted[0] = 0
        configurations = [Configuration(spec.label(), spec, tuple(PLUGIN.tasks(spec.options)))]
        workers = InProcess(lambda _: Counted(tiny_lm()))
        Runner(configurations, RunDirectory(tmp_path / name), workers, Watcher(event=event)).run()

    play("whole")
    whole, asked[0] = asked[0], 0
    for stops in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            play("cut", stops)
    play("cut")
    assert without_times(tmp_path / "cut") == without_times(tmp_path / "whole")
    assert asked[0] == whole


def test_another_configuration_is_refused_with_the_differing_keys(tmp_path: Path, levels: Path) -> None:
    run(spec_for(levels, repeats=1), tmp_path / "a")
    before = (tmp_path / "a" / "episodes.jsonl").read_bytes()
    config = TapeConfig(num_plans=3, temperature=1.0, max_replans=2, execution="constrained")
    says = r"config\.execution: None there, 'constrained' now; config\.num_plans: 2 there, 3 now; seed: 0 there, 7 now"
    with pytest.raises(RunDirectoryError, match=says):
        run(spec_for(levels, repeats=1, seed=7, config=config), tmp_path / "a")
    write(levels, [ROOM])
    with pytest.raises(RunDirectoryError, match="tasks_digest"):
        run(spec_for(levels, repeats=1), tmp_path / "a")
    assert (tmp_path / "a" / "episodes.jsonl").read_bytes() == before


def test_a_kill_at_the_very_start_leaves_a_folder_that_can_be_used(tmp_path: Path, levels: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json.partial").write_text('{"sch')
    run(spec_for(levels, repeats=1), tmp_path / "a")
    assert len(RunDirectory(tmp_path / "a").episodes()) == 2


def test_a_run_of_another_schema_is_refused(tmp_path: Path, levels: Path) -> None:
    (tmp_path / "config.json").write_text('{"schema": 1, "run": {}}')
    with pytest.raises(RunDirectoryError, match="schema 1, not 2"):
        run(spec_for(levels), tmp_path)
    cells = '"title": "", "cells": {"tape": {"agent": 3}}, "commit": null, "versions": {}'
    (tmp_path / "config.json").write_text(f'{{"schema": 2, {cells}}}')
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


def test_a_switch_changes_a_key_where_it_is_not_the_default(levels: Path) -> None:
    [task, _] = PLUGIN.tasks({"levels": str(levels), "slack": 2})
    key = spec_for(levels, config=TapeConfig(max_replans=10)).episode_key(task, 0)
    for changes, same in (
        ({"no_repeat": False}, True),
        ({"no_repeat": True}, False),
        ({"on_limit": "final_answer"}, False),
    ):
        config = TapeConfig(max_replans=10, **changes)
        assert (spec_for(levels, config=config).episode_key(task, 0) == key) is same


def test_an_episode_is_found_by_number_task_or_key(tmp_path: Path) -> None:
    run(spec_for(two_levels(tmp_path, "2", "one"), repeats=1), tmp_path / "a")
    directory = RunDirectory(tmp_path / "a")
    [episodes, two] = directory.episodes()
    assert find_episode(directory, "1") == find_episode(directory, episodes["key"]) == episodes
    assert find_episode(directory, "one")["task"] == "one"
    assert find_episode(directory, "2") == two, "numbers go before names"
    with pytest.raises(UnknownNameError, match=r"2 \(one\)|1 \(one\)"):
        find_episode(directory, "9")


def test_odd_characters_survive_the_episode_file(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    (tmp_path / "traces").mkdir()
    directory.append([record(task="a\u2028b\x85\ud800")], {"k": ""})
    [read] = directory.episodes()
    assert read["task"] == "a\u2028b\x85\\ud800", "half a surrogate pair is no text and is written as its escape"


GIVEN = {"proposer": "two_frontier", "scorer": "declared", "world_model": "simulator"}


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ([], "tape"),
        (["scorer"], "tape [declared scorer]"),
        (["world_model"], "tape [simulator world model]"),
        (["world_model", "scorer", "proposer"], "tape [two_frontier proposer, declared scorer, simulator world model]"),
    ],
)
def test_roles_taken_from_the_model_by_auto_roles_are_in_the_label_and_in_no_key(names: list[str], label: str) -> None:
    levels = Path("levels.xsb")
    config = TapeConfig.make(**{name: GIVEN[name] for name in names})
    auto = spec_for(levels, config=config, auto_roles=dict.fromkeys(names, "why"))
    chosen, task = spec_for(levels, config=config), Task(id="t", level_set="s", budget=Budget({"steps": 3}), digest="d")
    assert auto.label() == label
    assert chosen.label() == ("tape [simulator world model]" if "world_model" in names else "tape")
    assert chosen.episode_key(task, 0) == auto.episode_key(task, 0)


def ended(*ends: str) -> list[dict[str, Any]]:
    return [
        record(f"k{i}", {"end_state": end, "success": end == "success", "detail": f"why {i}"}, digest=f"d{i}")
        for i, end in enumerate(ends)
    ]


def groups_of(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    config = TapeConfig()
    spec = RunSpec(environment="sokoban", options={}, agent="tape", config=config, model="none", model_identity="none")
    return summarise({"tape": spec}, lines)


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ({"success": 1, "failure": 1}, "1/2 solved"),
        ({"success": 1, "model_error": 2}, "1/3 solved, 2 model_error"),
        ({"success": 1, "no_plan": 1}, "1/2 solved"),
        ({"model_error": 2, "env_error": 1}, "no result: 2 model_error, 1 env_error"),
    ],
)
def test_the_score_counts_faults_apart(ends: dict[str, int], text: str) -> None:
    assert score(1, ends) == text


def test_a_run_of_faults_has_no_score_and_no_rate() -> None:
    lines, out = ended("model_error", "model_error"), io.StringIO()
    with PlainDisplay("a label", out) as shown:
        for done, line in enumerate(lines, 1):
            shown.watcher().finished(line, done, 2)
    assert out.getvalue().splitlines()[1].endswith("| no result: 2 model_error")
    groups = groups_of(lines)
    assert errored(groups) == 2
    shown = dict(zip(*cells(groups), strict=True))
    assert (shown["success"], shown["95 % interval"], shown["ended"]) == ("-", "-", "2 model_error")
    assert fault_note(groups, lines).startswith("every episode ended by a fault (2 model_error)")
    assert fault_note(groups, lines).endswith("the first: why 0")


def test_end_states_stand_in_the_table_and_unusual_ones_are_explained() -> None:
    lines = ended("no_plan", "success", "no_plan", "solver_error", "budget:steps")
    groups = groups_of(lines)
    shown = dict(zip(*cells(groups), strict=True))
    assert (shown["ended"], shown["success"]) == ("2 no_plan, 1 budget:steps, 1 solver_error, 1 success", "0.20")
    assert "no_plan: no sampled plan could be read, or none had an action." in remark(groups)
    assert "model_error" not in remark(groups)
    assert fault_note(groups, lines) == (
        "of 5 episodes some ended by a fault (1 solver_error), which says nothing about the agent; the first: why 3"
    )
    assert fault_note(groups_of(ended("success")), []) == ""
    assert "no_plan" not in FAULTS, "a plan that cannot be read is the agent's own failure"


def test_the_command_reports_that_no_model_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    model = "openai:x@http://127.0.0.1:9/v1#retries=0"  # no server listens there
    command = ["run", "sokoban", "--model", model, "--limit", "2", "--out", str(tmp_path / "run")]
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "no result: 2 model_error" in printed.out
    assert "0/2 solved" not in printed.out
    assert "tape run: every episode ended by a fault (2 model_error)" in printed.err
    assert "cannot be reached" in printed.err
