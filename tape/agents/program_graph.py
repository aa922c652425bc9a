"""What programs have still to do as a plan graph: their calls in every variant, and what their ends are worth."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.engine.cost import CallCosts
from tape.engine.episode import Episode
from tape.plan.agreement import OPEN, Agreement
from tape.plan.record import FollowedProgram
from tape.plan.unfold import PendingCall
from tape.protocols import Action, PlannedActor
from tape.protocols.programs import Programs

FIRST_BONUS, COST_WEIGHT = 1.05, 1e-4
"""Of equally large classes the leader's is taken, then the path with the lower worst case."""


class ProgramGraphs:
    """Makes the plan graphs of an episode: the actor's worst case is part of every cost, dead actions are left out."""

    def __init__(self, episode: Episode, declared: Programs, actor: PlannedActor, dead: Container[Action] = ()) -> None:
        self._episode, self._domain, self._dead = episode, declared, dead
        self._costs = CallCosts(episode, actor)

    @property
    def results(self) -> list[Any]:
        """The results so far, in order."""
        return [call.value for call in self._domain.made(self._episode.state) if not call.failure]

    def empty(self) -> PlanGraph:
        """A graph of the current state alone."""
        graph = PlanGraph()
        graph.add_state(self._episode.key(self._episode.state))
        graph.objective = "expect"
        return graph

    def one(self, call: PendingCall) -> PlanGraph:
        """A graph of one call."""
        graph = self.empty()
        self._add(graph, graph.nodes[0], call, "looked up")
        return graph

    def fold(self, runs: Sequence[FollowedProgram]) -> PlanGraph:
        """BuildPlanGraph and AnnotateGraph: what the programs have still to do, and what their ends are worth.

        A program that only looks first needs another request. It is left out where most of the others have an answer:
        its first calls would pass for the cheapest way to an end.
        """
        graph, agreement = self.empty(), Agreement(runs)
        classes, shares = agreement.classes(), agreement.shares()
        start, leader = graph.nodes[0], agreement.leader()
        best = next((name for run, name in zip(runs, classes, strict=True) if run is leader), "")
        for run, name in zip(runs, classes, strict=True):
            if not name or (name == OPEN != best):
                continue
            path, actions = [start], []
            effects: tuple[str, ...] = ()
            pure: frozenset[str] = frozenset()
            for call in run.unfolded.calls:
                if self._domain.words(()).changes(call.name):
                    effects, pure = (*effects, self._domain.effects.of(call.name, call.arguments)), frozenset()
                else:
                    pure |= {call.text}
                path.append(f"then {'; '.join((*effects, *sorted(pure)))}")
                actions.append(self._add(graph, path[-2], call, path[-1]))
            end = f"answered {name}" if run.unfolded.answer is not None else path[-1]
            if run.unfolded.answer is not None:
                answer = self._answer(run)
                graph.add_variant(path[-1], answer, end)
                graph.set_cost(graph.find(path[-1], answer, end), Resources({"steps": 1}))
                path, actions = [*path, end], [*actions, answer]
            graph.fold(path, actions)
            graph.set_reward(end, min(1.0, shares[name] * (FIRST_BONUS if name == best else 1.0)), goal=True)
        return graph

    def _answer(self, run: FollowedProgram) -> str:
        assert run.unfolded.answer is not None
        if run.unfolded.answer.ready:
            return self._domain.answering(run.unfolded.answer.value, self.results)
        return f"answer({run.program.statements[-1].text.removeprefix('answer(')}"

    def _add(self, graph: PlanGraph, before: str, call: PendingCall, after: str) -> str:
        """Add a call in all its variants; returns the first of them that may be made."""
        left = self._episode.remaining()
        state, at_once = self._episode.state, self._episode.at_once
        actions = []
        for option in self._domain.options(call.name, call.arguments, self.results):
            if option.action in self._episode.refused or option.action in self._dead:
                continue
            graph.add_variant(before, option.action, after)
            edge = graph.find(before, option.action, after)
            reading = self._costs.reading(state, option.action) if call.ready else Resources()
            paid = at_once.has(option.action)
            cost = reading if paid else option.worst + reading
            graph.set_cost(edge, cost)
            share = max((min(1.0, (cost[kind] or 0) / (left[kind] or 1)) for kind in left), default=0.0)
            graph.set_chance(edge, option.quality)
            graph.set_edge_reward(edge, -COST_WEIGHT * share)
            actions.append(option.action)
        return actions[0] if actions else "(refused)"
