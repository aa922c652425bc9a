"""The conformance suite of states that plans are tried on copies of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from tape.tools.copies import CopyableState
from tape.tools.tool import Tool

WALK = 12
"""Calls of a random walk."""


class StateConformance:
    """The suite, to inherit from. Tools are plain functions here; what one raises is a result like any other.

    Attributes:
        name: The name by which the tools use the state.
        calls: Tools that use it, each with arguments; some of them change it.

    Examples:
        >>> from tape.testing import StateConformance
        >>> from tape.tools import tool
        >>> from tape.tools.copies import PythonObject
        >>> @tool(state={"stock": "write"})
        ... def sell(stock: dict, fruit: str) -> int:
        ...     "Sell one."
        ...     stock[fruit] -= 1
        ...     return stock[fruit]
        >>> class TestStock(StateConformance):
        ...     name = "stock"
        ...     calls = [(sell, {"fruit": "pears"})]
        ...     def state(self):
        ...         return PythonObject({"pears": 3})
        >>> TestStock().test_a_copy_is_independent(seed=0)  # pytest calls this and all the others
    """

    name: str
    calls: Sequence[tuple[Tool, Mapping[str, Any]]]

    def state(self) -> CopyableState:
        """A fresh state, the same each time."""
        raise NotImplementedError

    def call(self, state: CopyableState, number: int) -> str:
        """Make one of the calls; what came of it, as text."""
        item, arguments = self.calls[number % len(self.calls)]
        drawn = {} if item.random is None else {item.random: Random(number)}
        try:
            return repr(item.function(**{self.name: state.value}, **arguments, **drawn))
        except Exception as error:
            return type(error).__name__  # its text may hold a path

    def walk(self, state: CopyableState, seed: int) -> list[str]:
        """Make calls at random; what came of each."""
        rng = Random(seed)
        return [self.call(state, rng.randrange(1000)) for _ in range(WALK)]

    def test_without_a_call_the_key_stays(self) -> None:
        """Asked again, of a copy, and of a state that was made anew."""
        state = self.state()
        key = state.key()
        assert state.key() == key
        assert state.copy().key() == key
        assert self.state().key() == key

    @pytest.mark.parametrize("seed", range(8))
    def test_a_copy_is_independent(self, seed: int) -> None:
        """Neither sees the calls on the other."""
        state = self.state()
        copied, key = state.copy(), state.key()
        self.walk(copied, seed)
        assert state.key() == key, "calls on the copy have changed what it was made from"
        copied = state.copy()
        self.walk(state, seed)
        assert copied.key() == key, "calls on the state have changed its copy"

    @pytest.mark.parametrize("seed", range(8))
    def test_equal_keys_behave_alike(self, seed: int) -> None:
        """After the same calls results and keys are the same, on a copy of a copy too."""
        state = self.state()
        self.walk(state, seed)
        copyable_state, other = state.copy(), state.copy().copy()
        assert self.walk(copyable_state, seed + 1) == self.walk(other, seed + 1)
        assert copyable_state.key() == other.key()

    def test_what_a_tool_declares_to_read_it_does_not_write(self) -> None:
        """And some call changes the key, else there is nothing to plan on."""
        changed = []
        for number, (item, _) in enumerate(self.calls):
            state = self.state()
            key = state.key()
            self.call(state, number)
            changed.append(state.key() != key)
            writes = item.state[self.name] == "write"
            assert writes or not changed[-1], f"{item.name} declares to read {self.name!r}, and has changed it"
        assert any(changed), "no call changes the key"

    @pytest.mark.parametrize("seed", range(8))
    def test_a_difference_is_shown_where_there_is_one(self, seed: int) -> None:
        """And only there."""
        state = self.state()
        copied = state.copy()
        assert [*state.difference(copied)] == []
        self.walk(copied, seed)
        assert bool(state.difference(copied)) == (state.key() != copied.key())
