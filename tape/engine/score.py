"""Annotating a plan graph: worst-case costs on its edges, rewards on its nodes (TAPE section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.budget import Resources
from tape.engine.episode import Episode
from tape.engine.graph import GOAL_SCORE, HOPELESS, PlanGraph
from tape.engine.memory import Memory
from tape.engine.project import LmProjector
from tape.engine.scorer import LmCostModel
from tape.engine.select import most_moves
from tape.errors import GraphError
from tape.lm.base import FREE
from tape.protocols import Action, PlannedActor, Score, Scorer, State
from tape.protocols.parts import Outcomes

_END = 1e-4
"""Weight of the mean score of an open end: no number of stays there outweighs one at a goal (below 10,000 moves)."""

_SAVED = 1e-3
"""What all edges of a graph together may take off an end: less than the scores of any two ends differ by."""

_DEPTH = 1e-7
"""Weight of a step towards an end that cannot be paid for as far as is known."""

PAID = {"calls", "tokens", "usd"}
"""The kinds that model calls use."""


class Annotator:
    """Annotates plan graphs.

    Args:
        episode: The episode.
        scorer: Scores nodes.
        actor: Its worst case is part of every edge's cost.
        memory: What was observed.
    """

    def __init__(self, episode: Episode, scorer: Scorer, actor: PlannedActor, memory: Memory) -> None:
        self._episode, self._scorer, self._actor, self._memory = episode, scorer, actor, memory
        self._projector = LmProjector(episode.roles)
        self._costs = LmCostModel(episode.roles) if episode.config.costs == "lm" else None

    async def annotate(self, graph: PlanGraph, start: str) -> None:
        """Put worst-case or predicted costs on edges and rewards on nodes (AnnotateGraph)."""
        domain, remaining = self._episode.env.domain, self._episode.remaining()
        for edge in graph.edges():
            graph.set_cost(edge.id, domain.cost(graph.state(edge.source), edge.action))
        # The actor is shown the rest of the path, so its call may be as long as the longest path that can be paid.
        moves = most_moves(graph, remaining)
        longest = max((edge.action for edge in graph.edges()), key=len, default="")
        sources = dict.fromkeys(edge.source for edge in graph.edges())
        calls = {node: self._actor_cost(graph.state(node), remaining, [longest] * moves) for node in sources}
        taken_in = {edge.action: graph.state(edge.source) for edge in graph.edges()}
        readings = {action: self._reading_cost(state, action) for action, state in taken_in.items()}
        for edge in graph.edges():
            graph.set_cost(edge.id, edge.cost + calls[edge.source] + readings[edge.action])
        # Every edge has its cost before a model is asked, whose call may be refused.
        if self._costs is not None:
            await self._predict(graph, self._costs, remaining)
        if domain.outcomes is not None:
            await self._grade(graph, domain.outcomes, remaining)
            return
        nodes = graph.nodes
        scores = await self._scorer.score([graph.state(node) for node in nodes], remaining)
        # The environment has not called these states a success, whatever the model thinks of them.
        depths = graph.depths(start) if self._episode.config.score == "ends" else {}
        visited = {start, *(self._episode.key(after) for _, _, after in self._memory.transitions)}
        for node, score in zip(nodes, scores, strict=True):
            end = bool(graph.attributes(node)["plan_end"])
            reward = self._reward(score, end=end, visited=node in visited)
            goal: bool | None = None
            if domain.goal_test is not None:
                declared = self._episode.config.goal_test == "declared"
                said = domain.goal_test.satisfied(graph.state(node)) if declared else reward >= GOAL_SCORE
                goal = node not in visited and said
                # Short of the goal only an end is worth anything: a model's steps left would reward going round.
                reward = 1.0 if goal else min(reward, _END if end else 0.0)
                if reward >= 0 and end and not goal and node in depths.keys() - visited and domain.progress is not None:
                    credit = min(max(domain.progress.worth(graph.state(node)), 0.0), 1.0)
                    reward = (reward + _END * (credit + depths[node] / max(depths.values()))) / 3
            reward *= graph.attributes(node).get("likelihood", 1.0)
            graph.set_reward(node, reward, goal=reward >= GOAL_SCORE if goal is None else goal)

    async def _predict(self, graph: PlanGraph, model: LmCostModel, remaining: Mapping[str, int]) -> None:
        """Put what actions are predicted to cost in the place of their worst case; calls keep theirs.

        What does not fit in the worst case can never be executed, so it keeps that and is never selected.
        """
        edges = [e for e in graph.edges() if all((e.cost[kind] or 0) <= left for kind, left in remaining.items())]
        predicted = await model.predict([(graph.state(edge.source), edge.action) for edge in edges], remaining.keys())
        for edge, cost in zip(edges, predicted, strict=True):
            worst = self._episode.env.domain.cost(graph.state(edge.source), edge.action)
            saved = {kind: (worst[kind] or 0) - (cost[kind] or 0) for kind in remaining}
            now = {kind: count and count - saved.get(kind, 0) for kind, count in edge.cost.items()}
            graph.set_cost(edge.id, Resources(now))

    async def _grade(self, graph: PlanGraph, declared: Outcomes, remaining: Mapping[str, int]) -> None:
        """Put rewards on the ends of a declared domain, where all that counts is what a path ends with.

        No other node is an end of a path. Where no end can be paid for, a partial path goes as far as it can.
        """
        depths = graph.depths(self._episode.key(self._episode.state))
        ends = [node for node in graph.nodes if declared.is_end(graph.state(node))]
        domain = self._episode.env.domain
        deepest, progress = max(depths.values()) + 1, domain.progress
        for node in set(graph.nodes) - set(ends):
            graph.no_end(node)
            depth = depths.get(node, 0)
            reward = _DEPTH * depth
            if progress is not None:  # a step further outweighs what a state is worth
                reward = (depth + (1 + progress.worth(graph.state(node))) / 2) / (2 * deepest)
            graph.set_reward(node, reward, goal=False)
        scores = await self._scorer.score([graph.state(node) for node in ends], remaining)
        for node, score in zip(ends, scores, strict=True):
            mode = self._episode.config.score
            reward = score.likely if mode == "argmax" else score.mean
            if mode == "ends":
                reward *= graph.attributes(node)["support"] / len(graph.plans)
            graph.set_reward(node, max(reward, _END), goal=True)
        if domain.saves is not None:
            self._save(graph, domain.saves)

    @staticmethod
    def _save(graph: PlanGraph, kind: str) -> None:
        """Let every edge take off what it may cost of a resource, so that of ends of equal worth the cheapest is best.

        Raises:
            GraphError: What an edge costs of it is not known.
        """
        graph.objective = "save"
        counts = {edge.id: edge.cost[kind] for edge in graph.edges()}
        if None in counts.values():
            unknown = next(edge.action for edge in graph.edges() if counts[edge.id] is None)
            raise GraphError(f"{unknown}: what it costs in {kind} is not known, so the cheapest path is not either")
        weight = _SAVED / (1 + sum(count or 0 for count in counts.values()))
        for number, count in counts.items():
            graph.set_edge_reward(number, -weight * (count or 0))

    def _reward(self, score: Score, *, end: bool, visited: bool) -> float:
        """A node's reward, as ``TapeConfig.score`` says."""
        mode = self._episode.config.score
        reward = score.mean if mode == "expected" else score.likely
        if visited:
            return min(reward, 0.0)
        if mode == "ends" and end and HOPELESS < reward < GOAL_SCORE:
            # Never below 0: else a path would spend the budget on putting off its end.
            return _END * max(score.mean, 0.0)
        return reward

    def call_cost(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The worst case of the actor's call and of reading what it brings."""
        reading = self._reading_cost(state, plan[0]) if plan else Resources()
        return self._actor_cost(state, remaining, plan) + reading

    def _actor_cost(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        return self._actor.worst_case(state, remaining, plan) if self._calls_are_paid() else Resources()

    def _reading_cost(self, state: State, action: Action) -> Resources:
        if not self._calls_are_paid():
            return Resources()
        merger = self._episode.merger
        merging = Resources() if merger is None else merger.worst_case(state)
        return self._projector.worst_case(state, action) + merging

    def _calls_are_paid(self) -> bool:
        """Whether a cap concerns model calls; else their tokens need not be counted."""
        paid = PAID - {"usd"} if self._episode.roles.lm.price == FREE else PAID
        return bool(paid & set(self._episode.remaining()))
