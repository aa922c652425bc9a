from __future__ import annotations

import pytest

from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.profiles import PROFILES, TIGHTNESSES, budget
from tape.budget import Budget
from tape.tools.variants import best_assignment


@pytest.mark.parametrize("name", sorted(PROFILES))
@pytest.mark.parametrize("operations", range(1, 13))
def test_budgets_leave_something_to_decide(name: str, operations: int) -> None:
    profile = PROFILES[name]
    tight, loose = (budget(profile, operations, tightness) for tightness in TIGHTNESSES)
    assert set(tight) == set(loose) == {kind for variant in profile.variants for kind in variant.worst}
    assert tight["steps"] == loose["steps"] == 2 * operations + 3
    assert tight["seconds"] < loose["seconds"]
    chosen = best_assignment(profile.variants, tight.without("steps"), operations)
    assert not all(chosen[i] == len(profile.variants) - 1 for i in range(operations))


def test_the_formula_by_example() -> None:
    assert budget(PROFILES["priced"], 4, "tight") == Budget.of(steps=11, seconds="1.0", usd="0.012")
    assert budget(PROFILES["priced"], 4, "loose") == Budget.of(steps=11, seconds="3.4", usd="0.065")
    assert budget(PROFILES["paper"], 5, "tight") == Budget.of(steps=13, seconds="2.6")
    assert budget(PROFILES["paper"], 5, "loose") == Budget.of(steps=13, seconds="4.2")
    for operations, tightness, message in ((0, "tight", "at least one operation"), (3, "snug", "tight, loose")):
        with pytest.raises(GsmHardError, match=message):
            budget(PROFILES["paper"], operations, tightness)
