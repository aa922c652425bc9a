"""What a tool returns, as JSON that does not depend on how the process hashes."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import to_jsonable_python


def jsonable(value: Any) -> Any:
    """A value as JSON has it; sets become sorted lists."""
    return to_jsonable_python(_ordered(value))


def _ordered(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        items = to_jsonable_python([_ordered(item) for item in value])
        alike = all(isinstance(item, str) for item in items) or all(isinstance(item, int | float) for item in items)
        return sorted(items) if alike else sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, dict):
        return {name: _ordered(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_ordered(item) for item in value]
    return value


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
    """The beginning of a text, in no more than so many bytes; an ellipsis says that there is more."""
    # Lone surrogates are no text: no tokenizer takes them.
    written = text.encode("utf-8", "replace")
    if len(written) <= longest:
        return written.decode()
    return written[: longest - len(_ELLIPSIS.encode())].decode("utf-8", "ignore") + _ELLIPSIS


def filler(longest: int) -> str:
    """A text of so many bytes; as many words as such a text has at most, and of digits, which are tokens each."""
    return "1 " * (longest // 2)
