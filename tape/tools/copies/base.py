"""What tools read and write, as something of which copies can be made."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from tape.tools.errors import ToolError

Use = Literal["read", "write"]
"""What a tool does with a state."""

MOST_BYTES = 64 << 20
"""A state of more is not copied."""

MOST_LINES = 40
"""Lines of a difference that are shown."""


class CopyError(ToolError):
    """A state cannot be copied, or has no key.

    Examples:
        >>> from tape.tools.copies import Folder
        >>> Folder("no-such-folder")
        Traceback (most recent call last):
            ...
        tape.tools.copies.base.CopyError: there is no folder no-such-folder
    """


class CopyableState(ABC):
    """A database, a folder, an object: what tools share, and what calls change.

    A copy is independent of what it was made from. Equal keys mean that calls behave alike.

    Examples:
        >>> from tape.tools.copies import CopyableState
        >>> class Counter(CopyableState):
        ...     def __init__(self, count: int = 0) -> None:
        ...         self.count = count
        ...     @property
        ...     def value(self) -> "Counter":
        ...         return self
        ...     def copy(self) -> "Counter":
        ...         return Counter(self.count)
        ...     def key(self) -> str:
        ...         return str(self.count)
        >>> counter = Counter()
        >>> copied = counter.copy()
        >>> copied.value.count += 1
        >>> counter.key(), copied.key()
        ('0', '1')
    """

    @property
    @abstractmethod
    def value(self) -> Any:
        """What a tool gets."""

    @abstractmethod
    def copy(self) -> CopyableState:
        """An independent copy.

        Raises:
            CopyError: It cannot be copied, or is too large.
        """

    @abstractmethod
    def key(self) -> str:
        """What tells it from other states of its kind; it changes with calls alone.

        Raises:
            CopyError: It has none.
        """

    def difference(self, after: CopyableState) -> Sequence[str]:
        """What is different in a later state, a line each, for people."""
        return () if self.key() == after.key() else ("it is different",)

    @property
    def roots(self) -> Sequence[Path]:
        """The folders in which a tool that has it may write while it is tried."""
        return ()

    def close(self) -> None:  # noqa: B027 - most have nothing to give up
        """Give up a copy; it is not used any more."""


class States:
    """The states of an environment by their names, or copies of them."""

    def __init__(self, parts: Mapping[str, CopyableState]) -> None:
        self.parts: Mapping[str, CopyableState] = MappingProxyType(dict(parts))
        self._keys: dict[str, str] = {}

    def key(self) -> str:
        """All keys together; asked once, until :meth:`changed`."""
        for name, part in self.parts.items():
            if name not in self._keys:
                self._keys[name] = digest(part.key())[:16]
        return ", ".join(f"{name} {self._keys[name]}" for name in self.parts)

    def begin_again(self, parts: Mapping[str, CopyableState]) -> None:
        """Take other states of the same names."""
        self.parts = MappingProxyType(dict(parts))
        self._keys.clear()

    def require_steady(self) -> None:
        """Refuse a state whose key changes without a call."""
        for name, part in self.parts.items():
            if part.key() != part.key():
                raise CopyError(f"the key of the state {name!r} changes without a call; leave out what does")
        self._keys.clear()

    def changed(self, used: Mapping[str, Use], tool: str) -> None:
        """Take a call in: what it may write has another key now.

        Raises:
            ToolError: It has written what it declares to read.
        """
        for name, use in used.items():
            before = self._keys.pop(name, None)
            if use == "read" and before is not None:
                self._keys[name] = digest(self.parts[name].key())[:16]
                if self._keys[name] != before:
                    raise ToolError(f'{tool} has changed {name!r}, which it declares to read; declare "write"')

    def copy(self, used: Mapping[str, Use]) -> States:
        """Copies of what a tool writes, with the rest as it is."""
        copied = States({n: part.copy() if used.get(n) == "write" else part for n, part in self.parts.items()})
        copied._keys = {name: key for name, key in self._keys.items() if used.get(name) != "write"}
        return copied

    def given(self, used: Mapping[str, Use]) -> dict[str, Any]:
        """What a tool gets, by the names of its parameters."""
        return {name: self.parts[name].value for name in used}

    def roots(self, used: Mapping[str, Use]) -> list[Path]:
        """Where a tool may write while it is tried."""
        return [root for name, use in used.items() if use == "write" for root in self.parts[name].roots]

    def difference(self, after: States) -> list[str]:
        """What is different, a line each, behind the name of its part where there are several."""
        texts: list[str] = []
        for name, part in self.parts.items():
            if part is not after.parts[name]:
                lines = part.difference(after.parts[name])
                texts += lines if len(self.parts) == 1 else [f"{name}: {line}" for line in lines]
        return shortened(texts)

    def close(self, kept: Iterable[States]) -> None:
        """Give up the copies that no other one has."""
        others = {id(part) for states in kept for part in states.parts.values()}
        for part in self.parts.values():
            if id(part) not in others:
                part.close()


def shortened(lines: Sequence[str]) -> list[str]:
    """Lines as they are shown: the first :data:`MOST_LINES`, and how many more there are."""
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]


def digest(text: str | bytes) -> str:
    """A hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()


def states_of(given: Any, used: Mapping[str, Mapping[str, Use]]) -> States | None:
    """The states that an environment is given, checked against what its tools use.

    Raises:
        ToolError: A tool uses what is not there, or what is given is no state.
    """
    named = {name for use in used.values() for name in use}
    if given is None and not named:
        return None
    if isinstance(given, CopyableState):
        if len(named) != 1:
            names = ", ".join(sorted(named)) or "none"
            raise ToolError(f"one state is given, and the tools name {names}; give state={{NAME: STATE}}")
        given = {next(iter(named)): given}
    if not isinstance(given, Mapping):
        given_as = "no state" if given is None else f"{given!r:.80}"
        raise ToolError(f"the tools use {', '.join(sorted(named))}; give state={{NAME: STATE}}, got {given_as}")
    for name, part in given.items():
        if not isinstance(part, CopyableState):
            raise ToolError(
                f"the state {name!r} is {part!r:.80}, of which no copy can be made; wrap it, for instance in "
                "PythonObject, or inherit from CopyableState"
            )
    for tool, use in used.items():
        if missing := [name for name in use if name not in given]:
            raise ToolError(f"{tool} uses the state {missing[0]!r}, which is not given; there is: {', '.join(given)}")
    return States(given)
