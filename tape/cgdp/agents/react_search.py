"""ReAct as a search agent (CGDP table 2): a thought, then a search or the answer."""

from __future__ import annotations

from typing import ClassVar

from tape.cgdp.agents.search import SearchAgent
from tape.cgdp.prompts.format import MoveKind


class ReactSearchAgent(SearchAgent):
    """At most seven rounds; the model decides when to answer."""

    name: ClassVar[str] = "react_search"
    rounds: ClassVar[int] = 7
    moves: ClassVar[tuple[MoveKind, ...]] = ("search", "answer")
