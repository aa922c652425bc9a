"""What is declared of commands beside the real simulator, on random walks through the train variations."""

from __future__ import annotations

import random

import pytest

from envs.scienceworld.engine import missing
from envs.scienceworld.tasks import all_tasks
from tests.envs.scienceworld.walks import walk

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def walked(task: str, variations: int, steps: int, seed: int) -> int:
    """Walk, and return how many steps were taken."""
    train, count = list(all_tasks()[task].split("train")), 0
    for variation in random.Random(seed).sample(train, min(variations, len(train))):
        for _, contradictions in walk(task, variation, steps, seed):
            assert contradictions == []
            count += 1
    return count


def test_no_declaration_is_contradicted_on_a_short_walk() -> None:
    assert walked("power-component", 1, 12, 0) == 12


@pytest.mark.soak
@pytest.mark.parametrize("task", sorted(all_tasks()))
def test_no_declaration_is_contradicted_on_long_walks(task: str) -> None:
    assert walked(task, 5, 60, 1) > 0
