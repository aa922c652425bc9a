"""Acting line by line where plans are programs: a model goes on from its own lines, and sees what came of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.agents.program_requests import lines_of
from tape.engine.act import GoOnError, LmActor
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

REFUSED = "it was refused; do without it"
"""What the model reads of a line whose call was not approved."""


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
        self._begin(0)

    def _begin(self, turn: int) -> None:
        self._task, self._turn = self._episode.env.domain.task_text(), turn
        self._done: list[Done] = []
        self._names: dict[str, Any] = {}
        self._written: list[tuple[Program, Action]] = []  # the samples of the last request
        self._since = turn  # calls that were made before them

    @property
    def _words(self) -> Vocabulary:
        return self._domain.words(self._episode.ledger.capped(), each=self._each)

    def _run(self, program: Program, made: Sequence[MadeCall]) -> FollowedProgram:
        used: set[int] = set()

        def resolve(name: str, arguments: Mapping[str, Any]) -> Any:
            plain = {key: value for key, value in arguments.items() if key != AGAIN}
            for number in reversed(range(len(made))):
                call = made[number]
                if number < self._since and (call.changes or call.failure):
                    if call.changes:
                        break  # what was found out before may be outdated
                    continue
                if number not in used and call.name == name and key_of(dict(call.arguments)) == key_of(plain):
                    used.update({number} if call.changes else ())
                    if call.failure:
                        raise CallFailedError(call.failure, call.hint)
                    return call.value
            raise NotMadeError

        return FollowedProgram(program, unfold(program, self._words, resolve, self._names))

    def _line(self, text: str, made: Sequence[MadeCall]) -> FollowedProgram:
        """What a model wrote up to its first call or its answer."""
        program = read(text, self._words, self._names, whole=False)
        for count in range(1, len(program.statements) + 1):
            run = self._run(replace(program, statements=program.statements[:count]), made)
            if run.unfolded.calls or run.unfolded.answer is not None or run.unfolded.failure is not None:
                return run
        if program.stopped is not None or not program.statements:
            raise InvalidOutputError(program.stopped.why if program.stopped else "it is no line of a program")
        return run

    def _settle(self, state: State) -> Action | None:
        """Keep the line that was chosen when all of it is done; until then, its next call."""
        made = self._domain.made(state, each=self._each)
        if self._episode.env.domain.task_text() != self._task or len(made) < self._since:
            self._begin(0 if len(made) < self._since else len(made))
        runs = [self._run(program, made) for program, _ in self._written]
        begun = [run for run in runs if run.unfolded.failure is not None or len(run.unfolded.made) > 0]
        if len(made) == self._since:  # nothing was called: an answer of another type, or it was refused
            for program, action in self._written[:1]:
                why = REFUSED if action in self._episode.refused else self._domain.said(state)
                self._done.append(Done(program.text, failure=why))
            self._written = []
            return None
        if begun:
            run = max(begun, key=lambda item: len(item.unfolded.made))
            if (action := self._action(run)) and action not in self._episode.refused:
                self._written = [(run.program, action)]
                return action
            self._keep(run, REFUSED if action else "")
        else:
            self._done += [self._told(number, call) for number, call in enumerate(made[self._since :], self._since + 1)]
        self._written, self._since = [], len(made)
        return None

    def _keep(self, run: FollowedProgram, refused: str = "") -> None:
        """Show a line with what came of it from now on, and know the names that it gave."""
        if refused:
            self._done.append(Done(run.program.text, failure=refused))
        elif run.unfolded.failure is None:
            self._done.append(Done(run.program.text, run.unfolded.values[-1]))
        else:
            self._done += lines_of(run, self._words)
        self._names = {**self._names, **run.unfolded.known}

    def _told(self, number: int, call: MadeCall) -> Done:
        """A call that stands in no line of this actor's, as after an episode was resumed."""
        text = f"{call.name}({', '.join(f'{name}={literal(value)}' for name, value in call.arguments.items())})"
        if call.failure:
            return Done(text, failure=call.failure, tool=call.name, hint=call.hint)
        self._names[f"r{number}"] = call.value
        return Done(f"r{number} = {text}", call.value)

    def _action(self, run: FollowedProgram) -> Action:
        """The next call of a line, or its answer; empty where it has neither."""
        results = [call.value for call in self._domain.made(self._episode.state) if not call.failure]
        unfolded = run.unfolded
        if unfolded.calls and unfolded.calls[0].ready:
            return self._domain.options(unfolded.calls[0].name, unfolded.calls[0].arguments, results)[0].action
        if unfolded.answer is not None and unfolded.answer.ready:
            return self._domain.answering(unfolded.answer.value, results)
        return ""

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
        return form.line_request(self._done, remaining, plan, each=self._each)

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The comment, and the first call of the line or its answer; an action may also be written as such."""
        try:
            run = self._line(text, self._domain.made(state, each=self._each))
            if run.unfolded.failure is not None:
                raise InvalidOutputError(run.unfolded.failure.why)
        except InvalidOutputError as error:
            try:
                return self._episode.roles.prompt_format.read_act(state, text)
            except InvalidOutputError:
                raise error from None
        if not (action := self._action(run)):
            if self._done and self._done[-1].text == run.program.text:
                raise InvalidOutputError("this line was just run; write the next one")
            self._keep(run)
            raise GoOnError("it makes no call")
        self._written.append((run.program, action))
        return run.program.comment, action


def free_actor(episode: Episode, temperature: float, *, each: bool = True) -> LmActor:
    """Chooses freely: line by line where plans are programs, else as the prompt format asks."""
    return LmActor(episode.roles, "free", temperature, free_prompts(episode, each=each))


def free_prompts(episode: Episode, *, each: bool = True) -> Lines | None:
    """The lines where plans are programs; None where the prompt format asks for actions."""
    programs = episode.env.domain.programs is not None and episode.roles.lm.prompt_format == "chat"
    return Lines(episode, each=each) if programs else None
