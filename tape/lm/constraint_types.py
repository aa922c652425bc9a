r"""Constraints on what a model writes, which requests have (:mod:`tape.lm.base`), and their regular expressions.

A pattern means what ``re.fullmatch`` makes of it. The decoder reads another syntax, in which ``\w``, ``~``, ``&&``
or a lazy quantifier mean something else; so a pattern is read by Python's own parser and written out again in what
both understand alike: code points and ranges of them, groups, alternatives and counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# The parser of re itself; no public name, and the one way to read what re reads.
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from pydantic import BaseModel

from tape.errors import ConstraintError


@dataclass(frozen=True)
class Forced:
    """The completion is this very text (the model still decodes it).

    Examples:
        >>> from tape.lm.base import Forced, Request
        >>> Request("Next action:", max_tokens=5, constraint=Forced("left")).constraint.text
        'left'
    """

    text: str


@dataclass(frozen=True)
class OneOf:
    """The completion is one of these texts.

    Attributes:
        options: The texts, one at least, all different.

    Raises:
        ConstraintError: There is none, one is there twice, or one is no text.

    Examples:
        >>> from tape.lm.base import OneOf, Request
        >>> Request("Is it solved?", max_tokens=1, constraint=OneOf(("yes", "no"))).constraint.options
        ('yes', 'no')
        >>> OneOf(())
        Traceback (most recent call last):
            ...
        tape.errors.ConstraintError: a choice needs at least one option and no duplicates, got ()
    """

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(option, str) for option in self.options):
            raise ConstraintError(f"the options of a choice are texts, got {self.options!r:.200}")
        if not self.options or len(set(self.options)) != len(self.options):
            raise ConstraintError(f"a choice needs at least one option and no duplicates, got {self.options!r:.200}")


@dataclass(frozen=True)
class Regex:
    r"""The completion matches this regular expression, as a whole, as Python's ``re.fullmatch`` reads it.

    What there is: literals and escaped ones; ``.`` (all but a newline); classes ``[a-z]`` and ``[^"]``; ``\d \w \s``
    and ``\D \W \S``, of all of Unicode as in Python; groups ``(...)``, ``(?:...)``, ``(?P<name>...)``, which only
    group; ``|``; ``* + ? {m} {m,} {,n} {m,n}``, lazy or not, which are the same texts; ``^ $ \A \Z`` at the ends, where
    they change nothing. Everything else is refused, since it is not about which texts match or cannot be enforced in
    decoding: look-around, backreferences, conditional and atomic groups, possessive quantifiers, ``\b``, anchors
    inside, inline flags such as ``(?i)``.

    Raises:
        ConstraintError: The pattern is malformed or uses something that is refused; names the construct.

    Examples:
        >>> from tape.lm.base import Regex, Request
        >>> request = Request("How many boxes?", max_tokens=2, constraint=Regex(r"\d{1,2}"))
        >>> Regex(r"(?=box)")
        Traceback (most recent call last):
            ...
        tape.errors.ConstraintError: ...
    """

    pattern: str

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise ConstraintError(f"the pattern of a constraint is a text, got {self.pattern!r:.200}")
        written_out(self.pattern)


@dataclass(frozen=True)
class JsonSchema:
    """The completion is a JSON object of this pydantic model; validated again after decoding.

    Not all that a model of pydantic asks for can be enforced: validators of its own, the distinct items of a set,
    bounds of dates, of spans and of decimals as text, bounds of numbers above 1e18, the length of keys that have a
    pattern, and at an endpoint what that passes over. Numbers with bounds are written without exponents, and spans of
    less than a million years.

    Examples:
        >>> from pydantic import BaseModel
        >>> from tape.lm.base import JsonSchema, Request
        >>> class Move(BaseModel):
        ...     direction: str
        >>> request = Request("Which way?", max_tokens=20, constraint=JsonSchema(Move))
        >>> request.constraint.model.model_validate_json('{"direction": "left"}').direction
        'left'
    """

    model: type[BaseModel]


@dataclass(frozen=True)
class Grammar:
    """The completion belongs to this context-free grammar; few backends can enforce one.

    Attributes:
        text: The grammar as the server reads it, for instance GBNF for llama.cpp.
        required: Without it, backends that cannot enforce it let the model write freely.

    Examples:
        >>> from tape.lm.base import Grammar, Request
        >>> request = Request("Count.", max_tokens=20, constraint=Grammar('root ::= "1" ("," "1")*'))
        >>> request.constraint.text
        'root ::= "1" ("," "1")*'
    """

    text: str
    required: bool = True


Constraint: TypeAlias = Forced | OneOf | Regex | JsonSchema | Grammar


LONGEST = 200_000
"""Most characters of a pattern; some 1 s to read."""

WRITTEN = 1_000_000
"""Most characters of a pattern as it is written out."""

DEEPEST = 100
"""Most groups and repetitions inside one another."""

Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
"""Code points, first and last of each run; sorted, apart from each other."""

_SURROGATES = ((0xD800, 0xDFFF),)
_LAST = 0x10FFFF

_REFUSED = {
    "ASSERT": "look-around",
    "ASSERT_NOT": "look-around",
    "ATOMIC_GROUP": "an atomic group",
    "GROUPREF": "a backreference",
    "GROUPREF_EXISTS": "a conditional group",
    "POSSESSIVE_REPEAT": "a possessive quantifier",
}
_ENDS = {"AT_BEGINNING": "^", "AT_BEGINNING_STRING": r"\A", "AT_END": "$", "AT_END_STRING": r"\Z"}


@lru_cache(maxsize=1024)
def written_out(pattern: str) -> str:
    """A pattern in the decoder's syntax, for the same texts.

    Raises:
        ConstraintError: It is no regular expression, uses what :class:`tape.lm.base.Regex` does not offer, or is too
            large.
    """
    if len(pattern) > LONGEST:
        raise ConstraintError(f"the pattern has {len(pattern)} characters, at most {LONGEST} are read; simplify it")
    try:
        tree = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConstraintError(f"{_shown(pattern)} is no regular expression of Python: {error}") from error
    flags = re.RegexFlag(tree.state.flags & ~re.UNICODE)
    if flags:
        raise _refusal(pattern, f"the inline flags {flags!r}")
    out = _sequence(pattern, tree, True, True, 0)
    if len(out) > WRITTEN:
        raise ConstraintError(
            f"{_shown(pattern)} comes to {len(out)} characters written out, at most {WRITTEN} are read"
        )
    return out


def literal(text: str) -> str:
    """A text in the decoder's syntax.

    Raises:
        ConstraintError: It has a lone surrogate, which no token can write.
    """
    if not text:
        return "(?:)"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ConstraintError(f"the tokenizer cannot write {text[:200]!r}: it has a lone surrogate; remove it")
    return "".join(map(_code, text))


def _code(character: str) -> str:
    return character if character.isascii() and character.isalnum() else f"\\x{{{ord(character):x}}}"


def _shown(pattern: str) -> str:
    return f"the pattern {pattern[:200]!r}"


def _refusal(pattern: str, what: str) -> ConstraintError:
    return ConstraintError(
        f"{_shown(pattern)} uses {what}, which constrained decoding does not offer; write it with literals, classes, "
        "groups, | and counts (tape.lm.base.Regex lists what there is)"
    )


def _sequence(pattern: str, items: Sequence[Any], first: bool, last: bool, depth: int) -> str:
    """Nodes in a row; ``first`` and ``last``: whether the row begins and ends where the text does."""
    if depth > DEEPEST:
        raise ConstraintError(f"{_shown(pattern)} nests deeper than {DEEPEST}; simplify it")
    end = len(items) - 1
    return "".join(
        _node(pattern, str(kind), value, first and i == 0, last and i == end, depth)
        for i, (kind, value) in enumerate(items)
    )


def _node(pattern: str, kind: str, value: Any, first: bool, last: bool, depth: int) -> str:
    match kind:
        case "LITERAL":
            return _class(pattern, ((value, value),))
        case "NOT_LITERAL":
            return _class(pattern, _others(((value, value),)))
        case "ANY":
            return _class(pattern, _others(((10, 10),)))
        case "IN":
            return _class(pattern, _members(pattern, value))
        case "BRANCH":
            return "(?:" + "|".join(_sequence(pattern, item, first, last, depth + 1) for item in value[1]) + ")"
        case "SUBPATTERN":
            _, added, removed, inner = value
            if added or removed:
                raise _refusal(pattern, f"the inline flags {re.RegexFlag(added | removed)!r}")
            return f"(?:{_sequence(pattern, inner, first, last, depth + 1)})"
        case "MAX_REPEAT" | "MIN_REPEAT":  # lazy or not: the same texts
            low, high, inner = value
            most = "" if high == _constants.MAXREPEAT else high
            return f"(?:{_sequence(pattern, inner, False, False, depth + 1)}){{{low},{most}}}"
        case "AT":
            name = str(value)
            if (first and name.startswith("AT_BEGINNING")) or (last and name.startswith("AT_END")):
                return ""  # a whole text is matched
            where = " inside the pattern" if name in _ENDS else ""
            raise _refusal(pattern, _ENDS.get(name, "a word boundary") + where)
        case _:
            raise _refusal(pattern, _REFUSED.get(kind, kind))


def _members(pattern: str, items: Iterable[Any]) -> Ranges:
    """The code points of a bracketed class."""
    numbers: list[tuple[int, int]] = []
    negated = False
    for kind, value in items:
        match str(kind):
            case "NEGATE":
                negated = True
            case "LITERAL":
                numbers.append((value, value))
            case "RANGE":
                numbers.append(value)
            case "CATEGORY":
                numbers += _category(str(value))
            case other:
                raise _refusal(pattern, other)
    joined = _joined(numbers)
    return _others(joined) if negated else joined


def _class(pattern: str, ranges: Ranges) -> str:
    # A text with a lone surrogate cannot be written in UTF-8, so no token writes one.
    ranges = _others(_joined((*_others(ranges), *_SURROGATES)))
    if not ranges:
        raise ConstraintError(f"{_shown(pattern)} has a class of no writable character, so nothing can meet it")
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _code(chr(ranges[0][0]))
    return "[" + "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges) + "]"


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return tuple(out)


def _others(ranges: Ranges) -> Ranges:
    """All code points but these."""
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), _LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


@lru_cache(maxsize=6)
def _category(name: str) -> Ranges:
    r"""What Python counts to ``\d``, ``\s``, ``\w`` and their opposites; other libraries count otherwise."""
    if "_NOT_" in name:
        return _others(_category(name.replace("_NOT_", "_")))
    letter = {"CATEGORY_DIGIT": "d", "CATEGORY_SPACE": "s", "CATEGORY_WORD": "w"}[name]
    everything = "".join(map(chr, range(_LAST + 1)))
    return tuple((match.start(), match.end() - 1) for match in re.finditer(rf"\{letter}+", everything))
