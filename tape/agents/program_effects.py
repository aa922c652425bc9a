"""What programs may do next: what is known of an effect before it is made, and what is not planned again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.approval import AFTER_READING, AGAIN, PERHAPS_AGAIN
from tape.engine.episode import Episode
from tape.errors import InvalidOutputError
from tape.plan.open import key_of
from tape.plan.program import Program
from tape.plan.record import CallRecord, FollowedProgram, MadeCall, follow
from tape.plan.unfold import LineFailure, PendingCall, in_order, unfold
from tape.protocols import Action
from tape.protocols.programs import Programs

NOBODY = "it was done before, and nobody is there to allow it again; do without it"
"""What the model reads of an effect that a program asks for again where no approver is."""
REFUSED = "it was refused; do without it"
"""What the model reads of an action that was refused."""
NO_MORE = "no more calls can be made that change something"
"""What the model reads of an effect where it has to answer."""


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


class Possible:
    """Tells what programs may do next; ``dead`` are actions that could not be done, and why."""

    def __init__(self, episode: Episode, declared: Programs, notes: EffectNotes, dead: Mapping[Action, str]) -> None:
        self._episode, self._declared, self._notes, self._dead = episode, declared, notes, dead

    def of(
        self, runs: Sequence[FollowedProgram], record: CallRecord, results: Sequence[Any], *, must_answer: bool
    ) -> list[FollowedProgram]:
        """Runs, each failed where what it does next could not be done, was refused, or cannot be written.

        ``record`` is what was called in the turn, ``results`` are those of the episode. With ``must_answer`` nothing is
        to be changed any more.
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


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    """Equal for two calls with equal arguments."""
    return f"{name}({key_of(dict(arguments))})"
