"""How a word problem and calls of arithmetic tools are written for the bundled tool LM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envs.gsm_hard.arithmetic import ARITY
from envs.gsm_hard.chat_examples import chat_format
from envs.gsm_hard.errors import ArgumentError, TooManyNumbersError
from envs.gsm_hard.templates import CONSTANTS
from envs.gsm_hard.words import argument_token, argument_value, delexicalise, unknown_words
from tape.errors import InvalidOutputError, ModelError
from tape.reading import parse_json
from tape.tools.calls import Call, call
from tape.tools.environment import PromptFormats
from tape.tools.prompts.compact import CompactToolFormat, Reading
from tape.tools.state import ToolState

UNKNOWN_SHARE = 0.05
"""A text of which more words are unknown is none that the bundled LM can read."""

NAMES = ("a", "b")
"""The parameters of every tool; ``factorial`` has the first alone."""


class ArithmeticLexicon:
    """Implements :class:`tape.tools.prompts.compact.Lexicon`: numbers are slots in the order of the text.

    Args:
        text: The problem.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._words = delexicalise(text)
            self._problem = ""
        except TooManyNumbersError as error:
            self._words = delexicalise("")
            self._problem = str(error)

    def task(self) -> list[str]:
        """The words of the problem.

        Raises:
            ModelError: It is not written in words that the bundled LM knows.
        """
        unknown = unknown_words(self._text) if not self._problem else ()
        if len(unknown) > UNKNOWN_SHARE * len(self._words.tokens):
            shown = ", ".join(unknown[:5])
            self._problem = f"{len(unknown)} of its words are unknown to it, for instance {shown}"
        if self._problem:
            raise ModelError(
                f"unsupported: the bundled tool LM reads word problems of the project's own generator alone, and not "
                f"this one: {self._problem}. Choose a general model, for instance --model openai:NAME"
            )
        known = set(unknown)
        return ["<unk>" if token in known else token for token in self._words.tokens]

    def arguments(self, state: ToolState, call: Call) -> list[str]:
        """``n1 #2``."""
        del state
        return [self._token(value) for _, value in call.args]

    def _token(self, value: str) -> str:
        try:
            number = value if value.startswith("#") else float(parse_json(value, "it", error=ArgumentError))
            return argument_token(number, self._words)
        except (ArgumentError, TypeError, ValueError, OverflowError) as error:
            raise InvalidOutputError(
                f"the bundled tool LM has no word for the argument {value[:40]}: {error}"
            ) from None

    def result(self, state: ToolState, number: int) -> list[str]:
        """Nothing: which calls come next does not depend on what came out."""
        del state, number
        return []

    def pattern(self, state: ToolState, kind: str, references: str) -> str:
        """Slots, constants and references, as many as the kind takes."""
        del state
        slots = [f"n{number}" for number in range(1, len(self._words.numbers) + 1)]
        options = [*slots, *map(str, CONSTANTS), *([references] if references else [])]
        return f"(?:{'|'.join(options)}) " * ARITY[kind]

    def read(self, state: ToolState, kind: str, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The arguments behind the words."""
        del state
        if len(words) != ARITY[kind]:
            raise InvalidOutputError(f"{kind} takes {ARITY[kind]} arguments, got {len(words)}")
        try:
            values = [argument_value(word, self._words) for word in words]
        except ArgumentError as error:
            raise InvalidOutputError(str(error)) from None
        named: dict[str, Any] = dict(zip(NAMES, values, strict=False))
        return call(kind, **named).args

    def reading(self, state: ToolState) -> Reading | None:
        """None: results are numbers."""
        del state
        return None

    def longest_call(self, kind: str) -> list[str]:
        """Slots, references or constants, none of which is longer."""
        widest = max((f"n{len(self._words.numbers)}", *map(str, CONSTANTS)), key=len)
        return [widest] * ARITY[kind]

    def longest_reading(self) -> Reading | None:
        """None: results are numbers."""
        return None


def word_problem(text: str) -> PromptFormats:
    """A word problem as general models and as the bundled tool LM read it.

    Tools of your own can be used with it, if their kinds and arguments are named as here: ``add(a, b)``,
    ``factorial(a)``.

    Args:
        text: The problem.
    """
    return {"chat": chat_format, "tools": lambda domain: CompactToolFormat(domain, ArithmeticLexicon(text))}
