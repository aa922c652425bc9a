"""What has been called, and how a program is followed along it: what it did counts, and is not done again."""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tape.plan.open import key_of
from tape.plan.program import Program, Statement, called, names_read, tools_called
from tape.plan.unfold import CallFailedError, NotMadeError, Unfolded, unfold
from tape.plan.vocabulary import AGAIN, Vocabulary

NOTHING: tuple[Any, ...] = (None, "", [], {})
"""What a call gives that has found nothing."""


@dataclass(frozen=True)
class MadeCall:
    """A call that was made.

    Attributes:
        name: Of the tool in programs.
        arguments: As JSON has values.
        value: Its result; None where it failed.
        failure: Why it failed; empty where it did not.
        hint: What may help.
        changes: It may have changed something.
        late: It gave no answer in time: what it has changed is unknown.
    """

    name: str
    arguments: Mapping[str, Any]
    value: Any = None
    failure: str = ""
    hint: str = ""
    changes: bool = False
    late: bool = False


@dataclass(frozen=True)
class Effects:
    """What a domain says of calls that change something.

    Attributes:
        of: What a call does for good, by its tool and arguments; equal for two calls of which one is enough.
        keyed: Whether a tool declares which of its arguments make two calls one; else such calls are counted.
    """

    of: Callable[[str, Mapping[str, Any]], str]
    keyed: Callable[[str], bool]


@dataclass(frozen=True)
class FollowedProgram:
    """A program as far as it has been followed.

    Attributes:
        program: The program.
        unfolded: What it does next, and after that.
        effects: What it has done for good and is still to do, in order.
        done: How many of these are done.
        compatible: All that was done for good since its request was made is in it.
    """

    program: Program
    unfolded: Unfolded
    effects: tuple[str, ...] = ()
    done: int = 0
    compatible: bool = True

    @property
    def failed(self) -> bool:
        """Whether it cannot go on: a line has failed, or it was not understood and all before is done."""
        rest = self.unfolded.calls
        return self.unfolded.failure is not None or (self.program.stopped is not None and not rest)

    @property
    def ended(self) -> bool:
        """Whether all of it is done, and it gives no answer."""
        return not self.unfolded.calls and self.unfolded.answer is None

    @property
    def empty(self) -> list[Statement]:
        """Statements that give a name nothing, as after a call that looks in the wrong place."""
        values = zip(self.program.statements, self.unfolded.values, strict=False)
        return [statement for statement, value in values if statement.target and value in NOTHING]


@dataclass(frozen=True)
class CallRecord:
    """The calls of an episode, seen from one request for programs.

    Attributes:
        words: What may be called.
        made: All calls, in order.
        since: How many of them had been made when the programs were asked for.
        effects: What calls do for good.
        allowed: How often an effect that is counted may be made in all, as the program that is continued has it.
        names: Values from before.
        can_retry: Whether a failed call may still be made in another way.
    """

    words: Vocabulary
    made: Sequence[MadeCall]
    since: int
    effects: Effects
    allowed: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)
    can_retry: Callable[[MadeCall], bool] = lambda _: False

    def follow(self, program: Program) -> FollowedProgram:
        """A program as far as results are there; of one that was not understood what is pure at its beginning."""
        used: set[int] = set()
        order: list[str] = []

        def resolve(name: str, arguments: Mapping[str, Any]) -> Any:
            if self.words.changes(name):
                effect = self.effects.of(name, {key: value for key, value in arguments.items() if key != AGAIN})
                number = self._done(effect, name, arguments, used)
                if number is None:
                    raise NotMadeError
                used.add(number)
                order.append(effect)
            else:
                number = self._pure(name, arguments, used)
            return _came(self.made[number])

        unfolded = unfold(program, self.words, resolve, self.names)
        done, calls = len(order), unfolded.calls
        if program.stopped is not None:
            first = next((n for n, call in enumerate(calls) if self.words.changes(call.name)), len(calls))
            calls = calls[:first]
            unfolded = replace(unfolded, calls=calls, answer=None)
        order += [self.effects.of(call.name, call.arguments) for call in calls if self.words.changes(call.name)]
        later = {n for n, made in enumerate(self.made) if n >= self.since and made.changes and not made.failure}
        return FollowedProgram(program, unfolded, tuple(order), done, later <= used)

    def _done(self, effect: str, name: str, arguments: Mapping[str, Any], used: set[int]) -> int | None:
        """The call that has done an effect, which the program has not used yet; None where it is still to be done."""
        again = bool(arguments.get(AGAIN))
        plain = {key: value for key, value in arguments.items() if key != AGAIN}
        known = [
            number
            for number, made in enumerate(self.made)
            if made.changes and number not in used and self.effects.of(made.name, made.arguments) == effect
            and not (number < self.since and (again or made.failure))
        ]  # fmt: skip
        same = [number for number in known if key_of(dict(self.made[number].arguments)) == key_of(plain)]
        own = [number for number in known if number >= self.since]
        if same or own:
            return (same or own)[0]
        spent = sum(made.changes and self.effects.of(made.name, made.arguments) == effect for made in self.made)
        counted = not self.effects.keyed(name) and spent < self.allowed.get(effect, 0)
        if counted:
            return None
        earlier = [n for n, made in enumerate(self.made[: self.since]) if made.changes and not made.failure
                   and self.effects.of(made.name, made.arguments) == effect]  # fmt: skip
        return known[0] if known else earlier[-1] if earlier and not again else None

    def _pure(self, name: str, arguments: Mapping[str, Any], used: set[int]) -> int:
        """The first call of the same since something has changed for the program; a failed one counts a request."""
        before = [number for number, made in enumerate(self.made[: self.since]) if made.changes]
        changed = max([*before, *used], default=-1)
        wanted = key_of(dict(arguments))
        for number, made in enumerate(self.made[changed + 1 :], changed + 1):
            counts = not made.changes and not (made.failure and (number < self.since or self.can_retry(made)))
            if counts and made.name == name and key_of(dict(made.arguments)) == wanted:
                return number
        raise NotMadeError

    def left_out(
        self, run: FollowedProgram, unwanted: Callable[[str, int], bool]
    ) -> tuple[FollowedProgram, list[Statement]]:
        """A run without what it is not to do for good.

        Args:
            run: The run.
            unwanted: Whether an effect is, by what it is and how often it stands in the program up to there; asked only
                where its arguments are there.

        Returns:
            The run of the program without these statements, and the statements; the program ends before a statement
            that needs what one of them would have given.
        """
        dropped: list[Statement] = []
        seen = Counter(run.effects[: run.done])
        lines: set[int] = set()
        for call in run.unfolded.calls:
            if self.words.changes(call.name):
                effect = self.effects.of(call.name, call.arguments)
                seen[effect] += 1
                if call.ready and unwanted(effect, seen[effect]):
                    lines.add(call.line)
        if not lines:
            return run, []
        kept: list[Statement] = []
        missing: set[str] = set()
        for statement in run.program.statements:
            if missing & names_read(statement.value):
                break
            if statement.line in lines and called(statement.value) in self.words.tools:
                dropped.append(statement)
                missing |= {statement.target} - {""}
            elif statement.line in lines:
                break
            else:
                kept.append(statement)
        program = replace(run.program, statements=tuple(kept))
        return self.follow(program), dropped


def _came(made: MadeCall) -> Any:
    if made.failure:
        raise CallFailedError(made.failure, made.hint)
    return made.value


_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


def follow(record: CallRecord, program: Program, task: str) -> FollowedProgram:
    """A program as far as results are there, with the task's spelling in pure calls that have found nothing [ours].

    A model writes ``'Tea Kettle'`` where the task has ``tea kettle``, and writes it so again when it is told (0 of 16
    samples of Qwen2.5-Coder-1.5B followed such a hint). Where a text in a call is in the task but for capital letters,
    the task's own spelling stands in for it.
    """
    run = record.follow(program)
    empty = [
        statement
        for statement in run.empty
        if not any(map(record.words.changes, tools_called(statement.value, record.words)))
    ]
    statements = tuple(
        _respelled(statement, task) if statement in empty else statement for statement in program.statements
    )
    same = all(statement is other for statement, other in zip(statements, program.statements, strict=True))
    return run if same else record.follow(replace(program, statements=statements))


def _respelled(statement: Statement, task: str) -> Statement:
    value, changed = copy.deepcopy(statement.value), False
    for node in ast.walk(value):
        arguments = [keyword.value for keyword in node.keywords] if called(node) and isinstance(node, ast.Call) else []
        for argument in arguments:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                new = _spelled(argument.value, task)
                changed, argument.value = changed or new != argument.value, new
    if not changed:
        return statement
    target = f"{statement.target} = " if statement.target else ""
    return replace(statement, text=f"{target}{ast.unparse(value)}", value=value)


def _spelled(text: str, task: str) -> str:
    """A text with the task's spelling: of what stands in quotes, else of the whole."""
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    for part in quoted or [text]:
        match = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", task, re.IGNORECASE)
        if match is not None and part not in task:
            text = text.replace(part, match[0])
    return text
