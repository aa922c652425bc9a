"""What a search agent with a general model is sent in each role, for the page ``reference/prompts/search.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from envs.search.prompts.chat import ChatSearchFormat
from tape.lm.base import Request
from tape.methods.cgdp.view import Belief, Fact, SearchRound, View
from tape.protocols.search import Passage

QUESTION = "Who is the mayor of the town where Ada was born?"
FOUND = (
    Passage("p1", "Ada", "Ada was born in Tarn. She plays the flute."),
    Passage("p2", "Tarn", "Tarn lies by a lake. Its mayor is Otto Lind."),
)
_BORN = Fact("Ada was born in Tarn.", "p1", "Ada", "Ada was born in Tarn.", "deterministic")
_FLUTE = Fact("She plays the flute.", "p1", "Ada", "She plays the flute.", "deterministic")
_MAYOR = Fact("Its mayor is Otto Lind.", "p2", "Tarn", "Its mayor is Otto Lind.", "deterministic")
_OPEN = ("Who is the mayor of Tarn?",)


def asked() -> Iterator[tuple[str, str, Request, str]]:
    """Every role: its name, what it is asked for, the request, and a right answer."""
    prompts = ChatSearchFormat()
    transcript = View(QUESTION, rounds=(SearchRound(1, "Ada born", FOUND[:1]),))
    begun = View(QUESTION, belief=Belief("structured", (_BORN,), _OPEN, ("Where was Ada born?",)))
    notes = View(QUESTION, belief=Belief("freeform", (_BORN,)))
    full = View(QUESTION, belief=Belief("structured", (_FLUTE, _BORN, _MAYOR), _OPEN))
    known = View(QUESTION, belief=Belief("structured", (_BORN, _MAYOR)))
    quote = {"source": 1, "quote": "Its mayor is Otto Lind."}
    yield (
        "query, on a transcript",
        "ReAct's and MemGPT's next move; MemGPT may also write a note.",
        prompts.query_request(transcript, ("search", "note", "answer")),
        json.dumps(
            {"thought": "Ada was born in Tarn; its mayor is missing.", "move": "search", "text": "mayor of Tarn"}
        ),
    )
    yield (
        "query, on a belief",
        "CGDP's next move, for an open predicate.",
        prompts.query_request(View(QUESTION, belief=begun.belief, target=_OPEN[0]), ("search", "answer")),
        json.dumps({"thought": "The mayor of Tarn is missing.", "move": "search", "text": "mayor of Tarn"}),
    )
    yield (
        "think",
        "IRCoT's next sentence, which is its next query.",
        prompts.think_request(transcript),
        json.dumps({"sentence": "Ada was born in Tarn, so I look for the mayor of Tarn.", "found": False}),
    )
    yield (
        "extract, into a structured belief",
        "What an observation adds; each quote is looked up in its source.",
        prompts.extract_request(begun, FOUND[1:]),
        json.dumps({"findings": [quote], "answered": [1], "ask_next": []}),
    )
    yield (
        "extract, into notes",
        "The same for a freeform belief.",
        prompts.extract_request(notes, FOUND[1:]),
        json.dumps({"findings": [{**quote, "note": "Otto Lind is the mayor of Tarn."}]}),
    )
    yield (
        "curate",
        "What matters most where a belief is full; the solver chooses what is kept.",
        prompts.curate_request(full),
        json.dumps({"items": [3, 2]}),
    )
    yield (
        "answer",
        "The final answer, by a call that was kept back from the start.",
        prompts.answer_request(known),
        json.dumps({"evidence": "Ada was born in Tarn. Its mayor is Otto Lind.", "answer": "Otto Lind"}),
    )
