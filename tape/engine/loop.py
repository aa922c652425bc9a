"""TAPE, algorithm 1: sample plans, fold what they lead to into a graph, select a path, execute it, plan again.

:func:`run` is the loop and :class:`Planner` its planning half; comments name the lines of the paper's algorithm. The
package's docstring lists the file of each line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tape.choice.graph import PlanGraph
from tape.engine.act import write_action
from tape.engine.cost import SPARE, CallCosts, Costs, annotate_edges, spendable, within_spare
from tape.engine.episode import Episode
from tape.engine.execute import Outcome
from tape.engine.fold import each_variant, fold, mark_observed, rule_out, shared_nodes
from tape.engine.infeasible import FailedAttempt, infeasible
from tape.engine.predict import Memory, RememberingWorldModel, roll_out
from tape.engine.replan import start_replanning
from tape.engine.sample import FrontierNode, frontier, recovered, require_read, sample_plans, sample_plans_from
from tape.engine.score import annotate_nodes
from tape.engine.select import Path, Selector, best_paths, log_selected, select_path, try_unknown, unknown_step
from tape.engine.unseen import Weigher, weigh_assumptions
from tape.errors import BudgetExceededError
from tape.protocols import Action, Plan, PlannedActor, Proposer, Scorer, State, WorldModel
from tape.trace import GraphFoldedEvent

IN_TIME = 16
"""Paths that are examined, the best first, where the best does not end within ``wall_seconds``."""


async def run(
    episode: Episode, plan: Callable[[], Awaitable[Path | None]], execute: Callable[[Path], Awaitable[Outcome]]
) -> None:
    """Play an episode.

    Args:
        episode: It has begun. It raises the exception that ends it: the goal, a budget, a limit (line 2).
        plan: One planning round; returns None if it refused every path.
        execute: Follows a path until its end or until it must be abandoned.
    """
    limited = 0
    while True:
        path = await plan()  # lines 3-7
        outcome = "refused" if path is None else await execute(path)  # lines 8-18
        if not episode.config.ablations.replan:
            return
        limited += outcome not in ("stepped", "prefix")
        start_replanning(episode, outcome, limited)


@dataclass(frozen=True)
class PlannerRoles:
    """Who plays the parts of planning.

    Attributes:
        proposer: Samples plans.
        world_model: Predicts transitions.
        scorer: Scores nodes.
        actor: Its worst case is part of every edge's cost.
        solver: Its paths decide how far the graph grows.
        selector: Selects the path once the graph is complete; the solver too, but for ablations.
        costs: What plans count with.
    """

    proposer: Proposer
    world_model: WorldModel
    scorer: Scorer
    actor: PlannedActor
    solver: Selector
    selector: Selector
    costs: Costs


class Planner:
    """The planning half of algorithm 1, for one episode.

    Args:
        episode: The episode.
        roles: Who plays its parts.
    """

    def __init__(self, episode: Episode, roles: PlannerRoles) -> None:
        self._episode = episode
        self._proposer, self._world_model, self._scorer = roles.proposer, roles.world_model, roles.scorer
        self._solver, self.selector, self.costs = roles.solver, roles.selector, roles.costs
        self.calls, self._actor = CallCosts(episode, roles.actor), roles.actor
        self.memory = Memory()
        self._weigher = Weigher(episode.roles)
        self._rounds, self._begun = 0, set[str]()
        self._plans: list[Plan] = []
        self._sampled: list[Plan] = []
        self._failed: list[FailedAttempt] = []
        self._late: list[Sequence[Action]] = []
        self.graph = PlanGraph()
        """The last plan graph."""

    async def plan(self) -> Path:
        """Plan from the current state (lines 4 to 7); sample again while no path is feasible.

        Raises:
            EpisodeEnded: ``infeasible``, ``no_plan``, ``solver_timeout`` or ``solver_error``.
        """
        if self._leads_back() and (step := await self._own_step()) is not None:
            return step
        graph, path = await self._plan_round()
        if path is None and self._walks_on():
            path = await self._partial_path(graph)
        return self._require_path(path)

    def _log_graph(self, graph: PlanGraph) -> None:
        self._episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=self._episode.key(self._episode.state))))

    def _leads_back(self) -> bool:
        """Whether a round has begun in this very situation before [ours]: what was planned there has led nowhere."""
        hooks = self._episode.hooks
        if not (hooks.uncertain and self._episode.config.ablations.probe):
            return False
        here = hooks.situation(self._episode.state)
        again = here in self._begun
        self._begun.add(here)
        return again

    async def _own_step(self) -> Path | None:
        """The step that the model takes of its own accord, which sees what was done here; None if it does not fit."""
        episode = self._episode
        episode.require_affordable_action()
        action, _ = await write_action(episode, self._actor, None, ())
        graph = PlanGraph(episode.key, episode.env.domain.render)
        graph.add_state(episode.state)
        self.graph = graph
        return unknown_step(episode, graph, action, 1, self.calls)

    async def candidates(self, k: int) -> list[Path]:
        """Plan like :meth:`plan`, but return the k best complete paths, best first."""
        graph, path = await self._plan_round()
        self._require_path(path)
        return best_paths(self._episode, graph, k)

    async def refold(self, plans: Sequence[Plan], k: int) -> list[Path]:
        """Roll the given plans out from the current state into a fresh graph; return its k best paths."""
        return best_paths(self._episode, await self._build_graph(plans), k)

    async def _plan_round(self) -> tuple[PlanGraph, Path | None]:
        """Run a planning round; return its last graph and the path selected on it, if one fits."""
        episode = self._episode
        episode.require_affordable_action()
        self._sampled, self._failed, self._late = [], [], []
        for attempt in range(episode.config.ablations.resample + 1):
            plans = await self._sample(attempt)  # line 4: SamplePlans
            graph = await self._build_graph(plans)  # lines 5 and 6: BuildPlanGraph, AnnotateGraph
            episode.result.shared_nodes += shared_nodes(graph)
            graph, best = await self._extend(graph, attempt)
            best = await self._to_a_goal(graph, best)
            own = self.selector is self._solver  # which has selected already
            path = best if own else await select_path(episode, self.selector, graph)  # line 7: Solver
            if path is not None:
                break
            self._failed.append(FailedAttempt.now(episode, graph, fits=best is not None))
        self._rounds += 1
        return graph, path

    async def _sample(self, attempt: int) -> list[Plan]:
        """Sample plans from the current state."""
        outcomes = self._episode.env.domain.outcomes
        count = 1 if outcomes is not None and outcomes.whole and not attempt else self._episode.config.num_plans
        if attempt:
            self._episode.state = self._episode.dry_run.told(self._episode.state)
        sampled = await sample_plans(self._episode, self._proposer, count, self._rounds, attempt)
        self._sampled += sampled
        self._plans = [begun for plan in sampled for begun in recovered(self._episode, plan)]
        return self._plans

    async def _build_graph(self, plans: Sequence[Plan]) -> PlanGraph:
        """Build the graph of some plans from the current state."""
        episode, state = self._episode, self._episode.state
        graph = PlanGraph(episode.key, episode.env.domain.render)
        graph.add_state(state)
        await self._grow(graph, [(state, plan) for plan in plans])
        return graph

    async def _grow(self, graph: PlanGraph, items: Sequence[tuple[State, Plan]]) -> None:
        """Predict where plans lead, fold the rollouts into a graph, and annotate it."""
        episode, domain = self._episode, self._episode.env.domain
        world = self._world_model
        if domain.deterministic:
            world = RememberingWorldModel(world, self.memory, domain.key)
        tries = episode.dry_run.tries
        if tries and domain.outcomes is not None:
            items = each_variant(domain.outcomes, items)  # what a variant leads to is seen on a copy
        rollouts = await roll_out(world, domain, items)
        for start, plans in fold(graph, domain, rollouts, variants=not tries).values():
            await weigh_assumptions(graph, domain.hooks, self._weigher, start, plans)
        if domain.deterministic:
            mark_observed(graph, self.memory)
        rule_out(graph, episode)
        await annotate_edges(graph, episode, self.calls, self.costs)
        await annotate_nodes(graph, episode, self._scorer, self.memory)
        episode.hooks.weigh(graph, self.memory.transitions, self.memory.contradicted)
        self.graph = graph
        self._log_graph(graph)

    async def _extend(self, graph: PlanGraph, attempt: int) -> tuple[PlanGraph, Path | None]:
        """Sample further plans from inside the graph while the best path does not end at a predicted goal [ours].

        The model plans on from states that the world model has predicted, so it need not track them over a long plan.
        A wrong plan costs tokens but no steps. Sampling spends only what the path in hand leaves over.

        Returns:
            The extended graph and its best path.
        """
        episode, config = self._episode, self._episode.config
        path = await self._solve(graph)
        start, left = episode.key(episode.state), config.ablations.extend
        if episode.env.domain.outcomes is not None and any(graph.attributes(n)["goal"] for n in graph.nodes):
            left = 0  # the graph has ends: if none is affordable, plans from deeper nodes are not either
        planned_from = {start}
        while left > 0 and not (path and path.at_goal):
            nodes = frontier(graph, start, spendable(episode), planned_from)[: min(left, config.num_plans)]
            if not nodes:
                break
            left -= len(nodes)
            planned_from |= {node.node for node in nodes}
            seed = episode.seed_for("extend", self._rounds, attempt, left)
            try:
                with within_spare(episode, path.edges if path else ()):
                    graph = await self._grow_from(graph.copy(), nodes, seed)
            except BudgetExceededError as error:
                if error.ledger != SPARE:
                    raise  # the run's budget or the time is used up
                break  # the trace has the refusal; graph and path are unchanged
            path = await self._solve(graph) or path
        return graph, path

    async def _to_a_goal(self, graph: PlanGraph, path: Path | None) -> Path | None:
        """With ``on_infeasible="budget"`` a path that ends short of the goal is none, where another plan reaches it.

        The ends of plans that are no goals are taken off the graph, so that its explanation names what a goal needs.
        """
        episode = self._episode
        others = path is not None and not path.at_goal and graph.leads_to_goal(episode.key(episode.state))
        if episode.config.on_infeasible != "budget" or not others:
            return path
        for node in graph.nodes:
            if not graph.attributes(node)["goal"]:
                graph.no_end(node)
        self._log_graph(graph)
        return await self._solve(graph)

    async def _grow_from(self, graph: PlanGraph, nodes: Sequence[FrontierNode], seed: int) -> PlanGraph:
        """Sample one plan from each node and fold it into the graph; return the graph."""
        starts = [(graph.state(node.node), node.remaining) for node in nodes]
        sampled = await sample_plans_from(self._episode, self._proposer, starts, 1, seed)
        await self._grow(graph, [(state, plan) for (state, _), [plan] in zip(starts, sampled, strict=True)])
        return graph

    async def _solve(self, graph: PlanGraph) -> Path | None:
        """The solver's path on a graph that may still grow; None if none fits."""
        logged, at_once = self.selector is self._solver, self._episode.at_once
        path = await select_path(self._episode, self._solver, graph, logged=logged)
        if path is None or at_once.in_time(path.actions):
            return path
        others = [path, *best_paths(self._episode, graph, IN_TIME)]
        if (quicker := next((item for item in others if at_once.in_time(item.actions)), None)) is not None:
            log_selected(self._episode, "in_time", quicker, {})
            return quicker
        self._late += [item.actions for item in others]
        return None

    def _walks_on(self) -> bool:
        """Whether to follow a partial path where no complete one fits."""
        mode, start = self._episode.config.on_infeasible, self._episode.key(self._episode.state)
        in_sight = mode == "budget" and any(failed.graph.leads_to_goal(start) for failed in self._failed)
        return mode != "stop" and not in_sight

    async def _partial_path(self, graph: PlanGraph) -> Path | None:
        """The best path to any node, else one step of unknown outcome; for graphs on which no complete path fits."""
        episode = self._episode
        path = await select_path(episode, self.selector, graph, any_end=True)
        if path is None and episode.config.ablations.probe and episode.env.domain.outcomes is None:
            path = try_unknown(episode, graph, self._plans, self.memory, self.calls)
        return path

    def _require_path(self, path: Path | None) -> Path:
        """Return the path; end the episode if there is none."""
        if path is None:
            require_read(self._episode, self._sampled)
            if self._late:
                raise self._episode.at_once.too_late(self._late)
            raise infeasible(self._episode, self._failed, self.costs.counted)
        return path
