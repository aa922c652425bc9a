"""Which plans are sampled, distinct ones if configured, and how results count them."""

from __future__ import annotations

import asyncio

import pytest

from envs.sokoban import SokobanEnvironment
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger
from tape.engine.context import RoleContext
from tape.engine.episode import EpisodeEnded
from tape.engine.sample import LmProposer, require_read
from tape.lm.accounting import AccountedLM
from tape.lm.batching import EpisodeBatch
from tape.protocols import Plan
from tape.protocols.result import EpisodeResult
from tape.trace import GraphFoldedEvent, PlansSampledEvent, TraceWriter
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play, tiny_lm

START = (SokobanEnvironment(ROOM, 6).domain.project(SokobanEnvironment(ROOM, 6).reset(0)), {"steps": 6})


def proposed(m: int, *, distinct: bool, starts: int = 1, seed: int = 1) -> list[list[Plan]]:
    env = SokobanEnvironment(ROOM, 6)
    lm = AccountedLM(tiny_lm(), Ledger(Budget({})))
    roles = RoleContext(lm, env.prompt_format("compact"), env.domain, TraceWriter("test"))
    return asyncio.run(LmProposer(roles, 0.3, distinct=distinct).propose([START] * starts, m, seed))


def test_distinct_plans_are_distinct_from_each_of_several_starts() -> None:
    all_plans = proposed(6, distinct=True, starts=3)
    assert [len({plan.actions for plan in plans}) for plans in all_plans] == [6, 6, 6]
    assert all_plans[0] != all_plans[1] != all_plans[2]  # each start has a seed of its own
    assert proposed(6, distinct=True, starts=3) == all_plans
    assert proposed(6, distinct=True)[0] == all_plans[0]
    assert proposed(6, distinct=True, seed=2)[0] != all_plans[0]


def test_one_plan_a_start_is_drawn_as_ever() -> None:
    # The baselines sample one plan, and so does the extension of a plan graph from each of its nodes.
    assert proposed(1, distinct=True, starts=4) == proposed(1, distinct=False, starts=4)


def test_an_agent_that_samples_distinct_plans_keeps_its_budget_and_counts_them() -> None:
    for sampling in ("distinct", "independent"):
        result, events = play(
            ROOM, 6, model=tiny_lm(), ablations={"sampling": sampling}, seed=4, budget=Budget({"tokens": 3000})
        )
        assert result.budget_violations == []
        assert 0 < result.used["tokens"] <= 3000
        rounds = [event.plans for event in events if isinstance(event, PlansSampledEvent) and len(event.plans) > 1]
        assert result.plans == sum(map(len, rounds)) == 4 * len(rounds)
        assert result.distinct_plans == sum(len({tuple(plan) for plan in plans}) for plans in rounds)
        assert (result.distinct_plans == result.plans) == (sampling == "distinct")


def test_episodes_beside_it_change_no_plan() -> None:
    async def both() -> list[PlansSampledEvent]:
        batch = EpisodeBatch(tiny_lm(), 2)
        agent = TapeAgent(tiny_lm(), ablations={"sampling": "distinct"}, max_replans=0)
        traces = [TraceWriter("one"), TraceWriter("two")]

        async def one(index: int) -> None:
            try:
                await agent.arun(
                    SokobanEnvironment(ROOM, 6), seed=7 + index, trace=traces[index], model=batch.slot(index)
                )
            finally:
                await batch.leave()

        await asyncio.gather(one(0), one(1))
        await batch.close()
        return [next(event for event in trace.events if isinstance(event, PlansSampledEvent)) for trace in traces]

    for seed, event in zip((7, 8), asyncio.run(both()), strict=True):
        _, events = play(ROOM, 6, model=tiny_lm(), ablations={"sampling": "distinct"}, max_replans=0, seed=seed)
        assert (
            next(sampled_event for sampled_event in events if isinstance(sampled_event, PlansSampledEvent)).plans
            == event.plans
        )


def test_nodes_that_different_plans_pass_through_are_counted() -> None:
    plans = [" R R R", " R R L", " R R R", " R R R"]  # CORRIDOR is solved by three moves to the right
    result, events = play(CORRIDOR, 4, model=SimulatedModel(CORRIDOR, plans=plans))
    assert (result.plans, result.distinct_plans) == (4, 2)
    assert sum(isinstance(event, GraphFoldedEvent) for event in events) == 1
    assert result.shared_nodes == 2
    alone, _ = play(CORRIDOR, 4, model=SimulatedModel(CORRIDOR, plans=[" R R R"]))
    assert (alone.distinct_plans, alone.shared_nodes) == (1, 0)
    single, _ = play(CORRIDOR, 4, agent=OpenLoopAgent)
    assert (single.plans, single.distinct_plans, single.shared_nodes) == (1, 1, 0)


@pytest.mark.parametrize(
    ("plans", "text"),
    [
        ([Plan((), valid=False), Plan(())], "2 sampled after 0 steps 1 could not be read and 1 had no action; try"),
        ([Plan(()), Plan(())], "of 2 sampled after 0 steps 2 had no action; try another model or more plans"),
        ([Plan((), valid=False)], "of 1 sampled after 0 steps 1 could not be read; try"),
    ],
)
def test_plans_without_an_action_are_counted_in_a_message_with_advice(plans: list[Plan], text: str) -> None:
    class Reading:
        result = EpisodeResult(end_state="", success=False)

    with pytest.raises(EpisodeEnded) as ended:
        require_read(Reading(), plans)  # type: ignore[arg-type]
    assert ended.value.end_state == "no_plan"
    assert text in ended.value.detail
    assert "tape probe MODEL ENVIRONMENT" in ended.value.detail
    for others in ([], [*plans, Plan(("R",))]):
        require_read(Reading(), others)  # type: ignore[arg-type]
