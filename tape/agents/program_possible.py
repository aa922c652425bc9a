"""Which of several programs can go on: what could not be done, was refused, or may not be done is not planned again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.agents.program_effects import NOBODY, EffectNotes
from tape.engine.episode import Episode
from tape.errors import InvalidOutputError
from tape.plan.record import CallRecord, FollowedProgram
from tape.plan.unfold import LineFailure
from tape.protocols import Action
from tape.protocols.programs import Programs

REFUSED = "it was refused; do without it"
"""What the model reads of an action that was refused."""
NO_MORE = "no more calls can be made that change something"
"""What the model reads of an effect where it has to answer."""


class Possible:
    """Tells what programs may do next.

    Args:
        episode: The episode.
        declared: What programs call.
        notes: What is known of effects.
        dead: Actions that could not be done, and why.
    """

    def __init__(self, episode: Episode, declared: Programs, notes: EffectNotes, dead: Mapping[Action, str]) -> None:
        self._episode, self._declared, self._notes, self._dead = episode, declared, notes, dead

    def of(
        self, runs: Sequence[FollowedProgram], record: CallRecord, results: Sequence[Any], *, must_answer: bool
    ) -> list[FollowedProgram]:
        """Runs, each failed where what it does next could not be done, was refused, or cannot be written.

        Args:
            runs: The runs.
            record: What was called in the turn.
            results: Those of the episode.
            must_answer: Nothing is to be changed any more.
        """
        return [self._possible(run, record, results, must_answer=must_answer) for run in runs]

    def _possible(
        self, run: FollowedProgram, record: CallRecord, results: Sequence[Any], *, must_answer: bool
    ) -> FollowedProgram:
        unfolded, line, name, why = run.unfolded, 0, "", ""
        effect = next((call for call in unfolded.calls if record.words.changes(call.name)), None)
        if self._notes.lacks_approval(run, record.made):
            line, name, why = unfolded.calls[0].line, unfolded.calls[0].name, NOBODY
        elif effect is not None and must_answer:
            line, name, why = effect.line, effect.name, NO_MORE
        else:
            try:
                for call in [call for call in unfolded.calls if call.ready]:
                    line, name = call.line, call.name
                    options = [option.action for option in self._declared.options(name, call.arguments, results)]
                    if call is unfolded.calls[0] and (why := self.hopeless(options)):
                        break
                if not unfolded.calls and unfolded.answer is not None and unfolded.answer.ready:
                    line, name = run.program.statements[-1].line, ""
                    why = self.hopeless([self._declared.answering(unfolded.answer.value, results)])
            except InvalidOutputError as error:
                why = str(error)
        return replace(run, unfolded=replace(unfolded, failure=LineFailure(line, why, name))) if why else run

    def hopeless(self, actions: Sequence[Action]) -> str:
        """Why none of several actions is to be tried; empty where one is."""
        if not all(action in self._episode.refused or action in self._dead for action in actions):
            return ""
        return next((self._dead[action] for action in actions if action in self._dead), REFUSED)
