"""Calls of tools as the text of actions: ``multiply.exact(a=3, b=#1)``, ``answer(value=#2)``.

Values are JSON, a placeholder ``#k`` for the result of the k-th successful call of the episode, or an expression of the
language of plans over such results: ``send(to=#1["email"])``.

A text that is no call, and a value that is no JSON or nested too deep, raise an `InvalidCallError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.plan.open import expression_of, references, referred, value_of
from tape.plan.values import FailedError
from tape.tools.errors import InvalidCallError

ANSWER = "answer"
"""The name of the call that ends an episode."""

LONGEST = 4000
"""Characters of the longest text that is read as a call."""

LONGEST_GIVEN = 200
"""Characters of the longest result that stands in an action itself."""

DEEPEST = 20
"""Lists and objects inside each other in a value."""

LONGEST_VALUE = 4 << 20
"""Bytes of JSON of a result."""

_LETTER = r"(?:\w|(?!\w)[^\x00-\xa0\s])"
"""Of a name after its first one: many scripts have signs in their words, which a regular expression takes for none.

No letter matches in two ways, else a long name that is none would take for ever.
"""
_KIND, _VARIANT, _ARGUMENT = rf"[^\W\d](?:{_LETTER}|-)*", r"[\w-]+", rf"[^\W\d]{_LETTER}*"
_NAME = re.compile(rf"\s*({_KIND})(?:\.({_VARIANT}))?\s*\(\s*")
_KEY = re.compile(rf"({_ARGUMENT})\s*=\s*")
_PLACEHOLDER = re.compile(r"#([1-9][0-9]{0,2})(?![0-9])")
_SEPARATOR = re.compile(r"\s*(,|\))\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Call:
    """A call of one variant of a tool.

    Attributes:
        kind: What is done, for instance ``multiply``.
        variant: Which tool of that kind does it; empty where there is one only.
        args: Names and values, the values as the text that stands in the action.
    """

    kind: str
    variant: str = ""
    args: tuple[tuple[str, str], ...] = ()

    @property
    def symbol(self) -> str:
        """The call without its variant: ``multiply(a=3, b=#1)``."""
        return f"{self.kind}({self._arguments()})"

    @property
    def tool(self) -> str:
        """The tool's full name: ``multiply.exact``."""
        return f"{self.kind}.{self.variant}" if self.variant else self.kind

    @property
    def text(self) -> str:
        """The action: ``multiply.exact(a=3, b=#1)``."""
        return f"{self.tool}({self._arguments()})"

    def _arguments(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.args)

    @property
    def references(self) -> tuple[int, ...]:
        """The results that it needs, in the order of their mention."""
        return tuple(number for _, value in self.args if _is_expression(value) for number in references(value))

    def renumbered(self, new: Callable[[int], int]) -> Call:
        """The same call with other numbers in its placeholders."""
        args = tuple(
            (name, referred(value, lambda k: f"#{new(k)}") if _is_expression(value) else value)
            for name, value in self.args
        )
        return Call(self.kind, self.variant, args)

    def values(self, results: Sequence[Any]) -> dict[str, Any]:
        """The arguments as Python values."""
        if unknown := [number for number in self.references if not 1 <= number <= len(results)]:
            raise InvalidCallError(f"#{unknown[0]} is the result of no call; there are {len(results)} results")
        return {name: _value(value, results) for name, value in self.args}


def _is_expression(value: str) -> bool:
    """Whether the value of an argument is computed; else it is JSON."""
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return True
    return False


def _value(value: str, results: Sequence[Any]) -> Any:
    if is_placeholder(value):
        return results[int(value[1:]) - 1]
    try:
        return value_of(value, results) if _is_expression(value) else json.loads(value)
    except FailedError as error:
        raise InvalidCallError(str(error)) from None


def can_be_written(kind: str, variant: str, arguments: Iterable[str]) -> bool:
    """Whether calls of a tool with these names can be read again."""
    names = (re.fullmatch(_KIND, kind), re.fullmatch(rf"(?:{_VARIANT})?", variant))
    return all(names) and all(re.fullmatch(_ARGUMENT, name) for name in arguments)


def call(kind: str, variant: str = "", /, **values: Any) -> Call:
    """A call with these values; a text like ``"#1"`` on its own is a placeholder."""
    args = ((name, value if _is_reference(value) else written(value)) for name, value in values.items())
    return Call(kind, variant, tuple(args))


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and is_placeholder(value)


def answer(value: Any) -> Call:
    """The call that answers."""
    return call(ANSWER, value=value)


def from_mapping(tool: str, arguments: Mapping[str, Any]) -> Call:
    """A call as general models write it: the tool's full name and its arguments."""
    kind, _, variant = tool.partition(".")
    return Call(kind, variant, tuple((name, written(value)) for name, value in arguments.items()))


def written(value: Any) -> str:
    """A value as it stands in an action."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if not _is_shallow(value, DEEPEST):
        raise InvalidCallError(f"a value has more than {DEEPEST} lists and objects inside each other")
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidCallError(f"a value is no JSON: {error}") from None
    # Lone surrogates stay escaped: no tokenizer and no file takes them as they are.
    return text if text.isascii() or not _SURROGATE.search(text) else json.dumps(value, sort_keys=True)


def given(value: Any, results: Sequence[Any]) -> str:
    """A value as it stands in an action: a long or deep one that is a result as a reference to it."""
    try:
        text = written(value)
    except InvalidCallError:
        text = ""
    if text and len(text) <= LONGEST_GIVEN:
        return text
    same = json.dumps(value, sort_keys=True)
    for number, result in enumerate(results, 1):
        if json.dumps(result, sort_keys=True) == same:
            return f"#{number}"
    if isinstance(value, list) and value:  # what ``ask`` reads
        text = f"[{', '.join(given(item, results) for item in value)}]"
    if len(text) > LONGEST:
        raise InvalidCallError(f"a value of {len(text)} characters that is no result; the longest has {LONGEST}")
    return text or written(value)


def _is_shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in items)


def parse(text: str, longest: int = LONGEST) -> Call:
    """Read an action.

    Args:
        text: The action.
        longest: Characters of the longest text that is read; an action with results filled in may have more.
    """
    if len(text) > longest:
        raise InvalidCallError(f"a call of {len(text)} characters; the longest that is read has {longest}")
    head = _NAME.match(text)
    if head is None:
        raise InvalidCallError(f"expected TOOL(NAME=VALUE, ...), got {text[:80]!r}")
    args: list[tuple[str, str]] = []
    at = head.end()
    if text[at : at + 1] == ")":
        at += 1
    else:
        while True:
            name, value, at = _argument(text, at)
            if name in dict(args):
                raise InvalidCallError(f"the argument {name} is given twice")
            args.append((name, value))
            separator = _SEPARATOR.match(text, at)
            if separator is None:
                raise InvalidCallError(f"expected ',' or ')' at {text[at : at + 40]!r}")
            at = separator.end()
            if separator[1] == ")":
                break
    if text[at:].strip():
        raise InvalidCallError(f"there is something after the call: {text[at : at + 40]!r}")
    return Call(head[1], head[2] or "", tuple(args))


def _argument(text: str, at: int) -> tuple[str, str, int]:
    key = _KEY.match(text, at)
    if key is None:
        raise InvalidCallError(f"expected NAME=VALUE at {text[at : at + 40]!r}")
    try:
        value, end = _DECODER.raw_decode(text, key.end())
        if _SEPARATOR.match(text, end):
            return key[1], written(value), end
    except (ValueError, RecursionError):
        pass
    end = _end_of_expression(text, key.end())
    shown = text[key.end() : end].strip()
    try:
        shown = expression_of(shown)
    except FailedError:
        raise InvalidCallError(
            f"the value of {key[1]} is neither JSON nor an expression: {text[key.end() :][:40]!r}"
        ) from None
    if not references(shown):
        return key[1], written(_value(shown, [])), end
    return key[1], shown, end


def _end_of_expression(text: str, at: int) -> int:
    """Where a value ends: at a comma or bracket that is in no text and in no bracket of its own."""
    depth, quote = 0, ""
    while at < len(text):
        if quote:
            if text[at] == "\\":
                at += 1
            elif text.startswith(quote, at):
                at, quote = at + len(quote) - 1, ""
        elif text[at] in "\"'":
            quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
            at += len(quote) - 1
        elif text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            if depth == 0:
                return at
            depth -= 1
        elif text[at] == "," and depth == 0:
            return at
        at += 1
    return at


def is_placeholder(value: str) -> bool:
    """Whether the value of an argument is a result and nothing else."""
    return _PLACEHOLDER.fullmatch(value) is not None


def as_text(value: Any) -> str:
    """A result as it stands within a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
