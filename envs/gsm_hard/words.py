"""Texts as words and numbers apart: what two problems share that differ in their numbers alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

SIGNS = {"$": "dollars", "%": "percent", "!": ".", ";": ",", ":": ","}
"""How signs are written as words; ``.``, ``,`` and ``?`` stay."""
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+)"
    r"|(?P<word>(?<=\w)'s(?![^\W_])|[^\W\d_]+)|(?P<sign>[.,?$%!;:])"
)


@dataclass(frozen=True)
class GsmWords:
    """A text without its numbers.

    Attributes:
        tokens: Lower-case words, ``.``, ``,``, ``?``, ``dollars``, ``percent``, and ``n1``, ``n2``, ... for numbers.
        numbers: The numbers in the order of the text, equal ones included.
    """

    tokens: tuple[str, ...]
    numbers: tuple[float, ...]


def delexicalise(text: str) -> GsmWords:
    """Take a text apart. Every number gets a place of its own, in hyphenated words too; other signs are left out."""
    tokens: list[str] = []
    numbers: list[float] = []
    for match in _TOKEN.finditer(text.lower().replace("’", "'")):
        piece = match.group()
        if match.lastgroup == "number":
            numbers.append(float(piece.replace(",", "")))
            tokens.append(f"n{len(numbers)}")
        else:
            tokens.append(SIGNS.get(piece, piece))
    return GsmWords(tuple(tokens), tuple(numbers))
