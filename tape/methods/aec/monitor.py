"""The execution monitor: grounded counterevidence stops a path before its next step (AEC appendix B.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tape.choice.graph_problem import Edge
from tape.engine.episode import Episode
from tape.engine.execute import Seen, Watch
from tape.methods.aec.state import EpistemicState
from tape.protocols import Action, State


class Monitor(Watch):
    """Watches the execution of a committed path.

    Args:
        episode: The episode.
        state: Receives the observations.
        certifies: Whether paths are verified; otherwise none is ever ``certified``.
    """

    verifies = True

    def __init__(self, episode: Episode, state: EpistemicState, *, certifies: bool) -> None:
        self._episode, self._state, self._certifies = episode, state, certifies
        self.whole = True
        """Whether the committed path is a whole plan, which has to reach the goal, or a prefix of one."""

    def possible(self, action: Action) -> bool:
        """Whether the environment admits the next action at all."""
        admissible = self._episode.env.domain.admissible(self._episode.state)
        return admissible is None or action in admissible

    def saw(self, before: State, action: Action, rest: Sequence[Edge]) -> Seen:
        """Update the state after a step and judge the rest of the path.

        Returns:
            ``contradicted`` if the action failed (an observation contradicts its declared effects, or nothing changed
            although something should) or an observation contradicts what the rest requires; ``certified`` if the
            verifier accepts the rest; else ``open``.
        """
        expected, effective = self._state.effects(action), self._state.to_do([action])
        self._state.observed("execution", action, action)
        facts, key = self._state.grounded.assignment, self._episode.env.domain.key
        verdict = self._state.verify(
            [edge.action for edge in rest], [edge.cost for edge in rest], self._episode.remaining()
        )
        if any(value is not None and facts.get(predicate, value) != value for predicate, value in expected.items()):
            return "contradicted"
        if expected and effective and key(before) == key(self._episode.state):
            return "contradicted"
        if any(witness.denied and witness.step < len(rest) for witness in verdict.witnesses):
            return "contradicted"
        against_steps = any(witness.step < len(rest) for witness in verdict.witnesses)
        accepted = verdict.accepted if self.whole else not against_steps
        return "certified" if self._certifies and accepted else "open"
