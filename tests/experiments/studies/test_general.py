"""The study of a general model from end to end: what is compared, under which caps; and once with a scripted one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envs.musique.corpus import load_questions
from experiments.harness import register
from experiments.harness.matrix import Options, plugin_of, unopened
from experiments.studies.general import general
from experiments.studies.general.general import (
    CHAINS,
    DESK,
    METHODS,
    OTHERS,
    READER,
    configurations,
    run,
    was_trained_on,
)
from tape.runner.configurations import Configuration
from tape.tools.typed import TypedEnvironment
from tape.tools.typed.domain import as_typed
from tests.envs.tool_scripts import look_up_script
from tests.experiments.synthetic import public_question

QUESTION = load_questions("dev")[0]


def made(files: dict[str, str | None], limit: int | None = 2) -> list[Configuration]:
    return configurations(CHAINS + OTHERS, files, Options(1, ("smollm2", READER), limit, identify=unopened))


def test_no_model_is_asked_what_the_reader_was_trained_on(tmp_path: Path) -> None:
    file = tmp_path / "public.jsonl"
    file.write_text("".join(json.dumps(public_question(number, "Hall", "Gate")) + "\n" for number in range(20)))
    found = [one for one in made({"musique": str(file)}, 20) if one.spec.options.get("data") == str(file)]
    assert {one.spec.model for one in found} == {"smollm2", READER}
    for one in found:
        assert 2 < len(one.tasks) < 18
        assert not any(was_trained_on(task.id) for task in one.tasks)


def test_all_agents_get_the_same_tasks_and_caps_and_only_ours_what_is_declared() -> None:
    found = made({}, 3)
    for setting in {one.name.split(" / ")[0] for one in found}:
        mine = [one for one in found if one.name.startswith(f"{setting} /")]
        assert len({tuple(task.digest for task in one.tasks) for one in mine}) == 1
        assert len({json.dumps(one.spec.budget) for one in mine}) == 1
    exact = {one.name for one in found if one.spec.config.proposer == "declared"}
    assert exact == {one.name for one in found if "chains of tools" in one.name and one.name.endswith("/ TAPE+")}
    assert {register.test_set(one.spec) for one in found} >= {"desk.json", "tool_chains-test"}


def test_each_task_of_the_desk_has_one_chain_that_fits_and_half_of_them_the_quick_one() -> None:
    tasks = plugin_of("tool_chains").tasks({"data": DESK})
    lengths = []
    for task in tasks:
        env = plugin_of("tool_chains").make(task)
        assert isinstance(env, TypedEnvironment)
        state = as_typed(env.domain.project(env.reset(0))).read(task.facts["own"].want)
        found = env.domain.chains(state, dict(task.budget), 3)
        assert len(found.chains) == 1
        lengths.append(len(found.chains[0].tools))
    assert [lengths.count(2), lengths.count(3)] == [50, 50]


@pytest.mark.slow
def test_it_is_played_published_and_keeps_the_caps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("tape.lm.scripted.open_scripted", lambda _: look_up_script(QUESTION, lambda _: "Ada Quill"))
    arguments = ["--limit", "1", "--others", "--models", "scripted:own", "--out", str(tmp_path / "run"), "--quiet"]
    monkeypatch.setattr(general, "OTHERS", [one for one in OTHERS if one.setting == "MuSiQue, own"])
    assert run([*arguments, "--publish", str(tmp_path / "results")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert len(lines) == len(METHODS)
    assert all(line["result"]["end_state"] != "model_error" for line in lines)
    assert all(line["result"]["used"].get("tokens", 0) <= 8_000 for line in lines)
    report = (tmp_path / "results" / "general_lm_others" / "report.md").read_text()
    assert "How episodes ended" in report
    assert str(tmp_path) not in report
