"""The state of an episode with typed tools: which types of data are at hand, and what is known of the tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class TypedState:
    """What an episode has come to. How it came there is no part of it, so plans that meet are one node.

    Attributes:
        at_hand: The types that calls have given and no later call has used up, sorted; a type that is there twice
            stands twice. What was there from the start is not among them: it is never used up.
        wanted: The type that is to be handed in, as declared or read; None where it has not been read.
        edition: Which list of tools and prices is in force, from 0.
        closed: Tools that are known to refuse or to fail, sorted.
        handed_in: The type that was handed in, which ends the episode; None before.
        unread: The user's request that has not been read yet.
        request: The user's last request.
        note: The environment's last message.
        values: Type and value as JSON of what is at hand, for people and prompts; none of what is only predicted.
    """

    at_hand: tuple[str, ...] = ()
    wanted: str | None = None
    edition: int = 0
    closed: tuple[str, ...] = ()
    handed_in: str | None = None
    unread: str = field(default="", compare=False)
    request: str = field(default="", compare=False)
    note: str = field(default="", compare=False)
    values: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def has(self, types: Iterable[str], lasting: Iterable[str]) -> bool:
        """Whether all of some types are there."""
        there = {*self.at_hand, *lasting}
        return all(kind in there for kind in types)

    def after(self, takes: Iterable[str], gives: str, lasting: Iterable[str]) -> TypedState:
        """After a successful call: what it took is used up, unless it was there from the start."""
        left, kept = list(self.at_hand), set(lasting)
        for name in takes:
            if name in left:
                left.remove(name)
            else:
                assert name in kept, f"{name} is not at hand"
        return replace(self, at_hand=tuple(sorted([*left, gives])), note="", values=())

    def closing(self, tool: str, note: str) -> TypedState:
        """After a call that was refused or failed."""
        return replace(self, closed=tuple(sorted({*self.closed, tool})), note=note)

    def read(self, wanted: str | None) -> TypedState:
        """With what the user wants; None where it could not be read."""
        return replace(self, wanted=wanted, unread="")

    def key(self) -> str:
        """Everything that decides what can be done, and at what price."""
        parts = [" + ".join(self.at_hand) or "start"]
        parts += [] if self.wanted is None else [f"for {self.wanted}"]
        parts += [f"list {self.edition}"] if self.edition else []
        parts += [f"closed {', '.join(self.closed)}"] if self.closed else []
        parts += [] if self.handed_in is None else [f"handed in {self.handed_in}"]
        return " | ".join(parts)
