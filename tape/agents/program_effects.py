"""What is known of an effect before it is made: whether it was done before, or only asked for after reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.approval import AFTER_READING, AGAIN, PERHAPS_AGAIN
from tape.engine.episode import Episode
from tape.plan.open import key_of
from tape.plan.program import Program
from tape.plan.record import CallRecord, FollowedProgram, MadeCall, follow
from tape.plan.unfold import PendingCall, in_order, unfold
from tape.protocols.programs import Programs

NOBODY = "it was done before, and nobody is there to allow it again; do without it"
"""What the model reads of an effect that a program asks for again where no approver is."""


class EffectNotes:
    """Notes on the effects of an episode, for its rules and its approver."""

    def __init__(self, episode: Episode, declared: Programs) -> None:
        self._episode, self._declared = episode, declared
        self._first: list[Program] = []

    def begin(self) -> None:
        """Begin anew, where something else is asked for."""
        self._first = []

    def written(self, programs: Sequence[Program]) -> None:
        """Keep programs that were written before any result was shown."""
        self._first += programs

    def write(self, runs: Sequence[FollowedProgram], record: CallRecord, results: Sequence[Any]) -> None:
        """Note what is known of the effects that come next; ``results`` are those of the episode."""
        coming = [run.unfolded.calls[0] for run in runs if run.unfolded.calls and not run.failed]
        coming = [call for call in coming if record.words.changes(call.name) and call.ready]
        if not coming:
            return
        planned = Counter[str]()
        for program in self._first:
            planned |= self._planned(program, record)
        done = Counter(
            _call(made_call.name, made_call.arguments) for made_call in record.made if made_call.changes
        )  # failed ones too
        for call in coming:
            whole = _call(call.name, call.arguments)
            note = self._before(call, record.made) or ("" if done[whole] < planned[whole] else AFTER_READING)
            for option in self._declared.options(call.name, call.arguments, results):
                self._episode.notes[option.action] = note

    def _planned(self, program: Program, record: CallRecord) -> Counter[str]:
        """How often a first program makes each call that changes something, results filled in."""
        own = replace(record, since=0, names={})
        run = follow(own, program, self._episode.env.domain.task_text())
        before = unfold(program, own.words, in_order([])).calls  # a line that fails with its results is there too
        calls = [(call.name, call.arguments) for call in run.unfolded.calls if call.ready]
        counts = Counter(_call(*call) for call in [*run.unfolded.made, *calls] if own.words.changes(call[0]))
        return counts | Counter(
            _call(call.name, call.arguments) for call in before if call.ready and own.words.changes(call.name)
        )

    def _before(self, call: PendingCall, made: Sequence[MadeCall]) -> str:
        if self._is_second(call, made):
            return AGAIN
        effect = self._declared.effects.of(call.name, call.arguments)
        late = any(made_call.late and made_call.changes and self._effect(made_call) == effect for made_call in made)
        return PERHAPS_AGAIN if late else ""

    def _effect(self, made: MadeCall) -> str:
        return self._declared.effects.of(made.name, made.arguments)

    def _is_second(self, call: PendingCall, made: Sequence[MadeCall]) -> bool:
        """Whether a call asks again for an effect that was made."""
        done = {self._effect(made_call) for made_call in made if made_call.changes and not made_call.failure}
        return call.again and self._declared.effects.of(call.name, call.arguments) in done

    def lacks_approval(self, run: FollowedProgram, made: Sequence[MadeCall]) -> bool:
        """Whether what a run does next needs an approver that is not there."""
        calls = run.unfolded.calls
        return bool(calls) and self._episode.approver is None and self._is_second(calls[0], made)


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    """Equal for two calls with equal arguments."""
    return f"{name}({key_of(dict(arguments))})"
