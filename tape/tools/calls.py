"""Calls of tools as the text of actions: ``multiply.exact(a=3, b=#1)``, ``answer(value=#2)``.

Values are JSON, or a placeholder ``#k`` for the result of the k-th successful call of the episode. Within a JSON text
``#k`` is replaced by the result's own text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.tools.errors import InvalidCallError

ANSWER = "answer"
"""The name of the call that ends an episode."""

LONGEST = 4000
"""Characters of the longest text that is read as a call."""

DEEPEST = 20
"""Lists and objects inside each other in a value."""

LONGEST_VALUE = 4 << 20
"""Bytes of JSON of a result, and characters that results fill into the texts of one call: else a call of a few
references to long results would be longer than the memory."""

_LETTER = r"(?:\w|[^\x00-\xa0\s])"
"""Of a name after its first one: many scripts have signs in their words, which a regular expression takes for none."""
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
        return tuple(number for _, value in self.args for number in _numbers(value))

    def renumbered(self, new: Callable[[int], int]) -> Call:
        """The same call with other numbers in its placeholders."""
        args = tuple((name, _replaced(value, lambda found: f"#{new(int(found[1]))}")) for name, value in self.args)
        return Call(self.kind, self.variant, args)

    def values(self, results: Sequence[Any], *, whole: bool = False) -> dict[str, Any]:
        """The arguments as Python values.

        Args:
            results: What was obtained so far; ``#1`` is the first.
            whole: In lists and objects too, a text that is a placeholder and nothing else stands for the result itself.

        Raises:
            InvalidCallError: A placeholder has no result, or the texts with the results filled in are too long.
        """
        filler = _Filler(results, whole=whole)
        return {name: _resolved(value, results, filler) for name, value in self.args}


def can_be_written(kind: str, variant: str, arguments: Iterable[str]) -> bool:
    """Whether calls of a tool with these names can be read again."""
    names = (re.fullmatch(_KIND, kind), re.fullmatch(rf"(?:{_VARIANT})?", variant))
    return all(names) and all(re.fullmatch(_ARGUMENT, name) for name in arguments)


def call(kind: str, variant: str = "", /, **values: Any) -> Call:
    """A call with these values; a text like ``"#1"`` on its own is a placeholder.

    Raises:
        InvalidCallError: A value is no JSON, or nested too deep.
    """
    return Call(kind, variant, tuple((name, _written(value)) for name, value in values.items()))


def answer(value: Any) -> Call:
    """The call that answers."""
    return call(ANSWER, value=value)


def from_mapping(tool: str, arguments: Mapping[str, Any]) -> Call:
    """A call as general models write it: the tool's full name and its arguments.

    Raises:
        InvalidCallError: A value is no JSON, or nested too deep.
    """
    kind, _, variant = tool.partition(".")
    return call(kind, variant, **arguments)


def _written(value: Any) -> str:
    if isinstance(value, str) and _PLACEHOLDER.fullmatch(value):
        return value
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

    Raises:
        InvalidCallError: It is no call; the message says where reading stopped.
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
    placeholder = _PLACEHOLDER.match(text, key.end())
    if placeholder:
        return key[1], placeholder[0], placeholder.end()
    try:
        value, end = _DECODER.raw_decode(text, key.end())
    except (ValueError, RecursionError):
        raise InvalidCallError(f"the value of {key[1]} is neither JSON nor #K: {text[key.end() :][:40]!r}") from None
    return key[1], _written(value), end


def _replaced(value: str, new: Callable[[re.Match[str]], str]) -> str:
    """A value with its placeholders replaced; the names in an object are none, whatever they look like."""
    if "{" not in value:  # no object, so no names in it
        return _PLACEHOLDER.sub(new, value)
    return _written(_with_texts(json.loads(value), lambda text: _PLACEHOLDER.sub(new, text)))


def _numbers(value: str) -> list[int]:
    found: list[int] = []

    def see(match: re.Match[str]) -> str:
        found.append(int(match[1]))
        return match[0]

    if "#" in value:
        _replaced(value, see)
    return found


class _Filler:
    """Fills results into the texts of one call.

    Args:
        results: What was obtained so far.
        whole: Whether a text that is a placeholder and nothing else stands for the result itself.
    """

    def __init__(self, results: Sequence[Any], *, whole: bool = False) -> None:
        self._results, self._whole, self._left = results, whole, LONGEST_VALUE

    def fill(self, text: str) -> Any:
        """A text with results in the places of their numbers."""
        filled = _PLACEHOLDER.sub(self._text, text)
        return _result(int(text[1:]), self._results) if self._whole and is_placeholder(text) else filled

    def _text(self, found: re.Match[str]) -> str:
        text = as_text(_result(int(found[1]), self._results))
        self._left -= len(text)
        if self._left < 0:
            raise InvalidCallError(f"with the results filled in, its texts have more than {LONGEST_VALUE} characters")
        return text


def _resolved(value: str, results: Sequence[Any], filler: _Filler) -> Any:
    if _PLACEHOLDER.fullmatch(value):
        return _result(int(value[1:]), results)
    return _with_texts(json.loads(value), filler.fill)


def _with_texts(value: Any, new: Callable[[str], Any]) -> Any:
    """JSON with other texts; the names in objects stay."""
    if isinstance(value, str):
        return new(value)
    if isinstance(value, list):
        return [_with_texts(item, new) for item in value]
    if isinstance(value, dict):
        return {name: _with_texts(item, new) for name, item in value.items()}
    return value


def _result(number: int, results: Sequence[Any]) -> Any:
    if not 1 <= number <= len(results):
        raise InvalidCallError(f"#{number} is the result of no call; there are {len(results)} results")
    return results[number - 1]


def is_placeholder(value: str) -> bool:
    """Whether the value of an argument is a result and nothing else."""
    return _PLACEHOLDER.fullmatch(value) is not None


def as_text(value: Any) -> str:
    """A result as it stands within a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
