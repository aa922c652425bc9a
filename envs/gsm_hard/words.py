"""Texts as words and numbers apart: what the bundled model reads, with a place for every number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from envs.gsm_hard.errors import ArgumentError, TooManyNumbersError
from envs.gsm_hard.templates import CONSTANTS, TEMPLATES, WORD_LISTS, literals

MOST_NUMBERS = 12
"""Numbers of a text have the names ``n1`` to ``n12``."""
SIGNS = {"$": "dollars", "%": "percent", "!": ".", ";": ",", ":": ","}
"""How signs are written as words; ``.``, ``,`` and ``?`` stay."""
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+)"
    r"|(?P<word>(?<=\w)'s(?![^\W_])|[^\W\d_]+)|(?P<sign>[.,?$%!;:])"
)
_REFERENCE = re.compile(r"#[1-9]")
_SLOT = re.compile(r"n[1-9][0-9]?")


@dataclass(frozen=True)
class Words:
    """A text without its numbers.

    Attributes:
        tokens: Lower-case words, ``.``, ``,``, ``?``, ``dollars``, ``percent``, and ``n1``, ``n2``, ... for numbers.
        numbers: The numbers in the order of the text, equal ones included.
    """

    tokens: tuple[str, ...]
    numbers: tuple[float, ...]


def delexicalise(text: str) -> Words:
    """Take a text apart. Every number gets a place of its own, in hyphenated words too; other signs are left out.

    Raises:
        TooManyNumbersError: There are more than :data:`MOST_NUMBERS` numbers, or one is too large for a float.
    """
    tokens: list[str] = []
    numbers: list[float] = []
    for match in _TOKEN.finditer(text.lower().replace("’", "'")):
        piece = match.group()
        if match.lastgroup == "number":
            numbers.append(float(piece.replace(",", "")))
            tokens.append(f"n{len(numbers)}")
        else:
            tokens.append(SIGNS.get(piece, piece))
    if len(numbers) > MOST_NUMBERS:
        raise TooManyNumbersError(
            f"the text has {len(numbers)} numbers, the bundled model reads at most {MOST_NUMBERS}; "
            "shorten it or use another model"
        )
    if not all(map(math.isfinite, numbers)):
        raise TooManyNumbersError("the text has a number with too many digits for a float; write it shorter")
    return Words(tuple(tokens), tuple(numbers))


def _is_slot(token: str) -> bool:
    return _SLOT.fullmatch(token) is not None


@cache
def _known() -> frozenset[str]:
    texts = [text for template in TEMPLATES for parts in template.parsed for text in literals(parts)]
    texts += [re.sub(r"\{\w+\}", " ", text) for text in WORD_LISTS.asides]
    texts += [word for words in WORD_LISTS.lists.values() for word in words]
    texts += [word for words in WORD_LISTS.pronouns.values() for word in words.values()]
    return frozenset(word for text in texts for word in delexicalise(text).tokens)


VOCABULARY: tuple[str, ...] = tuple(sorted(_known()))
"""All words and signs that the generator can write, sorted."""


def unknown_words(text: str) -> tuple[str, ...]:
    """The words of a text that are not in :data:`VOCABULARY`, each once, in the order of the text."""
    tokens = dict.fromkeys(delexicalise(text).tokens)
    return tuple(token for token in tokens if token not in _known() and not _is_slot(token))


def argument_token(argument: float | str, words: Words) -> str:
    """How an argument of a call is written: ``#1`` as it is, a number of the text as its place, else a constant.

    A number that occurs more than once in the text is written as its first place.

    Raises:
        ArgumentError: It is none of these.
    """
    if isinstance(argument, str):
        if _REFERENCE.fullmatch(argument):
            return argument
    elif argument in words.numbers:
        return f"n{words.numbers.index(argument) + 1}"
    elif argument in CONSTANTS:
        return str(int(argument))
    raise ArgumentError(f"argument {argument!r} is {_expected(words)}")


def argument_value(token: str, words: Words) -> float | str:
    """What :func:`argument_token` wrote: a reference as it is, everything else as a number.

    Raises:
        ArgumentError: The token is no such thing, or the text has no number at that place.
    """
    if _REFERENCE.fullmatch(token):
        return token
    if _is_slot(token) and int(token[1:]) <= len(words.numbers):
        return words.numbers[int(token[1:]) - 1]
    if token in _CONSTANT_TOKENS:
        return float(token)
    raise ArgumentError(f"argument {token[:40]!r} is {_expected(words)}")


_CONSTANT_TOKENS = frozenset(map(str, CONSTANTS))


def _expected(words: Words) -> str:
    return (
        f"no earlier result (#1 to #9), none of the {len(words.numbers)} numbers of the text and none of the constants "
        f"{', '.join(map(str, CONSTANTS))}; give one of these"
    )
