"""ReAct as a search agent (CGDP table 2): a thought, then a search or the answer."""

from __future__ import annotations

from typing import ClassVar

from tape.cgdp.agents.search import SearchAgent, searching
from tape.cgdp.prompts.format import MoveKind
from tape.cgdp.search import Search


class ReactSearchAgent(SearchAgent):
    """At most seven rounds; the model decides when to answer."""

    name: ClassVar[str] = "react_search"
    rounds: ClassVar[int] = 7
    moves: ClassVar[tuple[MoveKind, ...]] = ("search", "answer")

    async def searched(self, search: Search) -> str:
        """Search as the model decides."""
        return await searching(search, self.moves, self.most_rounds(search))
