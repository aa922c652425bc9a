from __future__ import annotations

import pytest

from envs.gsm_hard.profiles import PROFILES, TIGHTNESSES, budget
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
    assert chosen is not None
    assert not all(chosen[i] == len(profile.variants) - 1 for i in range(operations))
