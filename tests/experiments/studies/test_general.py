"""The study of a general model from end to end: what is compared, under which caps; and once with a bundled model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.harness.matrix import Options, unopened
from experiments.studies.general import general
from experiments.studies.general.general import CAPS, METHODS, READER, SETTINGS, configurations, run, was_trained_on
from tape.runner.configurations import Configuration
from tests.experiments.synthetic import public_question


def made(files: dict[str, str | None], limit: int | None = 2) -> list[Configuration]:
    return configurations(files, Options(1, ("smollm2", READER), limit, identify=unopened))


def test_no_model_is_asked_what_the_reader_was_trained_on(tmp_path: Path) -> None:
    file = tmp_path / "public.jsonl"
    file.write_text("".join(json.dumps(public_question(number, "Hall", "Gate")) + "\n" for number in range(20)))
    found = [one for one in made({"musique": str(file)}, 20) if one.spec.options.get("data")]
    assert {one.spec.model for one in found} == {"smollm2", READER}
    for one in found:
        assert 2 < len(one.tasks) < 18
        assert not any(was_trained_on(task.id) for task in one.tasks)


def test_all_agents_get_the_same_questions_and_caps() -> None:
    found = made({}, 3)
    assert {json.dumps(one.spec.budget) for one in found} == {json.dumps(dict(CAPS))}
    for setting in {one.name.split(" / ")[0] for one in found}:
        tasks = {tuple(task.digest for task in one.tasks) for one in found if one.name.startswith(setting)}
        assert [len(digests) for digests in tasks] == [3]
    assert {one.spec.model for one in found} == {"smollm2", READER}


@pytest.mark.slow
def test_it_is_played_published_and_keeps_the_caps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    arguments = ["--limit", "1", "--models", "bundled:tools", "--out", str(tmp_path / "run"), "--quiet"]
    # The bundled model reads the prompts of MuSiQue, not those of HotpotQA.
    assert run([*arguments, "--out", str(tmp_path / "refused")]) == 2
    assert (tmp_path / "refused" / "episodes.jsonl").read_text() == ""
    monkeypatch.setattr(general, "SETTINGS", [one for one in SETTINGS if one.setting == "MuSiQue, own"])
    assert run([*arguments, "--publish", str(tmp_path / "results")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert len(lines) == len(METHODS)
    assert all(line["result"]["end_state"] != "model_error" for line in lines)
    assert all(line["result"]["used"].get(kind, 0) <= cap for line in lines for kind, cap in CAPS.items())
    report = (tmp_path / "results" / "general_lm" / "report.md").read_text()
    assert "How episodes ended" in report
    assert str(tmp_path) not in report
