"""Constraints as llama.cpp reads them: grammars in GBNF.

A grammar of our own has two advantages over a JSON schema that llama.cpp would turn into one: choices and patterns need
no JSON around them, and the same texts are allowed as by every other backend.

The notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from tape.errors import ConstraintError
from tape.lm.base import Constraint, Grammar
from tape.lm.constraints import to_decoder

MOST_COUNT = 2000
"""The largest count that llama.cpp takes; a larger upper one it reads as none."""

_PART = re.compile(
    r"(?P<code>\\x\{(?P<hex>[0-9a-f]+)\})|(?P<plain>[A-Za-z0-9])"
    r"|\[(?P<ranges>(?:\\x\{[0-9a-f]+\}-\\x\{[0-9a-f]+\})+)\]"
    r"|(?P<open>\(\?:)|(?P<close>\)(?:\{(?P<low>[0-9]+),(?P<high>[0-9]*)\})?)|(?P<bar>\|)"
)
"""What the decoder's syntax is made of (:mod:`tape.lm.patterns`)."""

_HEX = re.compile(r"[0-9a-f]+(?=\})")


@lru_cache(maxsize=128)
def to_gbnf(constraint: Constraint) -> str:
    """The grammar of a constraint; that of a :class:`tape.lm.base.Grammar` is its own text.

    Raises:
        ConstraintError: It is no regular language, too large, or counts as llama.cpp does not.
    """
    return constraint.text if isinstance(constraint, Grammar) else grammar_of(to_decoder(constraint))


def grammar_of(pattern: str) -> str:
    """The grammar of a pattern in the decoder's syntax.

    Every group has a rule of its own, shared with equal ones: llama.cpp writes out what is counted, and refuses counts
    within counts that come to too much, but it counts a rule's name as one.

    Raises:
        ConstraintError: It counts further than llama.cpp does, or counts what may be empty.
    """
    rules: dict[str, str] = {}
    # For each open group: its alternatives so far, each a row of items, with whether an item may be empty.
    stack: list[list[list[_Item]]] = [[[]]]
    literal: list[int] = []

    def close_literal() -> None:
        if literal:
            stack[-1][-1].append(('"' + "".join(map(_code, literal)) + '"', False))
            literal.clear()

    for part in _PART.finditer(pattern):
        if part["code"] or part["plain"]:
            literal.append(int(part["hex"], 16) if part["code"] else ord(part["plain"]))
            continue
        close_literal()
        if part["ranges"]:
            codes = [int(code, 16) for code in _HEX.findall(part["ranges"])]
            runs = zip(codes[::2], codes[1::2], strict=True)
            stack[-1][-1].append(("[" + "".join(f"{_code(low)}-{_code(high)}" for low, high in runs) + "]", False))
        elif part["open"]:
            stack.append([[]])
        elif part["bar"]:
            stack[-1].append([])
        else:
            alternatives = stack.pop()
            if any(alternatives) and part["high"] != "0":
                stack[-1][-1].append(_counted(alternatives, rules, part["low"] or "1", part["high"]))
    close_literal()
    [top] = stack
    return "\n".join([f"root ::= {_body(top)}", *(f"{name} ::= {body}" for body, name in rules.items()), ""])


_Item: TypeAlias = tuple[str, bool]
_COUNTS = {("0", ""): "*", ("1", ""): "+", ("0", "1"): "?", ("1", "1"): "", ("1", None): ""}


def _body(alternatives: list[list[_Item]]) -> str:
    return " | ".join(" ".join(text for text, _ in items) or '""' for items in alternatives)


def _counted(alternatives: list[list[_Item]], rules: dict[str, str], low: str, high: str | None) -> _Item:
    """A counted group; ``high`` is empty where there is no limit, and None where there is no count."""
    body = _body(alternatives)
    empty = any(all(may for _, may in items) for items in alternatives)
    count = _COUNTS.get((low, high))
    if count is None:
        count = f"{{{low}}}" if low == high else f"{{{low},{high}}}"
        if max(int(low), int(high or 0)) > MOST_COUNT:
            raise ConstraintError(f"llama.cpp counts to {MOST_COUNT} at most, and the constraint further: {count}")
    if empty and count not in ("", "?"):
        raise ConstraintError(f"llama.cpp cannot count what may be empty: {body[:200]}")
    name = body if _NAME.fullmatch(body) else rules.setdefault(body, f"r{len(rules) + 1}")
    return name + count, empty or low == "0"


_NAME = re.compile(r"r[0-9]+")


def _code(character: int) -> str:
    """A character in a literal or a class."""
    if character < 0x80 and (chr(character).isalnum() or chr(character) in " _{}:,.<>=+*/()#'"):
        return chr(character)
    return f"\\u{character:04X}" if character < 0x10000 else f"\\U{character:08X}"
