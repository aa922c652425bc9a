"""Planning: sample, predict, fold, annotate, select (TAPE section 3, algorithm 1 lines 4-7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solvers import PathSolution, Status
from tape.agents.base import Episode, EpisodeEnded
from tape.agents.moves import sample_plans
from tape.budget import Resources
from tape.graph import Edge, PlanGraph
from tape.memory import Memory, RememberingWorldModel
from tape.protocols import Action, Plan, PlannedActor, Proposer, Scorer, Selector, State, WorldModel
from tape.trace import GraphFoldedEvent, WalkSelectedEvent


@dataclass(frozen=True)
class Planned:
    """A selected walk.

    Attributes:
        graph: The plan graph.
        walk: Its edges, in order.
        solution: The solver's report.
        partial: The walk does not end at a terminal node.
    """

    graph: PlanGraph
    walk: tuple[Edge, ...]
    solution: PathSolution
    partial: bool


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
        self._proposer, self._world_model, self._scorer = proposer, world_model, scorer
        self._actor, self._selector = actor, selector
        self.memory = Memory()
        self._rounds = 0
        self._plans: list[Plan] = []

    async def plan(self) -> Planned:
        """Plan from the current state; samples again while no walk is feasible.

        Raises:
            EpisodeEnded: ``infeasible``, ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: A planning call does not fit the budget.
        """
        config = self._episode.config
        self._episode.require_affordable_action()
        graph, planned = PlanGraph(), None
        for attempt in range(config.resample + 1):
            graph = await self._build(attempt)
            planned = await self._select(graph)
            if planned is not None:
                break
        if planned is None and config.on_infeasible == "partial":
            planned = await self._select(graph, any_end=True) or (self._probe(graph) if config.probe else None)
        self._rounds += 1
        if planned is None:
            raise EpisodeEnded("infeasible", "no walk keeps the remaining budget")
        return planned

    def remaining(self) -> dict[str, int]:
        """What the selector may spend: the ledger's rest minus the reserve for planning."""
        reserve = self._episode.config.planning_reserve
        spendable = {kind: left - reserve.get(kind, 0) for kind, left in self._episode.remaining().items()}
        for kind, left in spendable.items():
            if left < 0:
                raise EpisodeEnded(f"budget:{kind}", f"only the planning reserve of {reserve[kind]} {kind} is left")
        return spendable

    async def _build(self, attempt: int) -> PlanGraph:
        """Sample, predict, fold and annotate."""
        episode, domain = self._episode, self._episode.env.domain
        state, remaining = episode.state, episode.remaining()
        plans = self._plans = await sample_plans(
            episode, self._proposer, episode.config.num_plans, self._rounds, attempt
        )
        graph = PlanGraph(domain.key, domain.render)
        start = graph.add_state(state)
        await self._fold(graph, state, plans)
        if domain.deterministic:
            for transition in self.memory.transitions:
                graph.certify(*transition)
            for prediction in self.memory.refuted:
                graph.refute(*prediction)
        await self._annotate(graph, start, remaining)
        episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
        return graph

    async def _fold(self, graph: PlanGraph, state: State, plans: Sequence[Plan]) -> None:
        """Roll the plans out and fold each up to its first invalid action."""
        predicted = await self._world().rollout([(state, plan.actions) for plan in plans])
        for plan, predictions in zip(plans, predicted, strict=True):
            states = [state]
            for prediction in predictions:
                if prediction.state is None:
                    break
                states.append(prediction.state)
            graph.fold(states, plan.actions[: len(states) - 1])

    def _world(self) -> WorldModel:
        if not self._episode.env.domain.deterministic:
            return self._world_model
        return RememberingWorldModel(self._world_model, self.memory, self._episode.env.domain.key)

    async def _annotate(self, graph: PlanGraph, start: str, remaining: Mapping[str, int]) -> None:
        """Put rewards on nodes and worst-case costs on edges (AnnotateGraph)."""
        domain = self._episode.env.domain
        nodes = graph.nodes
        scores = await self._scorer.score([graph.state(node) for node in nodes], remaining)
        # The environment has not called these states a success, whatever the model thinks of them.
        visited = {start, *(domain.key(after) for _, _, after in self.memory.transitions)}
        for node, score in zip(nodes, scores, strict=True):
            graph.set_reward(node, min(score, 0.0) if node in visited else score)
        for edge in graph.edges():
            graph.set_cost(edge.id, domain.cost(graph.state(edge.source), edge.action))
        # The actor is shown the rest of the walk, so its call may be as long as the longest walk that can be paid.
        moves = self._most_moves(graph, remaining)
        longest = max((edge.action for edge in graph.edges()), key=len, default="")
        sources = dict.fromkeys(edge.source for edge in graph.edges())
        calls = {node: self._call_cost(graph.state(node), remaining, [longest] * moves) for node in sources}
        for edge in graph.edges():
            graph.set_cost(edge.id, edge.cost + calls[edge.source])

    def _call_cost(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The actor's own worst case; nothing where no cap concerns it, which saves counting its tokens."""
        if not {"calls", "tokens", "usd"} & set(remaining):
            return Resources()
        return self._actor.worst_case(state, remaining, plan)

    async def _select(self, graph: PlanGraph, *, any_end: bool = False) -> Planned | None:
        """Select a walk; None where there provably is none."""
        episode = self._episode
        start = episode.env.domain.key(episode.state)
        remaining = self.remaining()
        horizon = self._horizon(graph, remaining)
        solution, ids, problem = await self._selector.select(graph, start, remaining, horizon, any_end=any_end)
        walk = tuple(graph.edge(number) for number in ids)
        episode.result.solver_seconds += solution.seconds
        size = {"nodes": problem.n_nodes, "edges": len(problem.edges), "horizon": problem.horizon, "budget": remaining}
        self._report(self._selector.name, solution, walk, partial=any_end, problem=size)
        if solution.has_walk:
            return Planned(graph, walk, solution, any_end)
        if solution.status is Status.INFEASIBLE:
            return None
        if solution.status is Status.TIMEOUT:
            raise EpisodeEnded("solver_timeout", solution.message)
        raise EpisodeEnded("solver_error", solution.message)

    def _probe(self, graph: PlanGraph) -> Planned | None:
        """A walk of one step whose outcome is unknown, by the most sampled first action not yet tried here."""
        episode, key = self._episode, self._episode.env.domain.key
        start = key(episode.state)
        tried = {action for before, action, _ in self.memory.transitions if key(before) == start}
        votes = Counter(plan.actions[0] for plan in self._plans if plan.actions and plan.actions[0] not in tried)
        if not votes:
            return None
        [(action, count)] = votes.most_common(1)
        remaining = self.remaining()
        cost = episode.env.domain.cost(episode.state, action) + self._call_cost(episode.state, remaining, [action])
        if any((cost[kind] or 0) > left for kind, left in remaining.items()):
            return None
        edge = graph.add_unknown(start, action, count)
        graph.set_cost(edge.id, cost)
        episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
        solution = PathSolution(Status.FEASIBLE, solver="probe", message="predicted to be invalid; tried all the same")
        self._report("probe", solution, (edge,), partial=True, problem={})
        return Planned(graph, (edge,), solution, partial=True)

    def _report(
        self,
        selector: str,
        solution: PathSolution,
        walk: tuple[Edge, ...],
        *,
        partial: bool,
        problem: dict[str, object],
    ) -> None:
        """Log what was selected."""
        episode = self._episode
        start = episode.env.domain.key(episode.state)
        found = solution.has_walk or bool(walk)
        episode.trace.write(
            WalkSelectedEvent(
                selector=selector,
                status=str(solution.status.value),
                partial=partial,
                actions=[edge.action for edge in walk],
                nodes=[start, *(edge.target for edge in walk)] if found else [],
                objective=solution.objective,
                bound=solution.bound,
                consumption=dict(zip(sorted(episode.remaining()), solution.consumption, strict=False)),
                problem=problem,
                seconds=solution.seconds,
            )
        )

    def _horizon(self, graph: PlanGraph, remaining: Mapping[str, int]) -> int:
        """L: what is left of the configured horizon, else enough moves for any simple path that can be paid."""
        config, steps = self._episode.config, self._episode.result.steps
        if config.horizon is not None:
            return config.horizon - steps
        return max(1, self._most_moves(graph, remaining))

    @staticmethod
    def _most_moves(graph: PlanGraph, remaining: Mapping[str, int]) -> int:
        """Most moves of a simple path that the remaining budget can pay."""
        moves = len(graph.nodes)
        edges = graph.usable_edges()
        for kind, left in remaining.items():
            cheapest = min((edge.cost[kind] or 0 for edge in edges), default=0)
            if cheapest > 0:
                moves = min(moves, left // cheapest)
        return moves
