"""Sub-agents in parallel under one cap, each with a part of it that the others cannot spend."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tape import Budget, EpisodeResult, Ledger, Resources, TapeAgent
from tape.errors import BudgetExceededError, ConfigError
from tests.tape.agents.cleaning import ARCHIVE, DROP, Cleaning, obedient, planner


def test_each_plans_with_its_own_part_and_what_is_left_goes_back() -> None:
    whole = Ledger(Budget.of(usd="0.04"), name="whole")

    async def work(name: str, usd: str) -> EpisodeResult:
        with whole.earmark(usd=usd, name=name) as part:
            return await TapeAgent(planner(lambda _: ARCHIVE)).arun(Cleaning().environment(), parent=part)

    async def both() -> list[EpisodeResult]:
        return list(await asyncio.gather(work("tight", "0.012"), work("ample", "0.025")))

    tight, ample = asyncio.run(both())
    # The tight one could have taken it from the rest of the whole, and is not let to.
    assert (tight.end_state, tight.steps, ample.end_state) == ("infeasible", 0, "success")
    assert "tight" in tight.detail
    assert whole.used["usd"] == (ample.used["usd"] or 0)
    assert (whole.remaining("usd"), whole.reserved) == (40_000 - ample.used["usd"], Resources())


@pytest.mark.parametrize("greedy", [True, False])
def test_a_sibling_that_would_spend_everything_leaves_a_part_alone(greedy: bool) -> None:
    """Both start at once, in threads; the greedy one has done all it can before the other begins to spend."""
    whole, spent = Ledger(Budget.of(usd="0.04")), threading.Event()

    def greed() -> None:
        try:
            while greedy:
                whole.settle(whole.reserve(Resources.of(usd="0.005")), Resources.of(usd="0.005"))
        except BudgetExceededError:
            pass
        spent.set()

    def careful() -> EpisodeResult:
        with whole.earmark(usd="0.025") as part:
            threads.submit(greed)
            assert spent.wait(60)
            return TapeAgent(planner(lambda _: DROP)).run(Cleaning().environment(), parent=part)

    with ThreadPoolExecutor(2) as threads:
        result = threads.submit(careful).result()
    assert result.success
    assert whole.used["usd"] == (result.used["usd"] or 0) + (15_000 if greedy else 0)


def test_a_part_that_has_not_begun_or_has_ended_is_refused_before_anything_is_spent() -> None:
    whole, model = Ledger(Budget.of(usd="1")), obedient()
    part = whole.earmark(usd="0.5")
    with pytest.raises(ConfigError, match="has not begun"):
        TapeAgent(model).run(Cleaning().environment(), parent=part)
    with part:
        pass
    with pytest.raises(ConfigError, match="has ended"):
        TapeAgent(model).run(Cleaning().environment(), parent=part)
    assert (model.requests, whole.used, whole.reserved) == ([], Resources(), Resources())
