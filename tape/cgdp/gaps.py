"""Gap detectors: failures of a search, from its trace alone (CGDP appendix A, G1 to G7).

The paper defines two of them so that they can be computed: G4 (at most two rounds and wrong) and G5/G6 (the Jaccard
index of consecutive actions is above .5 for at least two consecutive pairs). It counts G7 on unanswerable questions; we
take it as an answer given to one. Its detectors of G1 to G3 are not published; those here are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tape.cgdp.alignment import names
from tape.cgdp.events import RetrievedEvent, StoppedEvent
from tape.cgdp.gates import jaccard, words
from tape.errors import TraceError
from tape.protocols.search import UNANSWERABLE, is_abstention
from tape.trace import Event, GeneratedEvent, StartedEvent

GAPS = {
    "G1": "evidence not persisted (ours): an answer that counts was retrieved, what the prompt of the answer shows "
    "has none, and the answer is wrong",
    "G2": "goal displacement (ours): two queries in a row share no word of four letters or more with the question, nor "
    "with a title that was retrieved before, and the answer is wrong",
    "G3": "parametric dominance (ours): the answer stands in nothing that was retrieved, and is wrong",
    "G4": "premature stop (the paper's): at most two rounds, and the answer is wrong",
    "G5/G6": "stagnation (the paper's): J > .5 of consecutive queries in at least two consecutive pairs",
    "G7": "evidence and action disagree (the paper counts it on unanswerable questions): one of them is answered",
}
"""The meaning of each gap and the origin of its definition."""

_SIMILAR, _EARLY = 0.5, 2


@dataclass(frozen=True)
class _Traced:
    """The input of the detectors."""

    question: str
    rounds: Sequence[RetrievedEvent]
    end: StoppedEvent
    answered_from: str

    @property
    def wrong(self) -> bool:
        return not self.end.right

    @property
    def answers(self) -> bool:
        """Whether an answer was given and is no abstention."""
        return bool(self.end.answer) and not is_abstention(self.end.answer)

    @property
    def unanswerable(self) -> bool:
        return list(self.end.gold_answers) == [UNANSWERABLE]


def gaps(events: Iterable[Event]) -> frozenset[str]:
    """The gaps of an episode, from :data:`GAPS`.

    Args:
        events: Its trace.

    Raises:
        TraceError: The trace holds no finished search.
    """
    traced = _traced(events)
    found: dict[str, Callable[[_Traced], bool]] = {
        "G1": _not_persisted,
        "G2": _displaced,
        "G3": _parametric,
        "G4": lambda one: one.wrong and len(one.rounds) <= _EARLY,
        "G5/G6": _stagnant,
        "G7": lambda one: one.unanswerable and one.answers,
    }
    return frozenset(name for name, holds in found.items() if holds(traced))


def _traced(events: Iterable[Event]) -> _Traced:
    question, answered_from = "", ""
    rounds: list[RetrievedEvent] = []
    end: StoppedEvent | None = None
    for event in events:
        if isinstance(event, StartedEvent):
            question = event.task
        elif isinstance(event, RetrievedEvent):
            rounds.append(event)
        elif isinstance(event, GeneratedEvent) and event.role == "answer":
            answered_from = event.asked
        elif isinstance(event, StoppedEvent):
            end = event
    if end is not None and end.shown is not None:
        answered_from = "\n".join(end.shown)
    if end is None:
        raise TraceError("this trace holds no search that has ended; only episodes of search agents have gaps")
    return _Traced(question, rounds, end, answered_from)


def _retrieved(traced: _Traced) -> str:
    return "\n".join(f"{passage.title}: {passage.text}" for one in traced.rounds for passage in one.passages)


def _not_persisted(traced: _Traced) -> bool:
    there, shown = (
        any(names(one, text) for one in traced.end.gold_answers if one != UNANSWERABLE)
        for text in (_retrieved(traced), traced.answered_from)
    )
    return traced.wrong and there and not shown


def _displaced(traced: _Traced) -> bool:
    known = _content(traced.question)
    longest = in_a_row = 0
    for one in traced.rounds:
        in_a_row = 0 if _content(one.query) & known else in_a_row + 1
        longest = max(longest, in_a_row)
        known |= {word for passage in one.passages for word in _content(passage.title)}
    return traced.wrong and longest >= 2


def _content(text: str) -> set[str]:
    return {word for word in words(text) if len(word) >= 4}


def _parametric(traced: _Traced) -> bool:
    return traced.wrong and traced.answers and not names(traced.end.answer, _retrieved(traced))


def _stagnant(traced: _Traced) -> bool:
    queries = [words(one.query) for one in traced.rounds]
    similar = [jaccard(one, other) > _SIMILAR for one, other in pairwise(queries)]
    return any(one and other for one, other in pairwise(similar))
