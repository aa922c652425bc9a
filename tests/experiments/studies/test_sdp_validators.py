"""Validators against cases of known truth: no false positive where they are deterministic."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.studies.sdp.cases import alfworld, sokoban
from experiments.studies.sdp.validators import as_markdown, measure
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
def test_no_false_positive_in_alfworld() -> None:
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
    assert all(count.both == count.found for count in measure(0, 1000, ["alfworld"]).families.values())


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
