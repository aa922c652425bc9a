"""Planning: sample, predict, fold, annotate, select (TAPE section 3, algorithm 1 lines 4-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from solvers import PathSolution, Status
from tape.agents.base import Episode, EpisodeEnded
from tape.graph import Edge, PlanGraph
from tape.protocols import Action, Actor, Plan, Prediction, Proposer, Scorer, Selector, State, WorldModel
from tape.roles.selector import LmSelector
from tape.trace import GraphFoldedEvent, PlansSampledEvent, WalkSelectedEvent


@dataclass
class Memory:
    """What was observed in this episode; it outlives every plan graph.

    In a deterministic domain an observed transition is certain: it is never predicted again, and its
    rivals are never selected again.
    """

    transitions: list[tuple[State, Action, State]] = field(default_factory=list)

    def add(self, before: State, action: Action, after: State) -> None:
        """Record an observed transition."""
        self.transitions.append((before, action, after))


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
        actor: Actor,
        selector: Selector,
    ) -> None:
        self._episode = episode
        self._proposer, self._world_model, self._scorer = proposer, world_model, scorer
        self._actor, self._selector = actor, selector
        self.memory = Memory()
        self._rounds = 0

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
            planned = await self._select(graph, any_end=True)
        self._rounds += 1
        if planned is None or not planned.walk:
            raise EpisodeEnded("infeasible", "no walk keeps the remaining budget")
        return planned

    def remaining(self) -> dict[str, int]:
        """What the selector may spend: the ledger's rest minus the reserve for planning."""
        reserve = self._episode.config.planning_reserve
        return {kind: left - reserve.get(kind, 0) for kind, left in self._episode.remaining().items()}

    async def _build(self, attempt: int) -> PlanGraph:
        """Sample, predict, fold and annotate."""
        episode, domain = self._episode, self._episode.env.domain
        state, remaining = episode.state, episode.remaining()
        seed = episode.seed_for("plans", self._rounds, attempt)
        plans = await self._proposer.propose(state, remaining, episode.config.num_plans, seed)
        episode.trace.write(
            PlansSampledEvent(
                start=domain.key(state), plans=[list(p.actions) for p in plans], valid=[p.valid for p in plans]
            )
        )
        graph = PlanGraph(domain.key, domain.render)
        start = graph.add_state(state)
        walks = await self._fold(graph, state, plans)
        if domain.deterministic:
            for transition in self.memory.transitions:
                graph.certify(*transition)
        await self._annotate(graph, remaining)
        if isinstance(self._selector, LmSelector):
            self._selector.walks = walks
        episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
        return graph

    async def _fold(self, graph: PlanGraph, state: State, plans: Sequence[Plan]) -> list[list[int]]:
        """Roll the plans out and fold each up to its first invalid action; returns their edge ids."""
        predicted = await self._world().rollout([(state, plan.actions) for plan in plans])
        walks = []
        for plan, predictions in zip(plans, predicted, strict=True):
            states = [state]
            for prediction in predictions:
                if prediction.state is None:
                    break
                states.append(prediction.state)
            actions = plan.actions[: len(states) - 1]
            nodes = graph.fold(states, actions)
            walks.append([graph.find(a, act, b) for a, act, b in zip(nodes, actions, nodes[1:], strict=False)])
        return walks

    def _world(self) -> WorldModel:
        if not self._episode.env.domain.deterministic:
            return self._world_model
        return RememberingWorldModel(self._world_model, self.memory, self._episode.env.domain.key)

    async def _annotate(self, graph: PlanGraph, remaining: Mapping[str, int]) -> None:
        """Put rewards on nodes and worst-case costs on edges (AnnotateGraph)."""
        nodes = graph.nodes
        scores = await self._scorer.score([graph.state(node) for node in nodes], remaining)
        for node, score in zip(nodes, scores, strict=True):
            graph.set_reward(node, score)
        domain = self._episode.env.domain
        for edge in graph.edges():
            state = graph.state(edge.source)
            graph.set_cost(edge.id, domain.cost(state, edge.action) + self._actor.worst_case(state))

    async def _select(self, graph: PlanGraph, *, any_end: bool = False) -> Planned | None:
        """Select a walk; None where there provably is none."""
        episode = self._episode
        start = episode.env.domain.key(episode.state)
        remaining = self.remaining()
        horizon = self._horizon(graph, remaining)
        solution, ids, problem = await self._selector.select(graph, start, remaining, horizon, any_end=any_end)
        walk = tuple(graph.edge(number) for number in ids)
        episode.result.solver_seconds += solution.seconds
        episode.trace.write(
            WalkSelectedEvent(
                selector=self._selector.name,
                status=str(solution.status.value),
                partial=any_end,
                actions=[edge.action for edge in walk],
                nodes=[start, *(edge.target for edge in walk)] if solution.has_walk else [],
                objective=solution.objective,
                bound=solution.bound,
                consumption=dict(zip(sorted(remaining), solution.consumption, strict=False)),
                problem={
                    "nodes": problem.n_nodes,
                    "edges": len(problem.edges),
                    "horizon": problem.horizon,
                    "budget": remaining,
                },
                seconds=solution.seconds,
            )
        )
        if solution.has_walk:
            return Planned(graph, walk, solution, any_end)
        if solution.status is Status.INFEASIBLE:
            return None
        if solution.status is Status.TIMEOUT:
            raise EpisodeEnded("solver_timeout", solution.message)
        raise EpisodeEnded("solver_error", solution.message)

    def _horizon(self, graph: PlanGraph, remaining: Mapping[str, int]) -> int:
        """L: what is left of the configured horizon, else enough moves for any simple path that can be paid."""
        config, steps = self._episode.config, self._episode.result.steps
        if config.horizon is not None:
            if steps >= config.horizon:
                raise EpisodeEnded("failure", f"the horizon of {config.horizon} moves is reached")
            return config.horizon - steps
        moves = len(graph.nodes)
        edges = graph.usable_edges()
        for kind, left in remaining.items():
            cheapest = min((edge.cost[kind] or 0 for edge in edges), default=0)
            if cheapest > 0:
                moves = min(moves, left // cheapest)
        return max(1, moves)


class RememberingWorldModel:
    """Answers observed transitions from memory and asks the world model for the rest only.

    Args:
        model: The world model underneath.
        memory: What was observed.
        key: Identity of a state.
    """

    def __init__(self, model: WorldModel, memory: Memory, key: Callable[[State], str]) -> None:
        self._model, self._key = model, key
        self._observed: dict[tuple[str, Action], Prediction] = {}
        for before, action, after in memory.transitions:
            unchanged = key(before) == key(after)
            self._observed[key(before), action] = Prediction(None if unchanged else after)

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict, memory first; an action that was seen to change nothing is invalid."""
        known = [self._observed.get((self._key(state), action)) for state, action in pairs]
        asked = [pair for pair, found in zip(pairs, known, strict=True) if found is None]
        fresh = iter(await self._model.predict(asked) if asked else [])
        return [next(fresh) if found is None else found for found in known]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Follow each plan through memory as far as it goes, then let the model continue."""
        heads: list[list[Prediction]] = []
        rest: list[tuple[State, Sequence[Action]]] = []
        for state, actions in items:
            head: list[Prediction] = []
            current: State | None = state
            for action in actions:
                found = self._observed.get((self._key(current), action))
                if found is None:
                    break
                head.append(found)
                current = found.state
                if current is None:
                    break
            heads.append(head)
            rest.append((current, actions[len(head) :] if current is not None else ()))
        tails = await self._model.rollout(rest)
        return [head + tail for head, tail in zip(heads, tails, strict=True)]
