"""IRCoT (CGDP table 2): each sentence of a chain of thought is the next query."""

from __future__ import annotations

from typing import ClassVar

from tape.cgdp.agents.search import SearchAgent
from tape.cgdp.search import Search


class IrcotAgent(SearchAgent):
    """At most ten rounds; the first query is the question, every later one the last sentence."""

    name: ClassVar[str] = "ircot"
    rounds: ClassVar[int] = 10

    async def searched(self, search: Search) -> str:
        """Search by sentences until one has the answer."""
        query = search.domain.question
        for _ in range(self.most_rounds(search)):
            await search.retrieve(query)
            if reason := await search.exhausted():
                return reason
            thought = await search.think()
            if thought is None:
                return "the sentence could not be read"
            query, found = thought
            search.think_aloud(query)
            if found:
                return "a sentence has the answer"
        return f"all {self.most_rounds(search)} rounds are used"
