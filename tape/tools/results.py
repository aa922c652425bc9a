"""What a tool returns, as JSON that does not depend on how the process hashes and that every file of a run can hold.

What is longer, deeper or larger than what is kept, or no JSON, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import GeneratorType
from typing import Any

from pydantic_core import to_jsonable_python

from tape.tools.calls import LONGEST_VALUE
from tape.tools.errors import InvalidCallError, ToolFailedError

DEEPEST_RESULT = 50
"""Lists and objects inside each other in a result. Readers of what a run writes stop at 100."""

MOST_VALUES = 200_000
"""Numbers, texts, lists and objects in a result."""

LARGEST_NUMBER = 10**300
"""Of a whole number in a result; what reads it again as a float, or adds some up, must not overflow."""


def as_json(value: Any) -> tuple[Any, str]:
    """A result as plain values, and as the text that stands for it."""
    plain = jsonable(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())  # lone surrogates are no text: no tokenizer takes them
    except ValueError as error:
        raise ToolFailedError(f"it is no JSON: {error}") from error
    if size > LONGEST_VALUE:
        raise ToolFailedError(f"it has {size} bytes as JSON; the most that is kept is {LONGEST_VALUE}")
    return plain, text


def jsonable(value: Any) -> Any:
    """A value as JSON has it; sets become sorted lists, generators lists."""
    return _Bounded().plain(to_jsonable_python(_Bounded().plain(value)))


def as_asked(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call as one text."""
    try:
        return json.dumps(jsonable(dict(arguments)), sort_keys=True)
    except ToolFailedError as error:
        raise InvalidCallError(f"the arguments cannot be given: {error}") from error


class _Bounded:
    """Copies lists and objects, and stops where a result is too much: a list may hold itself, a generator never end."""

    def __init__(self) -> None:
        self._left, self._values = LONGEST_VALUE, MOST_VALUES

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The copy; other values than lists, sets, objects and generators are left as they are."""
        self._count(value)
        if not isinstance(value, dict | list | tuple | set | frozenset | GeneratorType):
            return value
        if depth == DEEPEST_RESULT:
            raise ToolFailedError(
                f"it has more than {DEEPEST_RESULT} lists and objects inside each other, or one that holds itself"
            )
        if isinstance(value, dict):
            copy = {}
            for name, item in value.items():
                self._count(name)
                copy[name] = self.plain(item, depth + 1)
            return copy
        items = [self.plain(item, depth + 1) for item in value]
        return _sorted(items) if isinstance(value, set | frozenset) else items

    def _count(self, value: Any) -> None:
        self._values -= 1
        if self._values < 0:
            raise ToolFailedError(f"it has more than {MOST_VALUES} values, which is the most that is kept")
        self._left -= len(value) if isinstance(value, str | bytes) else 0
        if self._left < 0:
            raise ToolFailedError(f"it has more than {LONGEST_VALUE} bytes as JSON, which is the most that is kept")
        if isinstance(value, int) and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
            raise ToolFailedError("it holds a whole number of more than 300 digits; return that as a text")


def _sorted(items: list[Any]) -> list[Any]:
    items = to_jsonable_python(items)
    alike = all(isinstance(item, str) for item in items) or all(isinstance(item, int | float) for item in items)
    return sorted(items) if alike else sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


LONGEST_RESULT = 400
"""Of a result; what a tool really returned stays in the state."""

LONGEST_NOTE = 300
"""Of an error."""

LONGEST_TEXT = 6000
"""Of a result that is read."""

LONGEST_QUESTION = 500
"""Of what a result is read for."""

_ELLIPSIS = "…"


def cut(text: str, longest: int) -> str:
    """The beginning of a text, in no more than so many bytes; an ellipsis marks that there is more."""
    # Lone surrogates are no text: no tokenizer takes them. A character is a byte at least, so more are not looked at.
    written = text[: longest + 1].encode("utf-8", "replace")
    if len(written) <= longest:
        return written.decode()
    return written[: longest - len(_ELLIPSIS.encode())].decode("utf-8", "ignore") + _ELLIPSIS


def filler(longest: int) -> str:
    """A text of so many bytes; as many words as such a text has at most, and of digits, which are tokens each."""
    return "1 " * (longest // 2)
