"""Each gap in a trace that shows it and in one that does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tape.cgdp.events import RetrievedEvent, Shown, StoppedEvent
from tape.cgdp.gaps import GAPS, gaps
from tape.errors import TraceError
from tape.protocols.search import UNANSWERABLE
from tape.trace import Event, GeneratedEvent, PromptPart, StartedEvent

QUESTION = "Who is the mayor of the town where Ada was born?"


def trace(
    queries: Sequence[str],
    answer: str,
    gold: str = "Otto Lind",
    *,
    found: str = "Ada was born in Tarn. Otto Lind is its mayor.",
    shown: str = "",
) -> list[Event]:
    passages, part = [Shown(id="p1", title="Ada", text=found)], PromptPart(role="user", content=shown)
    end = {"round": len(queries), "reason": "", "aligned": None, "gold_answers": [gold], "gold_sources": ["p1"]}
    return [
        StartedEvent(config={}, budget={}, task=QUESTION),
        *(
            RetrievedEvent(round=i, query=query, option="bm25-5", thought="", passages=passages)
            for i, query in enumerate(queries, 1)
        ),
        GeneratedEvent(role="answer", prompt=(part,), texts=(answer,), prompt_tokens=1, completion_tokens=1),
        StoppedEvent.model_validate({**end, "answer": answer, "right": answer == gold}),
    ]


def ending(events: list[Event], **changed: object) -> list[Event]:
    """A trace with another end."""
    return [*events[:-1], events[-1].model_copy(update=changed)]


LONG = ["Ada born", "mayor of Tarn", "Tarn town hall", "Otto who"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (trace(LONG, "Otto Lind", shown="Otto Lind"), set()),
        (trace(LONG, "Ada", shown="nothing"), {"G1"}),
        (trace(LONG, "Ada", shown="Otto Lind is there"), set()),
        (trace(["Ada born", "Ajuran coins", "Ajuran history", "Tarn mayor"], "Ada", shown="Otto Lind"), {"G2"}),
        (trace(["Ada born", "Ajuran coins", "Ajuran history", "x"], "Otto Lind", shown="Otto Lind"), set()),
        (trace(LONG, "Fifteen", shown="Otto Lind"), {"G3"}),
        (trace(LONG[:2], "Ada", shown="Otto Lind"), {"G4"}),
        (trace(["Ada born in Tarn"] * 3, "Otto Lind", shown="Otto Lind"), {"G5/G6"}),
        (trace(["Ada born in Tarn"] * 2, "Otto Lind", shown="Otto Lind"), set()),
        (trace(LONG, "Ada", UNANSWERABLE, shown="Otto Lind"), {"G7"}),
        (trace(LONG, UNANSWERABLE, UNANSWERABLE), set()),
        (trace(LONG, "The unanswerable.", UNANSWERABLE), set()),
        (trace(LONG, "Unanswerable.", shown="Otto Lind"), set()),
        (trace(LONG, "", UNANSWERABLE), set()),
        (trace(LONG, "", shown="Otto Lind"), set()),
    ],
)
def test_gaps(events: list[Event], expected: set[str]) -> None:
    assert gaps(events) == expected
    assert expected <= GAPS.keys()


def test_what_the_answer_was_shown_counts_and_not_how_its_prompt_writes_it() -> None:
    events = trace(LONG, "Ada", shown="e1 lies in e2")
    assert gaps(ending(events, shown=["Tarn: Otto Lind is its mayor."])) == set()
    assert gaps(ending(events, shown=["Ada"])) == {"G1"}


def test_any_spelling_of_the_answer_will_do() -> None:
    events = trace(LONG, "Ada", found="New York City: Ada was born there.", shown="New York is it")
    assert gaps(ending(events, gold_answers=["New York City", "New York"])) == set()
    assert gaps(ending(events, gold_answers=["New York City"])) == {"G1"}


def test_another_trace_is_refused() -> None:
    with pytest.raises(TraceError, match="no search"):
        gaps(trace(LONG, "Ada")[:-1])
