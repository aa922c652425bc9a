"""Constrained execution (TAPE section 3.3; algorithm 1, lines 8-18): a path is followed edge by edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tape.engine.act import write_action
from tape.engine.compare import end_if_broken, harmless, mismatched, skippable
from tape.engine.episode import ActionRefused, Episode
from tape.engine.forecast import Forecaster
from tape.engine.graph import UNKNOWN
from tape.engine.graph_problem import Edge
from tape.engine.predict import Memory
from tape.engine.replan import reselect
from tape.engine.select import Path, Selector
from tape.protocols import Action, Actor, State
from tape.trace import DryRunEvent

Outcome = Literal["ended", "prefix", "mismatch", "probed", "stepped", "contradicted", "refused", "overdrawn"]
"""Why the execution of a path has stopped.

``ended``: it is at its end. ``prefix``: so is the part of a path that verification has let through. ``mismatch``: the
observed state is not the predicted one. ``probed``: an action of unknown outcome was tried. ``stepped``: one step was
taken, with ``replan_every_step``. ``contradicted``: verification has seen that the path fails. ``refused``: an action
was refused. ``overdrawn``: costs are predicted or expected, and the budget left pays neither for the rest of the path
as predicted nor for the next action at its declared worst case; or it is proven that it does not pay for the rest; or,
with actions at once, the rest does not end within ``wall_seconds``.
"""


class Watch(Protocol):
    """Watches the execution of a verified path."""

    def possible(self, action: Action) -> bool:
        """Whether the environment admits the next action."""

    def saw(self, before: State, action: Action, rest: Sequence[Edge]) -> Literal["certified", "open", "contradicted"]:
        """The verdict on the rest of the path after a step."""


@dataclass(frozen=True)
class Step:
    """An executed step: its edge, the state and the budget before it, the written action and the state after it."""

    edge: Edge
    before: State
    left: Mapping[str, int]
    written: Action
    after: State


class Executor:
    """Executes paths edge by edge.

    Args:
        episode: The episode.
        actor: Writes the actions.
        memory: Records every observed transition.
        selector: Selects again after a step that used less than its worst case, because more may fit then.
        watch: Judges every step of a verified path. The path is kept while it stays certified, even after a mismatch.
        forecaster: Says before every step whether the rest fits; only with ``costs="expected"``.
    """

    def __init__(
        self,
        episode: Episode,
        actor: Actor,
        memory: Memory,
        selector: Selector,
        watch: Watch | None = None,
        forecaster: Forecaster | None = None,
    ) -> None:
        self._episode, self._actor, self._memory = episode, actor, memory
        self._selector, self._watch, self._forecaster = selector, watch, forecaster

    async def execute(self, path: Path) -> Outcome:
        """Follow a path until its end or until it must be abandoned.

        Raises:
            EpisodeEnded: Success, ``invalid_output``, or a refused action with replanning off.
        """
        self._episode.result.partial_walk |= path.partial
        if (dry_run := self._episode.dry_run) is not None:
            changes = await dry_run.difference(self._episode.state, path.actions)
            self._episode.trace.write(DryRunEvent(tried=dry_run.summary(), changes=[*changes]))
        if (at_once := self._episode.at_once) is None:
            return await self._follow(path)
        at_once.log(path.actions)
        outcome = await self._follow(path)
        await at_once.give_up()
        return outcome

    async def _follow(self, path: Path) -> Outcome:
        rest = path.edges
        while rest:
            blocked = self._blocked(rest, begun=rest is not path.edges)
            if blocked is not None:
                return blocked
            if not path.partial and not self._log_forecast(rest, begun=rest is not path.edges):
                return "overdrawn"
            if self._watch is None and skippable(self._episode, path, rest):
                rest = rest[1:]
                continue
            step = await self._step(rest)
            if step is None:
                return "refused"
            rest = rest[1:]
            outcome = await self._compared(path, step, rest)
            if outcome is not None:
                return outcome
            if rest and self._has_saved(step):
                better = await reselect(self._episode, self._selector, path)
                if better is not None:
                    path, rest = better, better.edges
        return "ended"

    def _log_forecast(self, rest: Sequence[Edge], *, begun: bool) -> bool:
        """Log whether the rest fits, if costs are expected; false if it is proven that the rest of a begun path cannot.

        Of a path that has not begun only the planner decides.
        """
        if self._forecaster is None or not self._forecaster.knows(rest):
            return True
        forecast = self._forecaster.forecast(rest)
        if begun and forecast.probability == 0 and self._episode.config.replan:
            return False
        self._episode.trace.write(forecast)
        return True

    def _blocked(self, rest: Sequence[Edge], *, begun: bool) -> Outcome | None:
        """Why the next action must not be tried; None if it may."""
        config = self._episode.config
        if config.costs != "declared" and config.replan and not self._fits(rest, begun=begun):
            return "overdrawn"
        at_once = self._episode.at_once if begun and config.replan else None
        if at_once is not None and not at_once.in_time([edge.action for edge in rest]):
            return "overdrawn"
        if self._watch is not None and not self._watch.possible(rest[0].action):
            return "contradicted"
        return None

    async def _step(self, rest: Sequence[Edge]) -> Step | None:
        """Write the next action and execute it; None if it was refused and planning may find another."""
        episode, edge, actions = self._episode, rest[0], [edge.action for edge in rest]
        before, left = episode.state, episode.remaining()
        try:
            written, text = await write_action(episode, self._actor, edge.action, actions)
            after = await episode.step(written, text=text, planned=edge.action, rest=actions[1:])
        except ActionRefused:
            if not episode.config.replan:
                raise
            return None
        self._memory.add(before, written, after)
        return Step(edge, before, left, written, after)

    async def _compared(self, path: Path, step: Step, rest: Sequence[Edge]) -> Outcome | None:
        """Why a path must be abandoned after a step (algorithm 1, lines 13-16); None if it goes on."""
        episode, edge = self._episode, step.edge
        seen = "open" if self._watch is None else self._watch.saw(step.before, step.written, rest)
        if seen == "contradicted":
            return "contradicted"
        if not episode.config.replan:
            end_if_broken(episode, step.before)
            return None
        if edge.target == UNKNOWN:
            return "probed"
        await episode.merge([step.after], edge.target)
        # Verification replaces the environment's mismatch test.
        if episode.key(step.after) != edge.target and (
            self._watch is not None or not harmless(episode, path, step.before, edge, rest)
        ):
            if step.written == edge.action:
                self._memory.contradict(step.before, step.written, path.graph.state(edge.target))
            mismatched(episode, edge.target)
            if seen != "certified":
                return "mismatch"
        return "stepped" if episode.config.replan_every_step else None

    def _fits(self, rest: Sequence[Edge], *, begun: bool) -> bool:
        """Whether the budget left pays for the next action at its worst and, on a begun path, for the predicted rest.

        A whole path is not checked here, because the selector decides about it, and not all selectors keep budgets.
        """
        left, worst = self._episode.remaining(), self._episode.env.domain.cost(self._episode.state, rest[0].action)
        return all(
            (worst[kind] or 0) <= count and not (begun and sum(edge.cost[kind] or 0 for edge in rest) > count)
            for kind, count in left.items()
        )

    def _has_saved(self, step: Step) -> bool:
        """Whether a step along the path left more of any budget than its worst case would have."""
        config = self._episode.config
        if self._watch is not None or not (config.replan and config.reselect):
            return False
        if self._episode.at_once is not None and self._episode.at_once.busy:
            return False  # what has begun belongs to this path
        if self._episode.key(step.after) != step.edge.target:
            return False  # off the path, the graph has no node to select from
        now = self._episode.remaining()
        return any(now[kind] > count - (step.edge.cost[kind] or 0) for kind, count in step.left.items())
