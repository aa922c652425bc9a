"""What is asked of an answer before it is taken, and whether the one that was taken is right."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from tape.errors import ConfigError
from tape.tools.answers import AnswerType
from tape.tools.apart import Made, attempt
from tape.tools.context import ToolContext
from tape.tools.errors import InvalidCallError, ToolError

ANSWER_TRIES = 2
"""Answers that may be given until one will do, by default."""

Judge: TypeAlias = Callable[[Any], bool]
"""Decides whether an answer is right."""
AnswerCheck: TypeAlias = Callable[..., str | Awaitable[str | None] | None]
"""Takes an answer, or the run's context and an answer; says why it is sent back, or nothing where it will do."""


class AnswerRules:
    """What is asked of a task's answer.

    Args:
        asked: The type.
        judge: Decides whether an answer is right; without one every answer is.
        check: May send an answer back with a reason.
        tries: Answers that may be given until one will do.

    Raises:
        ConfigError: The check is no function of one or two parameters, or ``tries`` no whole number above 0.
    """

    def __init__(
        self, asked: AnswerType | None, judge: Judge | None, check: AnswerCheck | None, tries: int = ANSWER_TRIES
    ) -> None:
        if isinstance(tries, bool) or not isinstance(tries, int) or tries < 1:
            raise ConfigError(f"answer_tries= is a whole number above 0, not {tries!r}")
        self.asked, self.judge, self._check, self._tries = asked, judge, check, tries
        self._takes_context = check is not None and _takes_context(check)
        self._refused = 0

    def begin(self) -> None:
        """No answer has been refused yet."""
        self._refused = 0

    @property
    def used_up(self) -> bool:
        """Whether no further answer is taken."""
        return self._refused >= self._tries

    async def taken(self, value: Any, context: Callable[[], ToolContext]) -> Any:
        """An answer as a value of the type.

        Raises:
            InvalidCallError: It is of another type, or was sent back; the message says why.
            ToolError: The check has failed.
        """
        try:
            typed = value if self.asked is None else self.asked.checked(value)
            if why := await self._why(typed, context):
                raise InvalidCallError(f"the answer was sent back: {why}")
        except InvalidCallError:
            self._refused += 1
            raise
        return typed

    async def _why(self, value: Any, context: Callable[[], ToolContext]) -> str:
        check = self._check
        if check is None:
            return ""
        try:
            said = check(context(), value) if self._takes_context else check(value)
            why = await said if inspect.isawaitable(said) else said
        except Exception as error:  # whatever a check of one's own raises
            raise ToolError(f"answer_check has failed: {type(error).__name__}: {error}") from error
        if not isinstance(why, str | None):
            raise ToolError(f"answer_check says why an answer is sent back, in words, or None; it returned {why!r:.80}")
        return why or ""

    def right(self, value: Any) -> bool:
        """Whether an answer that was taken is right.

        Raises:
            ToolError: The judge has failed.
        """
        judge = self.judge
        if judge is None:
            return True
        judged = attempt(lambda: Made(bool(judge(value))))
        if judged.failure is not None:
            raise ToolError(f"the judge of the answer has failed: {judged.failure}")
        return judged.value is True


def _takes_context(check: AnswerCheck) -> bool:
    try:
        parameters = [
            parameter for parameter in inspect.signature(check).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]  # fmt: skip
    except (TypeError, ValueError):
        parameters = []
    if len(parameters) not in (1, 2):
        raise ConfigError(f"answer_check= is a function of the answer, or of the context and the answer, not {check!r}")
    return len(parameters) == 2
