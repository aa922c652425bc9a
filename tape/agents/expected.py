"""Costs as distributions (``costs="expected"``): what actions are expected to take, and whether the rest fits [ours].

Of the paths that are best at several levels of costs the one is taken that is worth most, the reward of its end times
the probability that it fits. Before each step the trace says how likely the rest of the path fits what is left of
every budget. Where not even the least that is declared fits, on any path of the plan graph, this is proven, and known
before anything else is spent on it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from solvers.reach import least_with_reserves
from tape.budget import Resources, Spread, Total, in_units
from tape.budget.spread import total
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.engine.cost import Costs, annotate_edges, overdrawn
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.fold import rule_out
from tape.engine.infeasible import FailedAttempt, known_least
from tape.engine.loop import Planner
from tape.engine.sample import require_read
from tape.engine.select import Path, select_path
from tape.protocols import Action
from tape.trace import ActedEvent, ForecastEvent
from tape.trace.plans import LEVEL, Rest

LEVELS = (2.0, 1.5, 1.0, 0.75, 0.5, 0.25, 0.0)
"""How dear actions are taken to be when a path is selected: 0: their least, 1: their mean, 2: their worst case."""


class ExpectedCosts(Costs):
    """What actions are expected to take in an episode, as declared and as its own steps have shown."""

    counted = ", if every step takes its least"

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode)
        self._read = 0
        self._learned: dict[tuple[str, str], Spread] = {}
        self._priced: dict[tuple[str, Action], tuple[Resources, Resources]] = {}
        """The worst case of an action in a state, and of the model calls that it takes."""

    async def price(self, graph: PlanGraph) -> None:
        """Replace the worst case of every action by its mean, rounded up; model calls keep their worst case."""
        self._learn()
        domain = self._episode.env.domain
        for edge in graph.edges():
            worst = domain.cost(graph.state(edge.source), edge.action)
            calls = Resources({kind: (count or 0) - (worst[kind] or 0) for kind, count in edge.cost.items()})
            self._priced[edge.source, edge.action] = worst, calls
            spreads = self._spreads(edge.action)
            if spreads:
                graph.set_spread(edge.id, {kind: math.ceil(_one(s).deviation) for kind, s in spreads.items()})
        self._set_costs(graph, 1.0)

    def overdrawn(self, rest: Sequence[Edge], *, begun: bool, partial: bool) -> bool:
        """Log whether the rest fits; true if it is proven that the rest of a begun path cannot.

        Of a path that has not begun only the planner decides.
        """
        if overdrawn(self._episode, rest, begun=begun):
            return True
        if partial or not self.knows(rest):
            return False
        forecast = self.forecast(rest)
        if begun and forecast.probability == 0 and self._episode.config.ablations.replan:
            return True
        self._episode.trace.write(forecast)
        return False

    def priced(self, graph: PlanGraph, level: float) -> PlanGraph:
        """A copy of a graph with the costs of one of :data:`LEVELS`."""
        copy = graph.copy()
        self._set_costs(copy, level)
        return copy

    def _set_costs(self, graph: PlanGraph, level: float, *, selected: bool = True) -> None:
        """Set costs; with ``selected`` an action whose worst case does not fit keeps it, so it is never selected."""
        left = self._episode.remaining()
        for edge in graph.edges():
            worst, calls = self._priced[edge.source, edge.action]
            cost = {kind: worst[kind] for kind in worst}
            if not selected or all((worst[kind] or 0) <= count for kind, count in left.items()):
                cost |= {kind: _at_level(spread, level) for kind, spread in self._spreads(edge.action).items()}
            writing = {kind: math.ceil(min(level, 1.0) * (calls[kind] or 0)) for kind in calls}
            graph.set_cost(edge.id, Resources(cost) + Resources(writing))

    def worth(self, graph: PlanGraph, path: Sequence[Edge]) -> float:
        """The reward of the end of a path, if that is positive times the probability that it fits."""
        reward = float(graph.attributes(path[-1].target)["reward"]) if path else 0.0
        return reward * self.forecast(path).probability if reward > 0 else reward

    def missing(self, graph: PlanGraph) -> dict[str, int]:
        """The resources of which not enough is left for any path of a graph, and the least that it takes.

        Every action takes the least that is declared, but its worst case must be left when it is its turn. What is
        found is exact for a single resource (:func:`solvers.reach.least_with_reserves`).
        """
        left, start, low = self._episode.remaining(), self._episode.key(self._episode.state), graph.copy()
        self._set_costs(low, 0.0, selected=False)
        problem, ids = low.path_problem(start, left, 1, objective=graph.objective)
        edges, numbers = [graph.edge(number) for number in ids], {}
        for number, kind in enumerate(problem.resources):
            reserves = [self._priced[edge.source, edge.action][0][kind] or 0 for edge in edges]
            needed = least_with_reserves(problem, number, reserves)
            if needed is not None and needed > left[kind]:
                numbers[kind] = needed
        return numbers

    def forecast(self, path: Sequence[Edge]) -> ForecastEvent:
        """Whether a path fits what is left, for the trace.

        Each action must fit at its worst when it is its turn, so a budget is kept if what comes before leaves that. Of
        these probabilities the least counts, and over the budgets their product, which is careful where calls that take
        much of one resource take much of others.
        """
        self._learn()
        left, rest, chance = self._episode.remaining(), dict[str, Rest](), 1.0
        for kind, count in left.items():
            fits = 1.0
            for place, edge in enumerate(path):
                here = self._total(path[:place], kind)
                worst, calls = self._priced[edge.source, edge.action]
                fits = min(fits, here.below(count - (worst[kind] or 0) - (calls[kind] or 0)))
            whole = self._total(path, kind)
            low, high = whole.interval(LEVEL)
            rest[kind] = Rest(
                mean=whole.mean, deviation=whole.deviation, low=low, high=high, least=whole.least, most=whole.most,
                left=count,
            )  # fmt: skip
            chance *= fits
        certain = all(item.most <= item.left for item in rest.values())
        verdict = "fits" if certain else "open"
        return ForecastEvent(step=self._episode.result.steps, probability=chance, verdict=verdict, rest=rest)

    def knows(self, path: Sequence[Edge]) -> bool:
        """Whether it knows all costs of a path; not of one of unknown outcome."""
        return all((edge.source, edge.action) in self._priced for edge in path)

    def log_proven(self) -> None:
        """Write to the trace that no path of the plan graph fits any more."""
        step = self._episode.result.steps
        self._episode.trace.write(ForecastEvent(step=step, probability=0.0, verdict="nothing_fits", rest={}))

    def _total(self, path: Sequence[Edge], kind: str) -> Total:
        """What the actions of a path take of a resource; model calls take between nothing and their worst case."""
        spreads, counts = dict[str, Spread](), Counter[str]()
        part, least, most = self._episode.env.domain.uncertain_costs, 0, 0
        for edge in path:
            worst, calls = self._priced[edge.source, edge.action]
            spread = self._spreads(edge.action).get(kind)
            most += calls[kind] or 0
            if spread is None or part is None:
                least, most = least + (worst[kind] or 0), most + (worst[kind] or 0)
                continue
            family = part.family(edge.action)
            spreads[family] = spread
            counts[family] += 1
        return total([(spread, counts[family]) for family, spread in spreads.items()], (least, most))

    def _spreads(self, action: Action) -> Mapping[str, Spread]:
        """What is known of an action's uncertain costs."""
        part = self._episode.env.domain.uncertain_costs
        if part is None:
            return {}
        family = part.family(action)
        return {kind: self._learned.get((family, kind), spread) for kind, spread in part.spreads(action).items()}

    def _learn(self) -> None:
        """Take in what the steps of the episode have taken since."""
        part, events = self._episode.env.domain.uncertain_costs, self._episode.trace.events
        for event in events[self._read :] if part is not None else ():
            if part is None or not isinstance(event, ActedEvent):
                continue
            for kind, spread in self._spreads(event.action).items():
                if (amount := event.cost.get(kind)) is not None:
                    self._learned[part.family(event.action), kind] = spread.after(amount)
        self._read = len(events)


class ExpectedPlanner(Planner):
    """Plans with what actions are expected to take (:class:`ExpectedCosts`)."""

    costs: ExpectedCosts

    async def plan(self) -> Path:
        """Plan as :class:`tape.engine.loop.Planner`, and of several paths take the one that is worth most.

        Raises:
            EpisodeEnded: As there; or even the least that every path needs does not fit.
        """
        if self._leads_back() and (step := await self._own_step()) is not None:
            return step
        if (path := await self._plan_in_hand()) is not None:
            return path
        graph, path = await self._plan_round()
        graphs = [graph] if path is not None else [failed.graph for failed in self._failed]
        path = await self._best_expected(graphs)
        if path is None and self._walks_on():
            path = await self._partial_path(graph)
        return self._require_path(path)

    async def _plan_in_hand(self) -> Path | None:
        """Where a step took more than expected, a path on the same graph with what is left now; no model is asked.

        Returns:
            None where the graph does not lead on from here, or plans are to be sampled although none of it fits.

        Raises:
            EpisodeEnded: ``infeasible``: even the least that every path needs does not fit.
        """
        episode, graph, start = self._episode, self.graph, self._episode.key(self._episode.state)
        every_step = episode.config.ablations.replan_every_step
        if every_step or start not in graph.nodes or not graph.leads_to_goal(start):
            return None
        rule_out(graph, episode)
        await annotate_edges(graph, episode, self.calls, self.costs)
        path = await self._best_expected([graph])
        if path is None:
            self._failed = [FailedAttempt.now(episode, graph)]
            if not self._walks_on():
                self._require_path(None)
        return path

    async def _best_expected(self, graphs: Sequence[PlanGraph]) -> Path | None:
        """Of the best paths at several levels of costs the one that is worth most, the surest first.

        Returns:
            None if it is proven that no path of any of the graphs fits, whatever the steps take.
        """
        best, plan_graph = -math.inf, None
        open_ = [graph for graph in graphs if not self.costs.missing(graph)]
        for level, graph in product(LEVELS, open_):
            priced = self.costs.priced(graph, level)
            path = await select_path(self._episode, self._solver, priced, logged=False)
            if path is not None and (worth := self.costs.worth(priced, path.edges)) > best:
                best, plan_graph = worth, priced
        if plan_graph is None:
            start = self._episode.key(self._episode.state)
            if any(graph.leads_to_goal(start) for graph in graphs):  # else it is no budget that is short
                self.costs.log_proven()
            return None
        self._log_graph(plan_graph)
        return await select_path(self._episode, self._solver, plan_graph)

    def _require_path(self, path: Path | None) -> Path:
        if path is not None:
            return path
        require_read(self._episode, self._sampled)
        missing = [self.costs.missing(failed.graph) for failed in self._failed]
        if any(missing):
            raise self._known_least(missing)
        self._failed = [replace(failed, graph=self.costs.priced(failed.graph, 0.0)) for failed in self._failed]
        return super()._require_path(None)

    def _known_least(self, missing: Sequence[Mapping[str, int]]) -> EpisodeEnded:
        """The end of an episode that cannot fit even if every step takes its least; it names the least caps."""
        episode, caps = self._episode, dict[str, int]()
        for kind in sorted({kind for lacking in missing for kind in lacking}):
            limit = min(episode.ledger.limits(kind), key=lambda limit: limit.left)
            least = min(lacking.get(kind, 0) for lacking in missing)
            if least > limit.left:
                caps[kind] = limit.cap + least - limit.left
        left = " and ".join(in_units(kind, episode.remaining()[kind]) for kind in caps) or "what is left"
        needs = " and ".join(in_units(kind, cap) for kind, cap in caps.items()) or "more"
        steps = "1 step" if episode.result.steps == 1 else f"{episode.result.steps} steps"
        text = (
            f"no plan fits into {left} after {steps}: even if every step takes the least that is "
            f"declared, a cap of {needs} at least is needed"
        )
        plans = sum(len(failed.graph.plans) for failed in self._failed)
        return known_least(episode, text, plans, episode.remaining(), caps)


def _at_level(spread: Spread, level: float) -> int:
    mean = _one(spread).mean
    if level <= 1:
        return spread.least + math.ceil(level * (mean - spread.least))
    return min(spread.most, math.ceil(mean + (level - 1) * (spread.most - mean)))


def _one(spread: Spread) -> Total:
    """What one call takes."""
    return total([(spread, 1)])
