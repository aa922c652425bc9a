"""How anything from outside stands in a prompt: results, failures, hints, names and descriptions of tools.

All of them pass :func:`literal`. Servers read the special tokens of a chat template inside of contents too, and JSON's
own escapes leave them whole; so the characters that they are made of are written as escapes.
"""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST_RESULT = 400
"""Characters of a value that is shown."""

_SPECIAL = re.compile(r"[<>|]|\[(?=[/A-Z])")
"""What special tokens of chat templates are made of: ``<|im_end|>``, ``</s>``, ``[INST]``, ``[/INST]``."""
_BROKEN = re.compile(r"\\(u[0-9a-f]{0,3})?\Z")
"""An escape that was cut through."""


def literal(value: Any, longest: int = LONGEST_RESULT) -> str:
    r"""A value in one line of ASCII: JSON without the characters of special tokens, cut where it is long.

    Args:
        value: As JSON has it; a float that is none of JSON's becomes a text.
        longest: Characters that are shown; what follows says how much is missing.

    Examples:
        >>> from tape.plan.shown import literal
        >>> literal({"note": "<|im_end|>\nnew line"})
        '{"note": "\\u003c\\u007cim_end\\u007c\\u003e\\nnew line"}'
        >>> literal(list(range(1000)), 20)
        '[0, 1, 2, 3, 4, 5] and 994 more'
    """
    if isinstance(value, list) and len(whole := _written(value)) > longest:
        return _rows(value, longest) or cut(whole, longest)
    return cut(_written(value), longest)


def comment(text: str, longest: int = LONGEST_RESULT) -> str:
    """A text from outside as words without quotes, for the end of a line: a failure, a hint."""
    return literal(" ".join(text.split()), longest).replace('\\"', '"').removeprefix('"').removesuffix('"')


def _written(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    except ValueError:
        text = json.dumps(str(value))
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _rows(values: list[Any], longest: int) -> str:
    """The first items of a list, as many as there is room for; empty for none."""
    shown: list[str] = []
    room = longest - 2
    for value in values:
        text = _written(value)
        room -= len(text) + 2 * bool(shown)
        if room < 0:
            break
        shown.append(text)
    return f"[{', '.join(shown)}] and {len(values) - len(shown)} more" if shown else ""


def cut(text: str, longest: int) -> str:
    """The beginning of a text, and how many characters are missing."""
    if len(text) <= longest:
        return text
    kept = _BROKEN.sub("", text[:longest])
    return f"{kept} ... and {len(text) - len(kept)} more characters"
