"""Constrained execution of a path and the mismatch check (TAPE sections 3.3, 3.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

from tape.engine.episode import ActionRefused, Episode, environment_faults
from tape.engine.graph import UNKNOWN, Edge
from tape.engine.memory import Memory
from tape.engine.no_ops import known_no_ops
from tape.engine.select import SelectedPath
from tape.engine.steps import end_if_broken, mismatched, write_action
from tape.protocols import Action, Actor, State
from tape.trace import DifferedEvent

Outcome = Literal["ended", "mismatch", "probed", "stepped", "contradicted", "refused", "overdrawn"]

Reselect = Callable[[SelectedPath], Awaitable[SelectedPath | None]]
"""Asks for the best path from the current node of a plan's graph with what is left now."""


class Watch(Protocol):
    """Watches the execution of a path that was verified."""

    def possible(self, action: Action) -> bool:
        """Whether the environment admits the next action."""

    def saw(self, before: State, action: Action, rest: Sequence[Edge]) -> Literal["certified", "open", "contradicted"]:
        """What a step has shown of the rest of the path."""


class Executor:
    """Executes paths edge by edge.

    Args:
        episode: The episode.
        actor: Writes the actions.
        memory: Takes every observed transition.
        reselect: Is asked where a step has used less than its worst case, so that more may fit than was planned for.
        watch: Is told every step of a verified path, which is kept as it is while it stays certified; what it says
            goes before the comparison of keys.
    """

    def __init__(
        self,
        episode: Episode,
        actor: Actor,
        memory: Memory,
        reselect: Reselect,
        watch: Watch | None = None,
    ) -> None:
        self._episode, self._actor, self._memory = episode, actor, memory
        self._reselect, self._watch = reselect, watch

    async def execute(self, planned: SelectedPath) -> Outcome:
        """Follow a path.

        Returns:
            ``ended`` at its end, ``mismatch`` where the observed state is not the predicted one, ``probed``
            after an action of unknown outcome, ``stepped`` after one step under all-step replanning, ``contradicted``
            where what is watched for has shown that the path fails, ``refused`` where somebody has refused an action,
            ``overdrawn`` where costs are predicted and what is left no longer pays for the rest as predicted, or for
            the next action at its declared worst.

        Raises:
            EpisodeEnded: Success, ``invalid_output``, or a refused action where there is no replanning.
            BudgetExceededError: A step or call does not fit.
        """
        episode = self._episode
        rest = planned.path
        while rest:
            edge, actions = rest[0], [edge.action for edge in rest]
            predicted = episode.config.costs == "lm" and episode.config.replan
            if predicted and not self._fits(rest, begun=rest is not planned.path):
                return "overdrawn"
            if self._watch is not None and not self._watch.possible(edge.action):
                return "contradicted"
            if self._skips(planned, rest):
                rest = rest[1:]
                continue
            before, left = episode.state, episode.remaining()
            try:
                written, text = await write_action(episode, self._actor, edge.action, actions)
                after = await episode.step(written, text=text, planned=edge.action, rest=actions[1:])
            except ActionRefused:
                if not episode.config.replan:
                    raise
                return "refused"
            self._memory.add(before, written, after)
            rest = rest[1:]
            seen = "open" if self._watch is None else self._watch.saw(before, written, rest)
            if seen == "contradicted":
                return "contradicted"
            if not episode.config.replan:
                end_if_broken(episode, before)
                continue
            if edge.target == UNKNOWN:
                return "probed"
            await episode.settle([after], edge.target)
            on_path = episode.key(after) == edge.target
            if not on_path and written == edge.action:
                self._memory.refute(before, written, planned.graph.state(edge.target))
            if not on_path and not self._harmless(planned, before, edge, rest):
                mismatched(episode, edge.target)
                if seen != "certified":
                    return "mismatch"
            if episode.config.replan_every_step:
                return "stepped"
            # Beside the path the graph has no node from which to select.
            select = on_path and self._watch is None and episode.config.reselect
            if rest and select and self._saved(edge, left):
                better = await self._reselect(planned)
                if better is not None:
                    planned, rest = better, better.path
        return "ended"

    def _skips(self, planned: SelectedPath, rest: Sequence[Edge]) -> bool:
        """Whether the next action is known to change nothing here, and what comes after it goes on without it.

        The last action is never left out, so that every path takes a step.
        """
        episode, known = self._episode, known_no_ops(self._episode)
        test = episode.env.domain.mismatch_test
        if known is None or test is None or self._watch is not None or len(rest) < 2 or rest[-1].target == UNKNOWN:
            return False
        with environment_faults("what the next action would change cannot be worked out"):
            return known.is_no_op(episode.state, rest[0].action) and test.still_good(
                [planned.graph.state(ahead.target) for ahead in rest],
                episode.state,
                [ahead.action for ahead in rest[1:]],
                goals=episode.config.goal_test == "declared",
            )

    def _harmless(self, planned: SelectedPath, before: State, edge: Edge, rest: Sequence[Edge]) -> bool:
        """Whether nothing that the rest of a path rests on differs from the prediction; logged where that is so.

        Not asked where somebody watches the path, who knows better; nor at its end, where planning begins anew.
        """
        episode = self._episode
        test = None if episode.config.mismatch == "exact" else episode.env.domain.mismatch_test
        if test is None or self._watch is not None or not rest:
            return False
        if any(ahead.target == UNKNOWN for ahead in rest):
            return False
        predicted = [planned.graph.state(ahead.target) for ahead in (edge, *rest)]
        with environment_faults("what the rest of the path rests on cannot be worked out"):
            good = test.still_good(
                predicted,
                episode.state,
                [ahead.action for ahead in rest],
                taken=(before, edge.action),
                goals=episode.config.goal_test == "declared",
            )
        if good:
            observed = episode.key(episode.state)
            episode.trace.write(DifferedEvent(step=episode.result.steps, predicted=edge.target, observed=observed))
        return good

    def _fits(self, rest: Sequence[Edge], *, begun: bool) -> bool:
        """Whether what is left pays for the next action at its worst and, once a path is begun, for the rest of it.

        Whether a whole path fits as predicted is for the selector to say, and not all of them look.
        """
        left, worst = self._episode.remaining(), self._episode.env.domain.cost(self._episode.state, rest[0].action)
        return all(
            (worst[kind] or 0) <= count and not (begun and sum(edge.cost[kind] or 0 for edge in rest) > count)
            for kind, count in left.items()
        )

    def _saved(self, edge: Edge, left: Mapping[str, int]) -> bool:
        """Whether a step left more of any budget than its worst case would have."""
        now = self._episode.remaining()
        return any(now[kind] > count - (edge.cost[kind] or 0) for kind, count in left.items())
