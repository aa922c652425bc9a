"""Acting line by line where plans are programs: a model goes on from its own lines, and sees what came of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tape.agents.program_requests import lines_of
from tape.engine.act import LmActor
from tape.engine.episode import Episode
from tape.errors import InvalidOutputError
from tape.lm.base import Request
from tape.plan.open import key_of
from tape.plan.program import Program
from tape.plan.prompt import Done
from tape.plan.reader import read
from tape.plan.record import FollowedProgram, MadeCall
from tape.plan.shown import literal
from tape.plan.unfold import CallFailedError, NotMadeError, unfold
from tape.plan.vocabulary import AGAIN, Vocabulary
from tape.protocols import Action, State
from tape.protocols.prompt_format import GoOnError

REFUSED = "it was refused; do without it"
"""What the model reads of a line whose call was not approved."""


@dataclass
class _Line:
    """The line that is being run.

    Attributes:
        program: The line, with the literals before it.
        due: Its next call or its answer, as an action.
        before: The calls of the task before it.
        own: Its calls that were made, in order.
    """

    program: Program
    due: Action
    before: Sequence[MadeCall] = ()
    own: list[MadeCall] = field(default_factory=list)


class Lines:
    """The prompts of one actor: what was asked, and line by line what the model wrote and what came of it.

    All calls of a line are made before the next one is asked for.

    Args:
        episode: Its domain's plans are programs.
        each: Tools have the names of their variants, and an operator is the first variant; else the names of kinds.
    """

    def __init__(self, episode: Episode, *, each: bool = True) -> None:
        assert episode.env.domain.programs is not None, "the domain's plans are programs"
        self._episode, self._domain, self._each = episode, episode.env.domain.programs, each
        self._begin([])

    def _begin(self, before: Sequence[MadeCall]) -> None:
        """Begin with a task, after the calls for those before it, whose results have numbers."""
        self._task, self._turn, self._made = self._episode.env.domain.task_text(), len(before), list(before)
        self._acted = len(self._episode.result.actions)
        self._done: list[Done] = []
        self._names = {f"r{number}": call.value for number, call in enumerate(before, 1) if not call.failure}
        self._line: _Line | None = None
        self._offered: list[_Line] = []  # the samples of one request
        self._computed: FollowedProgram | None = None  # the first of them that makes no call
        self._asked = self._answered = 0

    @property
    def _words(self) -> Vocabulary:
        return self._domain.words(self._episode.ledger.capped(), each=self._each)

    # --- running --------------------------------------------------------------------------------

    def _run(self, program: Program, before: Sequence[MadeCall], own: Sequence[MadeCall] = ()) -> FollowedProgram:
        """Follow a line along its own calls in order; what was found out before is not asked for again."""
        taken: list[MadeCall] = []

        def resolve(name: str, arguments: Mapping[str, Any]) -> Any:
            key = key_of({key: value for key, value in arguments.items() if key != AGAIN})
            left = own[len(taken) :]
            if left and left[0].name == name and _key(left[0]) == key:
                taken.append(left[0])
            else:
                known = _found_out([*before, *taken])
                made = next((call for call in known if call.name == name and _key(call) == key), None)
                if made is None:
                    raise NotMadeError
                return made.value
            if left[0].failure:
                raise CallFailedError(left[0].failure, left[0].hint)
            return left[0].value

        return FollowedProgram(program, unfold(program, self._words, resolve, self._names))

    def _read(self, text: str, made: Sequence[MadeCall]) -> FollowedProgram:
        """What a model wrote up to its first call or its answer."""
        program = read(text, self._words, self._names, whole=False)
        for count in range(1, len(program.statements) + 1):
            run = self._run(replace(program, statements=program.statements[:count]), made[self._turn :])
            if run.unfolded.calls or run.unfolded.answer is not None or run.unfolded.failure is not None:
                return run
        if program.stopped is not None or not program.statements:
            raise InvalidOutputError(program.stopped.why if program.stopped else "it is no line of a program")
        return run

    def _action(self, run: FollowedProgram, made: Sequence[MadeCall]) -> Action:
        """The next call of a line, or its answer; empty where it has neither.

        Raises:
            InvalidOutputError: It cannot be written as an action.
        """
        results = [call.value for call in made if not call.failure]
        unfolded = run.unfolded
        if unfolded.calls and unfolded.calls[0].ready:
            call = unfolded.calls[0]
            return self._domain.options(call.name, call.arguments, results, each=self._each)[0].action
        if unfolded.answer is not None and unfolded.answer.ready:
            return self._domain.answering(unfolded.answer.value, results)
        return ""

    def _settle(self, state: State) -> Action | None:
        """Take in what has happened since; the next call of the line that was begun, or None where one is asked for."""
        made = [*self._domain.made(state, each=self._each)]
        if self._episode.env.domain.task_text() != self._task or len(made) < len(self._made):
            self._begin(made if len(made) >= len(self._made) else [])
        actions, refused = self._episode.result.actions, self._episode.refused
        acted, new = len(actions) > self._acted, _newest(self._made, made)
        self._made, self._acted = made, len(actions)
        tried = [item for item in self._offered if item.due in ([actions[-1]] if acted else refused)]
        if self._line is None and self._offered and (acted or tried):
            self._line, self._offered, self._computed = (tried or self._offered)[0], [], None
        if self._line is None:
            if acted and new is not None:
                self._done.append(self._told(new))
            if self._computed is not None and not self._offered:
                self._keep(self._computed)
                self._computed = None
            return None
        if new is not None:
            self._line.own.append(new)
        if self._line.due in refused or (acted and new is None):
            self._stop(REFUSED if self._line.due in refused else self._domain.said(state))
            return None
        return self._go_on(self._line, made) if acted else self._line.due

    def _go_on(self, line: _Line, made: Sequence[MadeCall]) -> Action | None:
        run, why = self._run(line.program, line.before, line.own), ""
        try:
            line.due = "" if run.unfolded.failure is not None else self._action(run, made)
            why = REFUSED if line.due in self._episode.refused else ""
        except InvalidOutputError as error:
            why = str(error)
        if line.due and not why:
            return line.due
        if why or run.unfolded.failure is not None:
            self._stop(why, None if why else run)
        else:
            self._line = None
            self._keep(run)
        return None

    def _stop(self, why: str, run: FollowedProgram | None = None) -> None:
        """End a line that failed, and show what it has done before."""
        line, self._line = self._line, None
        assert line is not None, "a line was begun"
        own = line.own[:-1] if run is not None and line.own and line.own[-1].failure else line.own
        self._done += [self._told(call) for call in own]
        if run is None:
            self._done.append(Done(line.program.text, failure=why))
        else:
            self._keep(run)

    def _keep(self, run: FollowedProgram) -> None:
        """Show a line with what came of it from now on, and know the names that it gave."""
        if run.unfolded.failure is None:
            self._done.append(Done(run.program.text, run.unfolded.values[-1]))
        else:
            self._done += lines_of(run, self._words)
        self._names = {**self._names, **run.unfolded.known}

    def _told(self, call: MadeCall) -> Done:
        """A call that is shown by itself, its result under a number."""
        text = f"{call.name}({', '.join(f'{name}={literal(value)}' for name, value in call.arguments.items())})"
        if call.failure:
            return Done(text, failure=call.failure, tool=call.name, hint=call.hint)
        same = [number for number, other in enumerate(self._made, 1) if _places([other]) == _places([call])]
        number = same[-1] if same else len(self._made)
        self._names[f"r{number}"] = call.value
        return Done(f"r{number} = {text}", call.value)

    # --- as a prompt format does -----------------------------------------------------------------

    def unfinished(self, state: State) -> Action | None:
        """The next call of the line that was begun."""
        return self._settle(state)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for the next line; where the action is fixed, for the action itself."""
        form = self._episode.roles.prompt_format
        if action is not None:
            return form.act_request(state, remaining, action, plan)
        self._settle(state)
        self._asked += 1
        return form.line_request(self._done, remaining, plan, each=self._each)

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The comment, and the first call of the line or its answer; an action may also be written as such."""
        if self._answered != self._asked:
            self._offered, self._computed, self._answered = [], None, self._asked
        made = self._domain.made(state, each=self._each)
        try:
            run = self._read(text, made)
            if run.unfolded.failure is not None:
                raise InvalidOutputError(run.unfolded.failure.why)
            action = self._action(run, made)
        except InvalidOutputError as error:
            try:
                return self._episode.roles.prompt_format.read_act(state, text)
            except InvalidOutputError:
                raise error from None
        if not action:
            if self._done and self._done[-1].text == run.program.text:
                raise InvalidOutputError("this line was just run; write the next one")
            self._computed = self._computed or run
            raise GoOnError("it makes no call")
        self._offered.append(_Line(run.program, action, made[self._turn :]))
        return run.program.comment, action


def _found_out(made: Sequence[MadeCall]) -> Iterator[MadeCall]:
    """What was found out since something has changed, the latest first."""
    for call in reversed(made):
        if call.changes:
            return
        if not call.failure:
            yield call


def _key(call: MadeCall) -> Any:
    return key_of(dict(call.arguments))


def _newest(before: Sequence[MadeCall], now: Sequence[MadeCall]) -> MadeCall | None:
    """The call that was made since; a failure that is repeated stands at its last place."""
    gave = [call for call in now if not call.failure]
    if len(gave) > sum(not call.failure for call in before):
        return gave[-1]
    failed, earlier = [call for call in now if call.failure], [call for call in before if call.failure]
    return failed[-1] if failed and (len(failed) > len(earlier) or _places(now) != _places(before)) else None


def _places(made: Sequence[MadeCall]) -> list[tuple[str, Any, str]]:
    return [(call.name, _key(call), call.failure) for call in made]


def free_actor(episode: Episode, temperature: float, *, each: bool = True) -> LmActor:
    """Chooses freely: line by line where plans are programs, else as the prompt format asks."""
    return LmActor(episode.roles, "free", temperature, free_prompts(episode, each=each))


def free_prompts(episode: Episode, *, each: bool = True) -> Lines | None:
    """The lines where plans are programs; None where the prompt format asks for actions."""
    lines = episode.env.domain.programs is not None and episode.roles.prompt_format.shows_lines
    return Lines(episode, each=each) if lines else None
