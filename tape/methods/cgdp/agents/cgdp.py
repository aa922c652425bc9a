"""PBAI (CGDP algorithm 1): act on an open predicate, observe, update the belief, until the search stops."""

from __future__ import annotations

from typing import ClassVar

from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.prompts import MoveKind
from tape.methods.cgdp.search import CorpusSearch
from tape.methods.cgdp.settings import Memory
from tape.methods.cgdp.widening import Widening


class CgdpAgent(SearchAgent):
    """Searches for the open predicates of its belief, one a round.

    With ``select="lm"``, as in the paper, the model writes a query for the first one; with ``select="solver"`` the
    exact solver chooses the predicate and the depth of the search (:mod:`tape.methods.cgdp.selection`).

    Args:
        model: A model, or its name as :func:`tape.open_model` takes it.
        config: The settings; or give them as keyword arguments.
        settings: Fields of :class:`~tape.CgdpSettings` or of :class:`~tape.TapeConfig`, and ``prices`` as for
            :class:`~tape.TapeAgent`.

    Raises:
        ConfigError: A setting is out of range or contradicts the agent; when it is run, the environment cannot be
            searched, or a prompt does not fit into ``context_tokens``.
        UnknownNameError: There is no such model.

    Examples:
        >>> from envs.search import Passage, SearchEnvironment, bm25
        >>> from tape import CgdpAgent
        >>> ada, tarn = Passage("p1", "Ada", "Ada was born in Tarn."), Passage("p2", "Tarn", "The mayor is Otto Lind.")
        >>> question = "Who is the mayor of the town where Ada was born?"
        >>> env = SearchEnvironment(question, bm25([ada, tarn]), answers=["Otto Lind"])
        >>> result = CgdpAgent("bundled:search", select="solver").run(env, budget="6,000 tokens")
        >>> print(result.end_state, result.answer, result.measures["rounds"])
        success Otto Lind 2.0
    """

    name: ClassVar[str] = "cgdp"
    rounds: ClassVar[int] = 10
    usual_memory: ClassVar[Memory] = "structured"
    memories: ClassVar[tuple[Memory, ...]] = ("structured", "freeform")
    moves: ClassVar[tuple[MoveKind, ...]] = ("search", "answer")
    selections: ClassVar[tuple[str, ...]] = ("lm", "solver")
    persists: ClassVar[bool] = True

    async def searched(self, search: CorpusSearch) -> str:
        """The loop of algorithm 1; with ``persist`` our rules of queries (:mod:`tape.methods.cgdp.widening`)."""
        widening = Widening(search) if search.settings.persist else None
        for _ in range(self.most_rounds(search)):
            belief = search.belief
            assert belief is not None
            if belief.form == "structured" and not belief.questions and search.is_resolved():
                return "every predicate is resolved"
            target, option = search.first_open(), search.options[0]
            if search.settings.select == "solver":
                from tape.methods.cgdp.selection import select  # it loads the solvers

                selected = select(search)
                if selected is None:
                    return "no further search can be made, or is worth its price"
                target, option = selected.target, selected.option
            move, query = None, ""
            if widening is None or widening.asks_model(target):
                move = await search.move(self.moves, target)
                if move is not None and move.kind == "answer":
                    return "the model chose to answer"
                # If the query cannot be read, the target itself is the query.
                query = (target or search.domain.question) if move is None else move.text
            if widening is not None:
                wider = widening.next(target, option, query)
                if wider is None:
                    return "every query was tried"
                query, option = wider
            await search.retrieve(query, option, thought="" if move is None else move.thought, target=target)
            if widening is not None:
                widening.after(target)
            if reason := search.exhausted():
                return reason
        return f"all {self.most_rounds(search)} rounds are used"
