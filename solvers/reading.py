"""JSON from outside, read with bounds on size, values, depth and digits. What its fields hold, their readers check."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

LARGEST_FILE = 256 * 2**20
"""Characters. A problem of a million edges has about 40 million."""
MOST_VALUES = 20_000_000
"""A value takes up to 200 bytes of memory, however few it takes in the text."""


def parse_json(text: str | bytes, where: str, error: Callable[[str], Exception]) -> Any:
    """The value that a text holds; whatever is wrong with it, the exception is that of `error`.

    Args:
        text: JSON.
        where: What it is, for messages: a file, or a field.
        error: Makes the exception to raise from a message.
    """
    if len(text) > LARGEST_FILE:
        raise error(f"{where}: {len(text):,} characters, more than {LARGEST_FILE:,}; write a smaller one")

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if sum(map(text.count, ",[{")) > MOST_VALUES:
            raise error(f"{where}: more than {MOST_VALUES:,} values; write a smaller one")
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise error(f"{where}:{fault.lineno}: not JSON: {fault.msg} at column {fault.colno}") from fault
    except UnicodeDecodeError as fault:
        raise error(f"{where}: not UTF-8: {fault.reason} at byte {fault.start}") from fault
    except RecursionError:
        raise error(f"{where}: nested too deeply; nothing that is read here needs more than ten levels") from None
    except ValueError as fault:  # an integer of more digits than Python converts
        raise error(f"{where}: {fault}") from fault
