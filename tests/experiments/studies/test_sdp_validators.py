"""Validators against cases of known truth: no false positive where they are deterministic."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.studies.sdp import validators as sdp_validators
from experiments.studies.sdp.cases import alfworld, sokoban
from experiments.studies.sdp.cases.case import Case
from experiments.studies.sdp.validators import Count, as_json, as_markdown, environments, main, measure
from tape.errors import MissingExtraError
from tape.sdp.operators import Check, Verdict
from tests.envs.alfworld.helpers import needs_engine


def test_no_false_positive_on_sokoban() -> None:
    found = measure(7, 500, ["sokoban"]).families
    assert {family for _, _, family in found} == {*sokoban.FAMILIES, "all"}
    for (_, _, family), count in found.items():
        assert count.both == count.found, f"false positives in {family}"
        assert count.both == count.true, "the whole board is seen, so nothing is missed"
        assert 0 < count.true < count.predicates


@needs_engine
@pytest.mark.slow
def test_no_false_positive_in_households() -> None:
    found = measure(7, 150, ["alfworld"]).families
    assert {family for _, _, family in found} == {*alfworld.FAMILIES, "all"}
    for (_, _, family), count in found.items():
        assert count.both == count.found, f"false positives in {family}"
        assert count.true
    [whole] = [count for (_, _, family), count in found.items() if family == "plain"]
    assert whole.both / whole.true > 0.8


@needs_engine
@pytest.mark.soak
def test_no_false_positive_in_many_games() -> None:
    for seed in range(20):
        assert all(count.both == count.found for count in measure(seed, 1000, ["alfworld"]).families.values())


def test_cases_are_the_same_for_the_same_seed() -> None:
    assert sokoban.cases(3, 40) == sokoban.cases(3, 40)
    assert sokoban.cases(3, 40) != sokoban.cases(4, 40)


def test_predicates_are_counted_from_the_head() -> None:
    [case] = sokoban.cases(0, 1)
    count = Count()
    for truth, k in ((1, 3), (2, 1), (0, 0)):
        count.add(Case("plain", case.tail[-1:] * 4, case.outcome, truth), k)
    assert (count.cases, count.predicates, count.found, count.true, count.both) == (3, 12, 4, 3, 2)


def test_a_validator_that_certifies_too_much_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Boaster:
        async def validate(self, tail: Any, outcome: Any) -> Verdict:
            return Verdict(tuple(Check(True, "deterministic") for _ in tail))

    monkeypatch.setattr(sokoban, "validators", lambda: {"boaster": Boaster()})
    measured = measure(0, 50, ["sokoban"])
    row = next(line for line in as_markdown(measured).splitlines() if "boaster | all" in line)
    count = measured.families["sokoban", "boaster", "all"]
    assert row.endswith(f"| {count.found - count.true} |")
    assert count.both == count.true < count.found


def test_what_is_not_installed_is_named_and_the_rest_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(seed: int, n: int) -> list[Case]:
        raise MissingExtraError("pip install 'tape-planner[alfworld]'")

    monkeypatch.setattr(alfworld, "cases", missing)
    assert main(["--count", "20", "--only", "sokoban", "--only", "alfworld", "--out", str(tmp_path)]) == 0
    assert "Not measured: alfworld: pip install" in capsys.readouterr().out
    told = json.loads((tmp_path / "sdp_validators.json").read_text())
    assert {row["environment"] for row in told["rows"]} == {"sokoban"}
    assert list(told["skipped"]) == ["alfworld"]
    assert "sokoban" in (tmp_path / "sdp_validators.md").read_text()
    # What was measured of others before is kept, but for another seed's.
    monkeypatch.setattr(alfworld, "cases", sokoban.cases)
    monkeypatch.setattr(alfworld, "validators", sokoban.validators)
    for seed, there in (("0", {"alfworld", "sokoban"}), ("1", {"alfworld"})):
        assert main(["--count", "10", "--only", "alfworld", "--seed", seed, "--out", str(tmp_path)]) == 0
        rows = json.loads((tmp_path / "sdp_validators.json").read_text())["rows"]
        assert {row["environment"] for row in rows} == there
    (tmp_path / "sdp_validators.json").write_text("[]")
    assert main(["--count", "10", "--only", "alfworld", "--out", str(tmp_path)]) == 2
    assert "was not written by this program" in capsys.readouterr().err


def test_every_environment_offers_cases_and_validators() -> None:
    assert {"alfworld", "sokoban"} <= set(environments())
    assert as_json(measure(0, 1, []))["rows"] == []
    assert sdp_validators.QUICK < sdp_validators.COUNT


def test_the_validator_of_a_case_is_that_of_its_level() -> None:
    [validate] = sokoban.validators().values()
    for case in sokoban.cases(1, 30):
        assert asyncio.run(validate.validate(case.tail, case.outcome)).k == case.k
