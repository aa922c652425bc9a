"""Validators against cases of known truth: no false positive where they are deterministic."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.studies.sdp.cases import alfworld, sokoban
from experiments.studies.sdp.validators import as_markdown, measure
from tape.sdp.operators import Check, Verdict
from tests.envs.alfworld.helpers import needs_engine


@pytest.mark.parametrize(
    ("cases", "n", "recall"),
    [
        pytest.param(sokoban, 500, 1.0, id="sokoban, whose whole board is seen"),
        pytest.param(alfworld, 150, 0.8, marks=[needs_engine, pytest.mark.slow], id="alfworld"),
    ],
)
def test_a_deterministic_validator_has_no_false_positive(cases: Any, n: int, recall: float) -> None:
    found = measure(7, n, [cases.__name__.rpartition(".")[2]]).families
    assert {family for _, _, family in found} == {*cases.FAMILIES, "all"}
    for (_, _, family), count in found.items():
        assert count.both == count.found, f"false positives in {family}"
        assert 0 < count.true < count.predicates
        assert count.both >= recall * count.true or (recall < 1 and family != "plain")


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
