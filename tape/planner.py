"""Planning: sample, predict, fold, annotate, select, and extend the graph (TAPE section 3, algorithm 1 lines 4-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tape.agents.base import Episode, EpisodeEnded
from tape.agents.moves import sample_plans, sample_plans_from
from tape.alternatives import add_variants, possible
from tape.budget import Budget, Ledger
from tape.errors import BudgetExceededError
from tape.frontier import Frontier, frontier
from tape.graph import GOAL_SCORE, HOPELESS, PlanGraph
from tape.likelihood import Likelihood, Walk
from tape.lm.base import FREE
from tape.memory import Memory, RememberingWorldModel
from tape.predicates import KnowsGoal, map_plain
from tape.protocols import (
    Action,
    DeclaredDomain,
    Plan,
    PlannedActor,
    Proposer,
    Score,
    Scorer,
    Selector,
    State,
    WorldModel,
)
from tape.resources import Resources
from tape.roles.projector import LmProjector
from tape.selection import Planned, WalkSelection, most_moves
from tape.trace import GraphFoldedEvent

_END = 1e-4
"""Weight of the mean score of an open end: no number of stays there outweighs one at a goal (below 10,000 moves)."""

_DEPTH = 1e-7
"""Weight of a step towards an end that cannot be paid for as far as is known."""

_PAID = {"calls", "tokens", "usd"}
"""The kinds that model calls use."""


class Planner:
    """Runs the planning half of algorithm 1 for one episode.

    Args:
        episode: The episode.
        proposer: Samples plans.
        world_model: Predicts transitions.
        scorer: Scores nodes.
        actor: Its worst case is part of every edge's cost.
        selector: Picks the walk.
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
    ) -> None:
        self._episode = episode
        self._proposer, self._world_model, self._scorer, self._actor = proposer, world_model, scorer, actor
        self._projector = LmProjector(episode.roles)
        self._likelihood = Likelihood(episode.roles)
        self._selection = WalkSelection(episode, selector, self._call_cost)
        self.memory = Memory()
        self._rounds = 0
        self._plans: list[Plan] = []

    async def plan(self) -> Planned:
        """Plan from the current state; samples again while no walk is feasible.

        Raises:
            EpisodeEnded: ``infeasible``, ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: A planning call does not fit the budget.
        """
        config, select = self._episode.config, self._selection.select
        self._episode.require_affordable_action()
        graph, planned = PlanGraph(), None
        for attempt in range(config.resample + 1):
            graph = await self._build(attempt)
            graph, planned = await self._extend(graph, await select(graph), attempt)
            if planned is not None:
                break
        if planned is None and config.on_infeasible == "partial":
            planned = await select(graph, any_end=True)
            if planned is None and config.probe and not isinstance(self._episode.env.domain, DeclaredDomain):
                planned = self._selection.probe(graph, self._plans, self.memory)
        self._rounds += 1
        if planned is None:
            raise EpisodeEnded("infeasible", "no walk keeps the remaining budget")
        return planned

    async def reselect(self, planned: Planned) -> Planned | None:
        """The best walk from the current node of a graph that is there already, with what is left now.

        None where the walk in hand is to be kept: the model selects, what is left is reserved for planning, there is
        no walk any more, or only one without a goal where there was one with.

        Raises:
            BudgetExceededError: The episode's time is up.
        """
        episode = self._episode
        left, reserve = episode.remaining(), episode.config.planning_reserve
        short = any(left.get(kind, count) < count for kind, count in reserve.items())
        if episode.config.selector != "solver" or short:
            return None
        try:
            found = await self._selection.select(planned.graph)
        except EpisodeEnded:
            return None  # the solver gave up, as the trace says; the walk in hand is still feasible
        return None if found is None or (planned.at_goal and not found.at_goal) else found

    async def _build(self, attempt: int) -> PlanGraph:
        """Sample, predict, fold and annotate."""
        episode, domain = self._episode, self._episode.env.domain
        count = episode.config.num_plans
        self._plans = await sample_plans(episode, self._proposer, count, self._rounds, attempt)
        graph = PlanGraph(domain.key, domain.render)
        graph.add_state(episode.state)
        await self._fold(graph, [(episode.state, plan) for plan in self._plans])
        return graph

    async def _extend(
        self, graph: PlanGraph, planned: Planned | None, attempt: int
    ) -> tuple[PlanGraph, Planned | None]:
        """Sample further plans from inside the graph while the best walk does not end at a predicted goal.

        The model plans on from states that the world model has worked out, so it need not keep track of them
        over a long plan, and what it gets wrong costs tokens but no steps.

        Args:
            graph: The annotated graph.
            planned: Its best walk, or None.
            attempt: Part of the seed.

        Returns:
            The extended graph and its best walk.
        """
        episode, config = self._episode, self._episode.config
        start = episode.env.domain.key(episode.state)
        # The LM as selector picks among the plans sampled from the start, and asks for no goal.
        left = config.extend if config.selector == "solver" else 0
        if isinstance(episode.env.domain, DeclaredDomain) and any(graph.attributes(n)["goal"] for n in graph.nodes):
            left = 0  # there are ends: if none can be paid for, plans from further on cannot either
        planned_from = {start}
        while left > 0 and not (planned and planned.at_goal):
            nodes = frontier(graph, start, self._selection.remaining(), planned_from)[: min(left, config.num_plans)]
            if not nodes:
                break
            left -= len(nodes)
            planned_from |= {found.node for found in nodes}
            seed = episode.seed_for("extend", self._rounds, attempt, left)
            spare = Ledger(self._spare(planned), episode.ledger, name="planning")
            try:
                with episode.roles.lm.within(spare):
                    graph = await self._grow(graph.copy(), nodes, seed)
            except BudgetExceededError as error:
                if error is not spare.refused:
                    raise  # the run's budget or the time: no reason to act on the walk in hand
                break  # the refusal is in the trace; the graph and the walk are still what they were
            planned = await self._selection.select(graph) or planned
        return graph, planned

    def _spare(self, planned: Planned | None) -> Budget:
        """What calls may use without touching what the walk in hand needs."""
        left = self._selection.remaining()
        walk = dict(zip(sorted(left), planned.solution.consumption, strict=False)) if planned else {}
        return Budget({kind: count - walk.get(kind, 0) for kind, count in left.items() if kind in _PAID})

    async def _grow(self, graph: PlanGraph, nodes: Sequence[Frontier], seed: int) -> PlanGraph:
        """Sample one plan from each of some nodes and fold it in; returns the graph."""
        starts = [(graph.state(found.node), found.remaining) for found in nodes]
        sampled = await sample_plans_from(self._episode, self._proposer, starts, 1, seed)
        await self._fold(graph, [(state, plan) for (state, _), [plan] in zip(starts, sampled, strict=True)])
        return graph

    async def _fold(self, graph: PlanGraph, items: Sequence[tuple[State, Plan]]) -> None:
        """Roll plans out, fold each up to its first invalid action, add what was observed, annotate and log."""
        domain = self._episode.env.domain
        varied = isinstance(domain, DeclaredDomain) and self._episode.config.selector == "solver"
        if isinstance(domain, DeclaredDomain) and varied:
            items = [(s, replace(plan, actions=tuple(possible(domain, s, plan.actions)))) for s, plan in items]
        predicted = await self._world().rollout([(state, plan.actions) for state, plan in items])
        walks: dict[str, tuple[State, list[Walk]]] = {}
        for (state, plan), predictions in zip(items, predicted, strict=True):
            # Only the last prediction of a rollout can be invalid.
            valid = [prediction for prediction in predictions if prediction.state is not None]
            states = [state, *(prediction.state for prediction in valid)]
            taken = plan.actions[: len(valid)]
            if isinstance(domain, DeclaredDomain) and varied:
                add_variants(graph, domain, state, taken)
            nodes = graph.fold(map_plain(domain, states), taken, [prediction.confidence for prediction in valid])
            walks.setdefault(nodes[0], (state, []))[1].append((taken, nodes))
        for state, theirs in walks.values():
            await self._likelihood.weigh(graph, state, theirs)
        if domain.deterministic:
            for transition in self.memory.transitions:
                graph.certify(*transition)
            for prediction in self.memory.refuted:
                graph.refute(*prediction)
        start = domain.key(self._episode.state)
        await self._annotate(graph, start)
        self._episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))

    def _world(self) -> WorldModel:
        if not self._episode.env.domain.deterministic:
            return self._world_model
        return RememberingWorldModel(self._world_model, self.memory, self._episode.env.domain.key)

    async def _annotate(self, graph: PlanGraph, start: str) -> None:
        """Put worst-case costs on edges and rewards on nodes (AnnotateGraph)."""
        domain, remaining = self._episode.env.domain, self._episode.remaining()
        for edge in graph.edges():
            graph.set_cost(edge.id, domain.cost(graph.state(edge.source), edge.action))
        # The actor is shown the rest of the walk, so its call may be as long as the longest walk that can be paid.
        moves = most_moves(graph, remaining)
        longest = max((edge.action for edge in graph.edges()), key=len, default="")
        sources = dict.fromkeys(edge.source for edge in graph.edges())
        calls = {node: self._actor_cost(graph.state(node), remaining, [longest] * moves) for node in sources}
        taken_in = {edge.action: graph.state(edge.source) for edge in graph.edges()}
        readings = {action: self._reading_cost(state, action) for action, state in taken_in.items()}
        for edge in graph.edges():
            graph.set_cost(edge.id, edge.cost + calls[edge.source] + readings[edge.action])
        # Every edge has its cost before the scorer is asked, whose call may be refused.
        if isinstance(domain, DeclaredDomain):
            await self._grade(graph, domain, remaining)
            return
        nodes = graph.nodes
        scores = await self._scorer.score([graph.state(node) for node in nodes], remaining)
        # The environment has not called these states a success, whatever the model thinks of them.
        visited = {start, *(domain.key(after) for _, _, after in self.memory.transitions)}
        for node, score in zip(nodes, scores, strict=True):
            end = bool(graph.attributes(node)["plan_end"])
            reward = self._reward(score, end=end, visited=node in visited)
            goal: bool | None = None
            if isinstance(domain, KnowsGoal):
                goal = node not in visited and domain.satisfied(graph.state(node))
                reward = 1.0 if goal else min(reward, 0.0)
            graph.set_reward(node, reward * graph.attributes(node).get("likelihood", 1.0), goal=goal)

    async def _grade(self, graph: PlanGraph, domain: DeclaredDomain, remaining: Mapping[str, int]) -> None:
        """Put rewards on the ends of a declared domain, where all that counts is what a walk ends with.

        No other node is an end of a walk. Where no end can be paid for, a partial walk goes as far as it can.
        """
        depths = graph.depths(domain.key(self._episode.state))
        ends = [node for node in graph.nodes if domain.is_end(graph.state(node))]
        for node in set(graph.nodes) - set(ends):
            graph.no_end(node)
            graph.set_reward(node, _DEPTH * depths.get(node, 0), goal=False)
        scores = await self._scorer.score([graph.state(node) for node in ends], remaining)
        for node, score in zip(ends, scores, strict=True):
            mode = self._episode.config.score
            reward = score.likely if mode == "argmax" else score.mean
            if mode == "ends":
                reward *= graph.attributes(node)["support"] / len(graph.plans)
            graph.set_reward(node, max(reward, _END), goal=True)

    def _reward(self, score: Score, *, end: bool, visited: bool) -> float:
        """A node's reward, as ``AgentConfig.score`` says."""
        mode = self._episode.config.score
        reward = score.mean if mode == "expected" else score.likely
        if visited:
            return min(reward, 0.0)
        if mode == "ends" and end and HOPELESS < reward < GOAL_SCORE:
            # Never below 0: else a walk would spend the budget on putting off its end.
            return _END * max(score.mean, 0.0)
        return reward

    def _call_cost(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The worst case of the actor's call and of reading what it brings."""
        reading = self._reading_cost(state, plan[0]) if plan else Resources()
        return self._actor_cost(state, remaining, plan) + reading

    def _actor_cost(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        return self._actor.worst_case(state, remaining, plan) if self._calls_are_paid() else Resources()

    def _reading_cost(self, state: State, action: Action) -> Resources:
        return self._projector.worst_case(state, action) if self._calls_are_paid() else Resources()

    def _calls_are_paid(self) -> bool:
        """Whether a cap concerns model calls; else their tokens need not be counted."""
        paid = _PAID - {"usd"} if self._episode.roles.lm.price == FREE else _PAID
        return bool(paid & set(self._episode.remaining()))
