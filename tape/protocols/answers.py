"""Reading the JSON that models write; of truncated JSON the beginning, because plans are usable up to there."""

from __future__ import annotations

import json
import re
from typing import Any

_BETWEEN = re.compile(r"[ \t\n\r]*,?[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")


def fields_of(text: str) -> tuple[dict[str, Any], bool]:
    """The fields of a JSON object.

    Returns:
        All of them and True; or, if the text is no JSON object, the readable ones at its beginning (of a truncated list
        the first items) and False.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return _beginning(text), False
    return (data, True) if isinstance(data, dict) else ({}, False)


def items_of(text: str, name: str) -> tuple[list[Any], bool]:
    """The list in a JSON object's field.

    Returns:
        Its items, or the readable ones at its beginning; and whether object and list are complete.
    """
    fields, whole = fields_of(text)
    items = fields.get(name)
    return (items, whole) if isinstance(items, list) else ([], False)


def _beginning(text: str) -> dict[str, Any]:
    """The fields up to the first unreadable one."""
    values: dict[str, Any] = {}
    decoder, at = json.JSONDecoder(), text.find("{") + 1
    while at:
        key, at = _next(decoder, text, _after(_BETWEEN, text, at))
        colon = _COLON.match(text, at) if isinstance(key, str) else None
        if colon is None:
            break
        start = colon.end()
        value, at = _next(decoder, text, start)
        if at == 0 and text[start : start + 1] == "[":
            value = _items(decoder, text, start + 1)
        elif at == 0:
            break
        values[str(key)] = value
    return values


def _items(decoder: json.JSONDecoder, text: str, at: int) -> list[Any]:
    """The items of a truncated list."""
    values: list[Any] = []
    while at:
        value, at = _next(decoder, text, _after(_BETWEEN, text, at))
        if at:
            values.append(value)
    return values


def _next(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    """The value at a position and its end; 0 if there is none, or it may be truncated."""
    try:
        value, end = decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, 0
    return (None, 0) if end == len(text) and isinstance(value, (int, float)) else (value, end)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
