"""Planning: sample, predict, fold, annotate, select, and extend the graph (TAPE section 3, algorithm 1 lines 4-7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tape.budget import Budget, Ledger
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.fold import Frontier, add_variants, frontier, possible
from tape.engine.graph import Edge, PlanGraph
from tape.engine.infeasible import Tried, infeasible
from tape.engine.memory import Memory, RememberingWorldModel
from tape.engine.no_ops import rule_out_no_ops, useful
from tape.engine.score import PAID, Annotator
from tape.engine.select import PathSelection, SelectedPath
from tape.engine.selector import Selector
from tape.engine.steps import require_read, sample_plans, sample_plans_from
from tape.engine.unseen import FoldedPlan, Likelihood
from tape.errors import BudgetExceededError
from tape.protocols import (
    Plan,
    PlannedActor,
    Proposer,
    Scorer,
    State,
    WorldModel,
)
from tape.protocols.domain import map_plain
from tape.trace import GraphFoldedEvent


class Planner:
    """Runs the planning half of algorithm 1 for one episode.

    Args:
        episode: The episode.
        proposer: Samples plans.
        world_model: Predicts transitions.
        scorer: Scores nodes.
        actor: Its worst case is part of every edge's cost.
        selector: Picks the path.
        builder: Says how far the graph grows, where that is not the selector: the solver, so that whoever selects
            does so on the graph that the solver would have had.
    """

    def __init__(
        self,
        episode: Episode,
        *,
        proposer: Proposer,
        world_model: WorldModel,
        scorer: Scorer,
        actor: PlannedActor,
        selector: Selector,
        builder: Selector | None = None,
    ) -> None:
        self._episode = episode
        self._proposer, self._world_model = proposer, world_model
        self._likelihood = Likelihood(episode.roles)
        self.memory = Memory()
        self._annotator = Annotator(episode, scorer, actor, self.memory)
        self.call_cost = self._annotator.call_cost
        self._selection = PathSelection(episode, selector, self.call_cost, builder)
        self.remaining, self.report = self._selection.remaining, self._selection.report
        self._rounds = 0
        self._plans: list[Plan] = []
        self._sampled_plans: list[Plan] = []
        self._tried: list[Tried] = []
        self.graph = PlanGraph()
        """The last plan graph."""

    async def plan(self) -> SelectedPath:
        """Plan from the current state; samples again while no path is feasible.

        Raises:
            EpisodeEnded: ``infeasible``, ``no_plan``, ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: A planning call does not fit the budget.
        """
        config = self._episode.config
        graph, planned = await self._sampled()
        if planned is None and config.on_infeasible == "partial":
            planned = await self._selection.select(graph, any_end=True)
            if planned is None and config.probe and self._episode.env.domain.outcomes is None:
                planned = self._selection.probe(graph, self._plans, self.memory)
        self._rounds += 1
        if planned is None:
            require_read(self._episode, self._sampled_plans)
            raise infeasible(self._episode, self._tried)
        return planned

    async def candidates(self, k: int) -> list[SelectedPath]:
        """Plan like :meth:`plan`, but give the k best paths, best first, and no partial one.

        Raises:
            EpisodeEnded: ``infeasible``, ``no_plan``, ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: A planning call does not fit the budget.
        """
        graph, planned = await self._sampled()
        self._rounds += 1
        if planned is None:
            require_read(self._episode, self._sampled_plans)
            raise infeasible(self._episode, self._tried)
        return self._selection.best(graph, k)

    def next_best(self, selected: SelectedPath, k: int) -> list[SelectedPath]:
        """The k best paths beside a selected one; fewer where there are no more, none beside a partial one.

        Raises:
            EpisodeEnded: ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: The episode's time is up.
        """
        if k == 0 or selected.partial:
            return []
        found = self._selection.best(selected.graph, k + 1)
        mine = [edge.id for edge in selected.path]
        return [other for other in found if [edge.id for edge in other.path] != mine][:k]

    async def refold(self, plans: Sequence[Plan], k: int) -> list[SelectedPath]:
        """Roll plans out from the current state into a fresh graph; its k best paths. Nothing is sampled.

        Raises:
            EpisodeEnded: ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: A planning call does not fit the budget.
        """
        return self._selection.best(await self._folded(plans), k)

    async def _sampled(self) -> tuple[PlanGraph, SelectedPath | None]:
        """Sample plans and fold them, again while no path is feasible; the last graph and its best path."""
        self._episode.require_affordable_action()
        graph, planned = PlanGraph(), None
        self._tried, self._sampled_plans = [], []
        for attempt in range(self._episode.config.resample + 1):
            graph = await self._build(attempt)
            graph, best = await self._extend(graph, await self._selection.best_so_far(graph), attempt)
            planned = await self._selection.settle(graph, best)
            if planned is not None:
                break
            self._tried.append(Tried.now(self._episode, graph, fits=best is not None))
        return graph, planned

    async def reselect(self, planned: SelectedPath) -> SelectedPath | None:
        """The best path from the current node of a graph that is there already, with what is left now.

        None where the path in hand is to be kept: it is a single plan that is not mixed with others, what is left is
        reserved for planning or does not pay for asking a model, there is no path any more, or only one without a goal
        where there was one with.

        Raises:
            BudgetExceededError: The episode's time is up.
        """
        episode = self._episode
        left, reserve = episode.remaining(), episode.config.planning_reserve
        short = any(left.get(kind, count) < count for kind, count in reserve.items())
        if episode.config.selector == "best_plan" or short:
            return None
        here = episode.key(episode.state)
        done = next((moves for moves, edge in enumerate(planned.path, 1) if edge.target == here), 0)
        spare = Ledger(self._spare(planned.path[done:]), episode.ledger, name="planning")
        try:
            with episode.roles.lm.within(spare):  # the solver asks no model
                found = await self._selection.select(planned.graph)
        except BudgetExceededError as error:
            if error is not spare.refused:
                raise
            return None
        except EpisodeEnded:
            return None  # the solver gave up, as the trace says; the path in hand is still feasible
        return None if found is None or (planned.at_goal and not found.at_goal) else found

    async def _build(self, attempt: int) -> PlanGraph:
        """Sample, predict, fold and annotate."""
        count = self._episode.config.num_plans
        sampled = await sample_plans(self._episode, self._proposer, count, self._rounds, attempt)
        self._sampled_plans += sampled
        self._plans = [replace(plan, actions=useful(self._episode, plan.actions)) for plan in sampled]
        graph = await self._folded(self._plans)
        self._episode.result.shared_nodes += _shared_nodes(graph)
        return graph

    async def _folded(self, plans: Sequence[Plan]) -> PlanGraph:
        """A graph of plans from the current state."""
        domain, state = self._episode.env.domain, self._episode.state
        await self._episode.settle([state])
        graph = PlanGraph(self._episode.key, domain.render)
        graph.add_state(state)
        await self._fold(graph, [(state, plan) for plan in plans])
        return graph

    async def _extend(
        self, graph: PlanGraph, planned: SelectedPath | None, attempt: int
    ) -> tuple[PlanGraph, SelectedPath | None]:
        """Sample further plans from inside the graph while the best path does not end at a predicted goal.

        The model plans on from states that the world model has worked out, so it need not keep track of them
        over a long plan, and what it gets wrong costs tokens but no steps.

        Args:
            graph: The annotated graph.
            planned: Its best path, or None.
            attempt: Part of the seed.

        Returns:
            The extended graph and its best path.
        """
        episode, config = self._episode, self._episode.config
        start = episode.key(episode.state)
        left = config.extend
        if episode.env.domain.outcomes is not None and any(graph.attributes(n)["goal"] for n in graph.nodes):
            left = 0  # there are ends: if none can be paid for, plans from further on cannot either
        planned_from = {start}
        while left > 0 and not (planned and planned.at_goal):
            nodes = frontier(graph, start, self._selection.remaining(), planned_from)[: min(left, config.num_plans)]
            if not nodes:
                break
            left -= len(nodes)
            planned_from |= {found.node for found in nodes}
            seed = episode.seed_for("extend", self._rounds, attempt, left)
            spare = Ledger(self._spare(planned.path if planned else ()), episode.ledger, name="planning")
            try:
                with episode.roles.lm.within(spare):
                    graph = await self._grow(graph.copy(), nodes, seed)
            except BudgetExceededError as error:
                if error is not spare.refused:
                    raise  # the run's budget or the time: no reason to act on the path in hand
                break  # the refusal is in the trace; the graph and the path are still what they were
            planned = await self._selection.best_so_far(graph) or planned
        return graph, planned

    def _spare(self, path: Sequence[Edge]) -> Budget:
        """What calls may use without touching what the path in hand needs; nothing where it needs all."""
        needs = {kind: sum(edge.cost[kind] or 0 for edge in path) for kind in PAID}
        left = self._selection.remaining()
        return Budget({kind: max(0, count - needs[kind]) for kind, count in left.items() if kind in PAID})

    async def _grow(self, graph: PlanGraph, nodes: Sequence[Frontier], seed: int) -> PlanGraph:
        """Sample one plan from each of some nodes and fold it in; returns the graph."""
        starts = [(graph.state(found.node), found.remaining) for found in nodes]
        sampled = await sample_plans_from(self._episode, self._proposer, starts, 1, seed)
        await self._fold(graph, [(state, plan) for (state, _), [plan] in zip(starts, sampled, strict=True)])
        return graph

    async def _fold(self, graph: PlanGraph, items: Sequence[tuple[State, Plan]]) -> None:
        """Roll plans out, fold each up to its first invalid action, add what was observed, annotate and log."""
        domain = self._episode.env.domain
        if domain.outcomes is not None:
            declared = domain.outcomes
            items = [(s, replace(plan, actions=tuple(possible(declared, s, plan.actions)))) for s, plan in items]
        predicted = await self._world().rollout([(state, plan.actions) for state, plan in items])
        paths: dict[str, tuple[State, list[FoldedPlan]]] = {}
        reached = [one.state for predictions in predicted for one in predictions if one.state is not None]
        await self._episode.settle(map_plain(domain, [*(state for state, _ in items), *reached]))
        for (state, plan), predictions in zip(items, predicted, strict=True):
            # Only the last prediction of a rollout can be invalid.
            valid = [prediction for prediction in predictions if prediction.state is not None]
            states = [state, *(prediction.state for prediction in valid)]
            taken = plan.actions[: len(valid)]
            if domain.outcomes is not None:
                add_variants(graph, domain.key, domain.outcomes, state, taken)
            nodes = graph.fold(map_plain(domain, states), taken, [prediction.confidence for prediction in valid])
            paths.setdefault(nodes[0], (state, []))[1].append((taken, nodes))
        for state, theirs in paths.values():
            await self._likelihood.weigh(graph, state, theirs)
        if domain.deterministic:
            for transition in self.memory.transitions:
                graph.certify(*transition)
            for prediction in self.memory.refuted:
                graph.refute(*prediction)
        rule_out_no_ops(graph, self._episode)
        if self._episode.refused:
            for edge in graph.edges():
                if edge.action in self._episode.refused:
                    graph.refute(graph.state(edge.source), edge.action, graph.state(edge.target))
        start = self._episode.key(self._episode.state)
        await self._annotator.annotate(graph, start)
        self.graph = graph
        self._episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))

    def _world(self) -> WorldModel:
        if not self._episode.env.domain.deterministic:
            return self._world_model
        return RememberingWorldModel(self._world_model, self.memory, self._episode.env.domain.key)


def _shared_nodes(graph: PlanGraph) -> int:
    """Nodes that two or more different plans of a fresh graph pass through, where they start left out."""
    paths = {plan for plan in graph.plans if plan}
    starts = {graph.edge(plan[0]).source for plan in paths}
    passing = Counter(node for plan in paths for node in {graph.edge(edge).target for edge in plan} - starts)
    return sum(count > 1 for count in passing.values())
