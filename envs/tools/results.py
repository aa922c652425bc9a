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
