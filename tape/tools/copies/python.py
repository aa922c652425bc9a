"""Any Python object that can be deep-copied, as a state."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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

    Examples:
        >>> from tape.tools.copies import PythonObject
        >>> stock = PythonObject({"pears": 3})
        >>> copied = stock.copy()
        >>> copied.value["pears"] -= 1
        >>> stock.difference(copied)
        ['pears: 3 -> 2']
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
        """All that it holds, hashed, with its types, and with what is held in several places; or what ``key=`` says."""
        return digest(self._key(self._value) if self._key is not None else "\n".join(_Written().of(self._value)))

    def items(self) -> Iterator[tuple[str, str]]:
        """Every value that it holds, as text, by where it stands."""
        return ((place.lstrip(".") or "it", text) for place, text in _leaves(self._value))

    def difference(self, after: CopyableState) -> Sequence[str]:
        """Every value that is new, gone or another one, by where it stands."""
        assert isinstance(after, PythonObject)
        old, new = dict(self.items()), dict(after.items())
        texts = []
        for place in dict.fromkeys((*old, *new)):
            if old.get(place) != new.get(place):
                if place not in new:
                    texts.append(f"{place}: {old[place]}, gone")
                else:
                    texts.append(f"{place}: {f'{old[place]} -> ' if place in old else 'new, '}{new[place]}")
        return texts


def _plain(value: Any) -> str | None:
    """A value that holds no other, as text; None of others."""
    if isinstance(value, Enum | date | time | timedelta):
        return str(value)
    if isinstance(value, _PLAIN):
        return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    return None


class _Written:
    """Writes an object so that equal texts mean equal objects; what was written before is named by its number."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any, depth: int = 0) -> Iterator[str]:
        """The lines of an object, in an order that does not depend on the process.

        Raises:
            CopyError: Its states cannot be told apart, or it is too deep.
        """
        if (text := _plain(value)) is not None:
            yield f"{type(value).__qualname__} {text}"
            return
        if id(value) in self._seen:
            yield f"again {self._seen[id(value)][0]}"
            return
        if depth >= DEEPEST:
            raise CopyError(f"an object has over {DEEPEST} others inside each other; give PythonObject(..., key=...)")
        if not isinstance(value, tuple | frozenset):  # copies of these may be the same object, or another
            self._seen[id(value)] = (len(self._seen), value)
        yield f"{type(value).__module__}.{type(value).__qualname__} ("
        for where, item in _inside(value):
            yield where
            yield from self.of(item, depth + 1)
        yield ")"


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """The place and the text of every value inside another, for people; what stands in several places, in the first."""
    left, seen = [("", value)], set[int]()
    while left:
        where, item = left.pop()
        if (text := _plain(item)) is not None:
            yield where, text
        elif id(item) not in seen:
            seen.add(id(item))
            inside = [*_inside(item)]
            if not inside:
                yield where, f"empty {type(item).__name__}"
            left += [(where + name, held) for name, held in reversed(inside)]


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by its place in it."""
    held = [*_items(value)]
    attributes = dict(getattr(value, "__dict__", {}))
    for name in (name for kind in type(value).__mro__ for name in _slots(kind)):
        if hasattr(value, name):
            attributes[name] = getattr(value, name)
    shown = held or isinstance(value, Mapping | list | tuple | set | frozenset)
    if callable(value) or not (shown or attributes or hasattr(value, "__dict__") or _slots(type(value))):
        raise CopyError(
            f"{type(value).__name__} has no key; give PythonObject(..., key=...), which returns a text that differs "
            "where calls would behave differently"
        )
    yield from held
    yield from ((f".{name}", item) for name, item in sorted(attributes.items()))


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case Mapping():
            named = [(f".{n}" if isinstance(n, str) else f"[{_line(n)}]", entry) for n, entry in value.items()]
            yield from sorted(named, key=lambda item: item[0])
        case list() | tuple():
            yield from ((f"[{number}]", entry) for number, entry in enumerate(value))
        case set() | frozenset():
            yield from ((f"{{{text}}}", True) for text in sorted(map(_line, value)))
        case Random():
            yield ".state", digest(repr(value.getstate()))


def _line(value: Any) -> str:
    text = _plain(value)
    return "; ".join(_Written().of(value)) if text is None else text


def _slots(kind: type) -> tuple[str, ...]:
    given = vars(kind).get("__slots__", ())
    return tuple(n for n in ((given,) if isinstance(given, str) else given) if n not in ("__dict__", "__weakref__"))
