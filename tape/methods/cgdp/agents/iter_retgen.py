"""Iter-RetGen (CGDP table 2): a fixed number of rounds, each searching with the question and the last answer."""

from __future__ import annotations

from typing import ClassVar

from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.search import CorpusSearch
from tape.methods.cgdp.settings import Memory


class IterRetgenAgent(SearchAgent):
    """Searches four times, with the question and the last answer (CGDP table 2).

    It has no memory by design, so its transcript is the newest round alone. It takes what :class:`~tape.CgdpAgent`
    takes.

    Examples:
        >>> from envs.search import Passage, SearchEnvironment, bm25
        >>> from tape import IterRetgenAgent
        >>> corpus = bm25([Passage("p1", "Tarn", "The mayor of Tarn is Otto Lind.")])
        >>> env = SearchEnvironment("Who is the mayor of Tarn?", corpus, answers=["Otto Lind"])
        >>> result = IterRetgenAgent("bundled:search", rounds=2).run(env, budget="10 calls")
        >>> print(result.end_state, result.answer, result.measures["rounds"])
        success Otto Lind 2.0
    """

    name: ClassVar[str] = "iter_retgen"
    rounds: ClassVar[int] = 4
    memories: ClassVar[tuple[Memory, ...]] = ("baseline", "structured", "freeform")

    async def searched(self, search: CorpusSearch) -> str:
        """Search, answer, and search again with that answer."""
        query = search.domain.question
        rounds = self.most_rounds(search)
        for number in range(1, rounds + 1):
            await search.retrieve(query)
            search.forget()
            if reason := search.exhausted():
                return reason
            if number < rounds:
                query = f"{search.domain.question} {await search.draft()}".strip()
        return f"all {rounds} rounds are used"
