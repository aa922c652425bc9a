"""IRCoT (CGDP table 2): each sentence of a chain of thought is the next query."""

from __future__ import annotations

from typing import ClassVar

from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.search import CorpusSearch


class IrcotAgent(SearchAgent):
    """Interleaves retrieval with a chain of thought (CGDP table 2): each sentence is the next query.

    It searches for at most ten rounds. The first query is the question. It takes what :class:`~tape.CgdpAgent` takes.

    Examples:
        >>> from envs.search import Passage, SearchEnvironment, bm25
        >>> from tape import IrcotAgent
        >>> corpus = bm25([Passage("p1", "Tarn", "The mayor of Tarn is Otto Lind.")])
        >>> env = SearchEnvironment("Who is the mayor of Tarn?", corpus, answers=["Otto Lind"])
        >>> result = IrcotAgent("bundled:search").run(env, budget="10 calls")
        >>> print(result.end_state, result.answer, result.lm_calls)
        success Otto Lind {'answer': 1, 'think': 1}
    """

    name: ClassVar[str] = "ircot"
    rounds: ClassVar[int] = 10

    async def searched(self, search: CorpusSearch) -> str:
        """Search by sentences until one has the answer."""
        query = search.domain.question
        for _ in range(self.most_rounds(search)):
            await search.retrieve(query)
            if reason := search.exhausted():
                return reason
            thought = await search.think()
            if thought is None:
                return "the sentence could not be read"
            query, ends = thought
            search.think_aloud(query)
            if ends:
                return "a sentence has the answer"
        return f"all {self.most_rounds(search)} rounds are used"
