"""Effects that are made once, where a store pays."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from tape.budget import Claimed, Resources, StorePayer
from tape.budget.claims import ClaimState, Effect, claiming
from tape.budget.stores.memory import MemoryStore
from tape.engine.effects import made_before
from tape.protocols import Environment


@pytest.mark.parametrize(("again", "state"), [(False, "unknown"), (True, "taken")])
def test_a_call_that_was_cancelled_is_not_made_again_by_the_same_payer(again: bool, state: ClaimState) -> None:
    """The first call may have been made: its lease holds for the process that made it too."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    payer = StorePayer(MemoryStore(lambda: now), "org/run", lease=60)

    def stands() -> ClaimState:
        effect = Effect("k", again)
        with claiming(effect):
            payer.settle(payer.reserve(Resources.of(usd="0.01")), Resources())  # how it has ended is not known
        assert effect.claimed is not None
        return effect.claimed.state

    assert stands() == "claimed"
    assert stands() == "busy"
    now += timedelta(seconds=60)
    assert stands() == state


def test_what_a_person_has_decided_needs_no_result() -> None:
    """``store.decide(key, who, why, done=True)`` knows none."""
    effect = Effect("k", claimed=Claimed("k", "done"))
    assert asyncio.run(made_before(cast("Environment", None), "pay('ann')", effect)) == {}
