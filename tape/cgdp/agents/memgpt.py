"""MemGPT as a search agent (CGDP table 2): the model also writes notes into a memory of its own."""

from __future__ import annotations

from typing import ClassVar

from tape.cgdp.agents.search import SearchAgent
from tape.cgdp.prompts.format import MoveKind


class MemgptAgent(SearchAgent):
    """At most twelve turns, of which each is a search, a note, or the answer."""

    name: ClassVar[str] = "memgpt"
    rounds: ClassVar[int] = 12
    moves: ClassVar[tuple[MoveKind, ...]] = ("search", "note", "answer")
