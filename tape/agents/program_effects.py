"""What is known of an effect before it is made: whether it was done before, or only asked for after reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tape.approval import AFTER_READING, AGAIN, PERHAPS_AGAIN
from tape.engine.episode import Episode
from tape.plan.program import Program
from tape.plan.record import MadeCall, Record, Run
from tape.plan.unfold import Planned
from tape.protocols.programs import Programs

NOBODY = "it was done before, and nobody is there to allow it again; do without it"
"""What the model reads of an effect that a program asks for again where no approver is."""


class EffectNotes:
    """Notes on the effects of an episode, for its rules and its approver.

    Args:
        episode: Its ``notes`` are written.
        declared: What programs call.
    """

    def __init__(self, episode: Episode, declared: Programs) -> None:
        self._episode, self._declared = episode, declared
        self._first: list[Program] = []

    def begin(self) -> None:
        """Begin anew, where something else is asked for."""
        self._first = []

    def written(self, programs: Sequence[Program]) -> None:
        """Keep programs that were written before any result was shown."""
        self._first += programs

    def write(self, runs: Sequence[Run], record: Record, results: Sequence[Any]) -> None:
        """Note what is known of the effects that come next; ``results`` are those of the episode."""
        own = replace(record, since=0, names={})
        first = {effect for program in self._first for effect in own.follow(program).effects}
        for call in [run.unfolded.calls[0] for run in runs if run.unfolded.calls]:
            if not record.words.changes(call.name) or not call.ready:
                continue
            effect = self._declared.effects.of(call.name, call.arguments)
            note = self._before(call, effect, record.made) or ("" if effect in first else AFTER_READING)
            for option in self._declared.options(call.name, call.arguments, results):
                self._episode.notes[option.action] = note

    def _before(self, call: Planned, effect: str, made: Sequence[MadeCall]) -> str:
        if self.is_second(call, made):
            return AGAIN
        late = any(one.late and one.changes and self._effect(one) == effect for one in made)
        return PERHAPS_AGAIN if late else ""

    def _effect(self, made: MadeCall) -> str:
        return self._declared.effects.of(made.name, made.arguments)

    def is_second(self, call: Planned, made: Sequence[MadeCall]) -> bool:
        """Whether a call asks again for an effect that was made."""
        done = {self._effect(one) for one in made if one.changes and not one.failure}
        return call.again and self._declared.effects.of(call.name, call.arguments) in done

    def lacks_approval(self, run: Run, made: Sequence[MadeCall]) -> bool:
        """Whether what a run does next needs an approver that is not there."""
        calls = run.unfolded.calls
        return bool(calls) and self._episode.approver is None and self.is_second(calls[0], made)
