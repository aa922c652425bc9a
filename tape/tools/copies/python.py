"""Any Python object that can be deep-copied, as a state."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from random import Random
from typing import Any, Generic, TypeVar
from uuid import UUID

from tape.errors import error_text
from tape.tools.copies.base import CopyableState, CopyError, digest

T = TypeVar("T")
_PLAIN = (str, bytes, int, float, complex, type(None), Decimal, Fraction, UUID, PurePath)
DEEPEST = 100
"""Objects inside each other."""


class PythonObject(CopyableState, Generic[T]):
    """An object that tools change in place, for instance a service in memory.

    Args:
        value: The object.
        key: Returns what tells its states apart; by default all that it holds, attributes too.
    """

    def __init__(self, value: T, key: Callable[[T], str] | None = None) -> None:
        self._value, self._key = value, key

    @property
    def value(self) -> T:
        """The object."""
        return self._value

    def copy(self) -> PythonObject[T]:
        """A deep copy."""
        try:
            return PythonObject(copy.deepcopy(self._value), self._key)
        except Exception as error:  # whatever an object's own code raises
            raise CopyError(
                f"{type(self._value).__name__} cannot be copied: {error_text(error)}; give an object that "
                "copy.deepcopy takes, or inherit from CopyableState"
            ) from error

    def key(self) -> str:
        """All that it holds, hashed; or what ``key=`` returns."""
        return digest(self._key(self._value) if self._key is not None else repr([*_leaves(self._value)]))

    def items(self) -> Iterator[tuple[str, str]]:
        """Every value that it holds, as text, by where it stands."""
        return ((place.lstrip(".") or "it", text) for place, text in _leaves(self._value))

    def difference(self, after: CopyableState) -> Sequence[str]:
        """Every value that is new, gone or another one, by where it stands."""
        assert isinstance(after, PythonObject)
        old, new = dict(self.items()), dict(after.items())
        found = []
        for place in dict.fromkeys((*old, *new)):
            if old.get(place) != new.get(place):
                if place not in new:
                    found.append(f"{place}: {old[place]}, gone")
                else:
                    found.append(f"{place}: {f'{old[place]} -> ' if place in old else 'new, '}{new[place]}")
        return found


def _leaves(value: Any, place: str = "", above: tuple[int, ...] = ()) -> Iterator[tuple[str, str]]:
    """The place and the text of every value inside another, in an order that does not depend on the process.

    Raises:
        CopyError: There is something whose states cannot be told apart, or it is too deep.
    """
    if isinstance(value, Enum | date | time | timedelta):
        yield place, str(value)
    elif isinstance(value, _PLAIN):
        yield place, json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    elif id(value) in above:
        yield place, f"the same as {len(above) - above.index(id(value))} levels above"
    elif len(above) >= DEEPEST:
        raise CopyError(f"an object has more than {DEEPEST} others inside each other; give PythonObject(..., key=...)")
    else:
        inside = [*_inside(value, place)]
        if not inside:
            yield place, f"empty {type(value).__name__}"
        for where, one in inside:
            yield from _leaves(one, where, (*above, id(value)))


def _inside(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    match value:
        case Mapping():
            keyed = [(f".{name}" if isinstance(name, str) else f"[{name!r}]", one) for name, one in value.items()]
            yield from ((place + name, one) for name, one in sorted(keyed, key=lambda item: item[0]))
        case list() | tuple():
            yield from ((f"{place}[{number}]", one) for number, one in enumerate(value))
        case set() | frozenset():
            held = sorted(", ".join(f"{inner}{text}" for inner, text in _leaves(one)) for one in value)
            yield from ((f"{place}{{{text}}}", True) for text in held)
        case Random():
            yield f"{place}.state", digest(repr(value.getstate()))
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield from ((f"{place}.{field.name}", getattr(value, field.name)) for field in fields(value))
        case _ if hasattr(value, "__dict__") and not callable(value):
            yield from ((f"{place}.{name}", one) for name, one in sorted(vars(value).items()))
        case _:
            raise CopyError(
                f"what {place.lstrip('.') or 'it'} holds, {type(value).__name__}, has no key; give PythonObject(..., "
                "key=...), which returns a text that differs where calls would behave differently"
            )
