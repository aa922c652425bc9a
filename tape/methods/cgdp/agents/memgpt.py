"""MemGPT as a search agent (CGDP table 2): the model also writes notes into a memory of its own."""

from __future__ import annotations

from typing import ClassVar

from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.prompts import MoveKind


class MemgptAgent(SearchAgent):
    """Searches and writes notes into a memory of its own (CGDP table 2).

    It has at most twelve turns, of which each is a search, a note, or the answer. It takes what
    :class:`~tape.CgdpAgent` takes.

    Examples:
        >>> from envs.search import Passage, SearchEnvironment, bm25
        >>> from tape import MemgptAgent
        >>> corpus = bm25([Passage("p1", "Tarn", "The mayor of Tarn is Otto Lind.")])
        >>> env = SearchEnvironment("Who is the mayor of Tarn?", corpus, answers=["Otto Lind"])
        >>> result = MemgptAgent("bundled:search").run(env, budget="20 calls")
        >>> print(result.end_state, result.answer, *result.actions)
        success Otto Lind search bm25-5: mayor Tarn answer: Otto Lind
    """

    name: ClassVar[str] = "memgpt"
    rounds: ClassVar[int] = 12
    moves: ClassVar[tuple[MoveKind, ...]] = ("search", "note", "answer")
