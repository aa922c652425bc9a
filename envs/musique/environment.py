"""MuSiQue as an environment: questions of several hops over a local corpus, by retrievers of five prices."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from envs.musique.chat_examples import chat_format
from envs.musique.errors import MusiqueError
from envs.musique.question import MusiqueQuestion
from envs.musique.retrieval import RETRIEVERS, Searchable
from envs.musique.scripted_reader import read
from envs.search.metrics import exact_match, f1
from tape.budget import Resources
from tape.budget.prices import Fixed
from tape.tools.environment import ToolEnvironment
from tape.tools.errors import ToolFailedError
from tape.tools.making import make_tool
from tape.tools.tool import Tool, ToolVariant
from tape.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tape.methods.sdp.tool_adapter import ToolAdapter

KIND = "search"

READERS = ("lm", "ask", "scripted")
"""Who reads what was retrieved: the model, each result by its query; the model where a program has ``ask``; the script
of :mod:`envs.musique.scripted_reader`."""


def tools(corpus: Searchable, reader: str = "lm") -> Toolbox:
    """The five retrievers over a corpus.

    Raises:
        MusiqueError: There is no such reader.
    """
    if reader not in READERS:
        raise MusiqueError(f"there is no reader {reader!r}; there is: {', '.join(READERS)}")
    return Toolbox([_tool(corpus, variant, reader) for variant in RETRIEVERS])


def _tool(corpus: Searchable, variant: ToolVariant, reader: str) -> Tool:
    def search(query: str, rng: random.Random) -> str:
        """Search the corpus for passages about a short query, for instance "founder of Aldera"."""
        passages = corpus.retrieve(query, variant.name, rng.getrandbits(32))
        if not passages:
            raise ToolFailedError("no passage was found")
        if reader == "scripted":
            answer = read(query, passages)
            if answer is None:
                raise ToolFailedError("the passages do not say")
            return answer
        return " ".join(p.text if p.title in p.text else f"{p.title}: {p.text}" for p in passages)

    cost = Fixed(Resources({name: count for name, count in variant.worst.items() if name != "steps"}))
    return make_tool(
        search,
        kind=KIND,
        variant=variant.name,
        cost=cost,
        quality=variant.quality,
        reads=reader == "lm",
        pure=True,
    )


class MusiqueEnvironment(ToolEnvironment):
    """One question."""

    def __init__(self, question: MusiqueQuestion, corpus: Searchable, *, reader: str = "lm") -> None:
        super().__init__(
            question.text,
            tools(corpus, reader),
            judge=lambda answer: bool(exact_match(_text(answer), question.answers)),
            prompt_formats={"chat": chat_format},
        )
        self.question = question

    def sdp(self) -> ToolAdapter:
        """Predicate chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from tape.methods.sdp.adapter import Caps
        from tape.methods.sdp.tool_adapter import ToolAdapter

        return ToolAdapter(self.domain, Caps(attempts=3, replans=2, steps=25))  # the paper's caps (SDP table 11)

    def measures(self) -> Mapping[str, float]:
        """Exact match and F1 of the answer; 0 where none was given."""
        given, answers = _text(self.answered) if self.ended() else "", self.question.answers
        return {"exact_match": float(self.ended() and exact_match(given, answers)), "f1": f1(given, answers)}


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer)
