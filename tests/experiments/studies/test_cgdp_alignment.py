"""What alignment by subject refuses, on conversations of our own."""

from __future__ import annotations

from envs.locomo.dialogue import Dialogue, Question
from envs.locomo.generator import dialogues
from experiments.studies.cgdp.alignment import Case, cases, measured, table
from tape.protocols.search import Passage

TALK = Dialogue(
    "talk",
    ("Melanie", "Otto"),
    (
        Passage("D1:1", "Melanie", "Otto, my parrot Pim ate all the beans."),
        Passage("D1:2", "Otto", "My canoe has a leak again."),
    ),
    (
        Question("q1", "What did Melanie's parrot eat?", "single", ("beans",), ("D1:1",)),
        Question("q2", "What did Otto's parrot eat?", "swapped", (), ("D1:1",)),
        Question("q3", "What did Mel's parrot eat?", "single", ("beans",), ("D1:1",)),
        Question("q4", "What did the parrot Pim eat?", "single", ("beans",), ("D1:1",)),
        Question("q5", "What about Melanie's canoe?", "single", ("leak",), ("D1:2",)),
        Question("q6", "Who asked Melanie and Otto about the parrot?", "swapped", (), ("D1:1",)),
    ),
)


def found() -> list[Case]:
    return [case for case in cases(TALK, ()) if case.setting == "bm25"]


def test_what_is_refused_and_why() -> None:
    told = {c.question.id: (c.refused("strict"), c.refused("aligned"), c.cause) for c in found()}
    assert told == {
        "q1": (False, False, "names the speaker of the evidence"),
        "q2": (True, True, "names the other speaker alone"),
        "q3": (True, False, "has a short form of the name"),
        "q4": (True, False, "names no speaker"),
        "q5": (True, True, "names the other speaker alone"),
        "q6": (False, False, "names the speaker of the evidence"),
    }


def test_shares_come_with_numbers_and_intervals() -> None:
    rows = {(row["rule"], row["questions"]): row for row in measured(found())}
    assert [rows["strict", kind]["share"] for kind in ("swapped", "true")] == [0.5, 0.75]
    assert [rows["aligned", kind]["share"] for kind in ("swapped", "true")] == [0.5, 0.25]
    assert rows["strict", "true"]["wrong"] == {
        "has a short form of the name": 1,
        "names no speaker": 1,
        "names the other speaker alone": 1,
    }
    assert all(row["low"] <= row["share"] <= row["high"] for row in rows.values())
    assert "| bm25 | aligned | true | 4 | 0.250 |" in table(list(rows.values()))


def test_our_own_swapped_questions_are_refused_and_true_ones_are_not() -> None:
    """By construction, as long as it is not a chain over both speakers: then both facts are needed."""
    for talk in dialogues("dev"):
        for case in cases(talk, ()):
            if case.setting == "all evidence":
                assert case.refused("aligned") == (not case.question.answerable)
