"""SamplePlans (TAPE algorithm 1, line 4): the LM writes whole plans, also from inside the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from tape.budget import Resources
from tape.choice.graph import HOPELESS, PlanGraph
from tape.engine.context import RoleContext
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.unseen import Weigher
from tape.lm.base import Completion, Request
from tape.protocols import Plan, Proposer, State
from tape.seeds import derive
from tape.trace import PlansSampledEvent


async def sample_plans(
    episode: Episode, proposer: Proposer, count: int, planning_round: int = 0, attempt: int = 0
) -> list[Plan]:
    """Sample plans from the current state and log them.

    ``planning_round`` and ``attempt`` are part of the seed, so all agents draw the same plans in the same round.
    """
    seed = episode.seed_for("plans", planning_round, attempt)
    [plans] = await sample_plans_from(episode, proposer, [(episode.state, episode.remaining())], count, seed)
    episode.result.plans += len(plans)
    episode.result.distinct_plans += len({plan.actions for plan in plans})
    return plans


async def sample_plans_from(
    episode: Episode, proposer: Proposer, starts: Sequence[tuple[State, Mapping[str, int]]], count: int, seed: int
) -> list[list[Plan]]:
    """Sample ``count`` plans from each state and the budget that remains there, and log them."""
    sampled = await proposer.propose(starts, count, seed)
    for (state, _), plans in zip(starts, sampled, strict=True):
        event = PlansSampledEvent(
            start=episode.key(state), plans=[list(plan.actions) for plan in plans], valid=[plan.valid for plan in plans]
        )
        episode.trace.write(event)
    return sampled


def recovered(episode: Episode, plan: Plan) -> list[Plan]:
    """A plan from the current state as it can begin here: without the no-ops at its beginning.

    Where its first action lacks a precondition for which the domain declares establishing actions, the plan that begins
    with these comes in too, and the solver chooses [ours].
    """
    plan = replace(plan, actions=tuple(dropwhile(episode.is_no_op, plan.actions)) or plan.actions)
    domain, state = episode.env.domain.predicates, episode.state
    if domain is None or not episode.hooks.uncertain or not plan.actions:
        return [plan]
    known, needs = domain.ground(state), domain.preconditions(plan.actions[0])
    ways = [domain.establishing(state, p, value) for p, value in needs.items() if known.get(p) is (not value)]
    return [plan, *(replace(plan, actions=(*way, *plan.actions)) for way in ways if way)]


def require_read(episode: Episode, plans: Sequence[Plan]) -> None:
    """End the episode if plans were sampled and none of them has an action; no budget would change that.

    Raises:
        EpisodeEnded: ``no_plan``.
    """
    if not plans or any(plan.actions for plan in plans):
        return
    malformed = sum(not plan.valid for plan in plans)
    counts = ((malformed, "could not be read"), (len(plans) - malformed, "had no action"))
    raise EpisodeEnded(
        "no_plan",
        f"no sampled plan can be followed: of {len(plans)} sampled after {episode.result.steps} steps "
        f"{' and '.join(f'{count} {what}' for count, what in counts if count)}; try another model or more plans, and "
        "see with `tape probe MODEL ENVIRONMENT` whether the model can plan here",
    )


class LmProposer:
    """Samples plans; one request samples all plans of one start.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
        distinct: Plans of one request are drawn without replacement (:attr:`tape.lm.base.Request.distinct`).
    """

    def __init__(self, context: RoleContext, temperature: float, *, distinct: bool = False) -> None:
        self._context, self._temperature, self._distinct = context, temperature, distinct
        self._weigher = Weigher(context)

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """Sample ``m`` plans from each start: one request a start, or one a plan if each assumes something else.

        Malformed plans keep their readable beginning and are counted.
        """
        requests: list[Request] = []
        owners: list[tuple[int, State]] = []
        for i, (state, remaining) in enumerate(starts):
            own = seed if i == 0 else derive(seed, i)
            assumed = await self._context.domain.hooks.suppose(self._weigher.weigh, state, m, own)
            for k, each in enumerate(assumed or [state]):
                request = self._context.prompt_format.plan_request(each, remaining)
                count, drawn = (1, derive(own, "supposed", k)) if assumed else (m, own)
                sampled = replace(request, n=count, temperature=self._temperature, seed=drawn)
                requests.append(replace(sampled, distinct=self._distinct))
                owners.append((i, each))
        plans: list[list[Plan]] = [[] for _ in starts]
        for (i, state), completion in zip(owners, await self._context.lm.generate(requests), strict=True):
            plans[i] += self._read(state, completion)
        return plans

    def _read(self, state: State, completion: Completion) -> list[Plan]:
        plans = []
        for text, finish in zip(completion.texts, completion.finish, strict=True):
            plan = self._context.prompt_format.read_plan(state, text)
            if finish == "length":
                plan = replace(plan, valid=False)
            if not plan.valid:
                self._context.count_malformed("plan", text)
            plans.append(plan)
        return plans


@dataclass(frozen=True)
class FrontierNode:
    """A node to plan from.

    Attributes:
        node: Its key.
        remaining: Counts of each capped resource left after the shortest path to it.
    """

    node: str
    remaining: Mapping[str, int]


def frontier(
    graph: PlanGraph, start: str, remaining: Mapping[str, int], planned_from: Collection[str]
) -> list[FrontierNode]:
    """The nodes to plan from, nearest first; equally near nodes in the order of their appearance.

    The budget left at a node is that of the path with the fewest moves. Nodes scored as goal or as hopeless, those in
    ``planned_from``, and nodes at which not even the cheapest edge of the graph is affordable are left out.
    """
    edges = graph.usable_edges()
    cheapest = {kind: min((edge.cost[kind] or 0 for edge in edges), default=0) for kind in remaining}
    out: dict[str, list[tuple[str, Resources]]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append((edge.target, edge.cost))
    reached = {start: FrontierNode(start, dict(remaining))}
    queue = [start]
    for node in queue:  # grows while it is read: breadth first
        here = reached[node]
        if graph.attributes(node)["goal"]:
            continue
        for target, cost in out.get(node, ()):
            left = {kind: count - (cost[kind] or 0) for kind, count in here.remaining.items()}
            if target not in reached and min(left.values(), default=0) >= 0:
                reached[target] = FrontierNode(target, left)
                queue.append(target)
    return [
        frontier_node
        for node, frontier_node in reached.items()
        if node not in planned_from
        and not graph.attributes(node)["goal"]
        and graph.attributes(node)["reward"] > HOPELESS
        and all(frontier_node.remaining[kind] >= count for kind, count in cheapest.items())
    ]
