"""ReAct as a search agent (CGDP table 2): a thought, then a search or the answer."""

from __future__ import annotations

from typing import ClassVar

from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.prompts import MoveKind


class ReactSearchAgent(SearchAgent):
    """ReAct as a search agent (CGDP table 2): the model decides when to search and when to answer.

    It searches for at most seven rounds. It takes what :class:`~tape.CgdpAgent` takes.

    Examples:
        >>> from envs.search import Passage, SearchEnvironment, bm25
        >>> from tape import ReactSearchAgent
        >>> ada, tarn = Passage("p1", "Ada", "Ada was born in Tarn."), Passage("p2", "Tarn", "The mayor is Otto Lind.")
        >>> question = "Who is the mayor of the town where Ada was born?"
        >>> env = SearchEnvironment(question, bm25([ada, tarn]), answers=["Otto Lind"])
        >>> result = ReactSearchAgent("bundled:search").run(env, budget="20 calls")
        >>> print(result.end_state, result.answer, result.measures["rounds"])
        success Otto Lind 2.0
    """

    name: ClassVar[str] = "react_search"
    rounds: ClassVar[int] = 7
    moves: ClassVar[tuple[MoveKind, ...]] = ("search", "answer")
