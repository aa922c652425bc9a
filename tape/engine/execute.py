"""Constrained execution (TAPE section 3.3; algorithm 1, lines 8-18): a path is followed edge by edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tape.choice.graph import UNKNOWN
from tape.choice.graph_problem import Edge
from tape.engine.act import write_action
from tape.engine.compare import end_if_broken, harmless, mismatched, skippable
from tape.engine.cost import Costs
from tape.engine.episode import ActionRefused, Episode
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


Seen = Literal["certified", "open", "contradicted"]
"""The verdict on the rest of a path."""


class Watch:
    """Watches the execution of a path; this one, of paths that are not verified, sees nothing."""

    verifies: ClassVar[bool] = False
    """Whether the paths are verified; that replaces the environment's mismatch test."""

    def possible(self, action: Action) -> bool:
        """Whether the environment admits the next action."""
        del action
        return True

    def saw(self, before: State, action: Action, rest: Sequence[Edge]) -> Seen:
        """The verdict on the rest of the path after a step."""
        del before, action, rest
        return "open"


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
        costs: Says before every step whether the rest fits.
        watch: Judges every step of a verified path. The path is kept while it stays certified, even after a mismatch.
    """

    def __init__(
        self, episode: Episode, actor: Actor, memory: Memory, selector: Selector, costs: Costs, watch: Watch
    ) -> None:
        self._episode, self._actor, self._memory = episode, actor, memory
        self._selector, self._costs, self._watch = selector, costs, watch

    async def execute(self, path: Path) -> Outcome:
        """Follow a path until its end or until it must be abandoned.

        Raises:
            EpisodeEnded: Success, ``invalid_output``, or a refused action with replanning off.
        """
        self._episode.result.partial_walk |= path.partial
        if (dry_run := self._episode.dry_run).tries:
            changes = await dry_run.difference(self._episode.state, path.actions)
            self._episode.trace.write(DryRunEvent(tried=dry_run.summary(), changes=[*changes]))
        self._episode.at_once.log(path.actions)
        outcome = await self._follow(path)
        await self._episode.at_once.give_up()
        return outcome

    async def _follow(self, path: Path) -> Outcome:
        rest = path.edges
        while rest:
            blocked = self._blocked(path, rest, begun=rest is not path.edges)
            if blocked is not None:
                return blocked
            if not self._watch.verifies and skippable(self._episode, path, rest):
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

    def _blocked(self, path: Path, rest: Sequence[Edge], *, begun: bool) -> Outcome | None:
        """Why the next action must not be tried; None if it may."""
        late = begun and not self._episode.at_once.in_time([edge.action for edge in rest])
        if self._episode.config.ablations.replan and late:
            return "overdrawn"
        if not self._watch.possible(rest[0].action):
            return "contradicted"
        return "overdrawn" if self._costs.overdrawn(rest, begun=begun, partial=path.partial) else None

    async def _step(self, rest: Sequence[Edge]) -> Step | None:
        """Write the next action and execute it; None if it was refused and planning may find another."""
        episode, edge, actions = self._episode, rest[0], [edge.action for edge in rest]
        before, left = episode.state, episode.remaining()
        try:
            written, text = await write_action(episode, self._actor, edge.action, actions)
            after = await episode.step(written, text=text, planned=edge.action, rest=actions[1:])
        except ActionRefused:
            if not episode.config.ablations.replan:
                raise
            return None
        self._memory.add(before, written, after)
        return Step(edge, before, left, written, after)

    async def _compared(self, path: Path, step: Step, rest: Sequence[Edge]) -> Outcome | None:
        """Why a path must be abandoned after a step (algorithm 1, lines 13-16); None if it goes on."""
        episode, edge = self._episode, step.edge
        seen = self._watch.saw(step.before, step.written, rest)
        if seen == "contradicted":
            return "contradicted"
        if not episode.config.ablations.replan:
            end_if_broken(episode, step.before)
            return None
        if edge.target == UNKNOWN:
            return "probed"
        # Verification replaces the environment's mismatch test.
        if episode.key(step.after) != edge.target and (
            self._watch.verifies or not harmless(episode, path, step.before, edge, rest)
        ):
            if step.written == edge.action:
                self._memory.contradict(step.before, step.written, path.graph.state(edge.target))
            mismatched(episode, edge.target)
            if seen != "certified":
                return "mismatch"
        return "stepped" if episode.config.ablations.replan_every_step else None

    def _has_saved(self, step: Step) -> bool:
        """Whether a step along the path left more of any budget than its worst case would have."""
        config = self._episode.config
        if self._watch.verifies or not (config.ablations.replan and config.ablations.reselect):
            return False
        if self._episode.at_once.busy:
            return False  # what has begun belongs to this path
        if self._episode.key(step.after) != step.edge.target:
            return False  # off the path, the graph has no node to select from
        now = self._episode.remaining()
        return any(now[kind] > count - (step.edge.cost[kind] or 0) for kind, count in step.left.items())
