"""Conversations in the public format."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.locomo.dialogue import DialogueQuestion
from envs.locomo.loader import CATEGORIES, DialogueLeftOutWarning, load
from tape.protocols.search import Passage
from tests.envs.locomo.helpers import conversation, turn, write


def test_turns_come_with_their_time_and_picture(tmp_path: Path) -> None:
    [talk] = load(write(tmp_path, conversation()))
    assert (talk.name, talk.speakers) == ("conv-1", ("Runa", "Otto"))
    assert talk.passages == (
        Passage("D1:1", "Runa", "(10:00 am on 2 May, 2031) Hello Otto, I planted beans today."),
        Passage("D1:2", "Otto", "(10:00 am on 2 May, 2031) Nice! My bench is green now. [picture: a green bench]"),
        Passage("D2:1", "Otto", "I am off to Tarn with my aunt."),
    )


def test_the_paper_s_categories_are_the_default(tmp_path: Path) -> None:
    file = write(tmp_path, conversation())
    [talk] = load(file)
    assert talk.questions == (
        DialogueQuestion("q1", "What did Runa plant?", "single", ("beans",), ("D1:1",)),
        DialogueQuestion("q2", "What did Otto plant?", "swapped", (), ("D1:1",)),
    )
    assert [question.answerable for question in talk.questions] == [True, False]
    [talk] = load(file, tuple(CATEGORIES))
    assert [(q.id, q.kind) for q in talk.questions[2:]] == [
        ("q3", "multi-hop"),
        ("q4", "temporal"),
        ("q5", "open-domain"),
    ]
    several, number, none = talk.questions[2:]
    assert several.evidence == ("D1:2", "D2:1")  # two in one entry, one of them with a leading zero
    assert number.answers == ("2031",)
    assert none.evidence == ()
    assert all(question.sub_questions == () for question in talk.questions)


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    qa = conversation()["qa"]
    again = {"question": "What did  Runa plant?", "answer": "peas", "evidence": ["D1:1", "D", "D7:7"], "category": 4}
    file = write(tmp_path, conversation(qa=[*qa, again]))
    with pytest.warns(
        DialogueLeftOutWarning, match=r"1 questions that came before.*, 2 entries of evidence .*'D', 'D7:7'"
    ):
        [talk] = load(file)
    assert [question.answers for question in talk.questions] == [("beans",), ()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write(tmp_path, conversation()))


def talking(**changes: Any) -> dict[str, Any]:
    talk = {name: value for name, value in (conversation()["conversation"] | changes).items() if value is not ...}
    return conversation(conversation=talk)


def asking(**changes: Any) -> dict[str, Any]:
    first, *others = conversation()["qa"]
    asked = {name: value for name, value in (first | changes).items() if value is not ...}
    return conversation(qa=[*others, asked])


ASKED = "conversation 1, question 5"
TURN = "conversation 1, session_1, turn 1"


@pytest.mark.parametrize(
    ("bad", "record", "field", "problem"),
    [
        ('{\n"a": 1,\n}', "line 3", "", "no JSON"),
        ("[]", "", "", "holds no array of conversations"),
        (7, "conversation 1", "", "is 7; give an object"),
        (conversation(conversation=...), "conversation 1", "conversation", "is missing"),
        (conversation(sample_id=3), "conversation 1", "sample_id", "is 3"),
        (conversation(qa=...), "conversation 1", "qa", "is missing; give a list"),
        (conversation(qa=[]), "", "qa", "holds no question of category 4, 5"),
        (talking(speaker_b=" "), "conversation 1", "speaker_b", "not empty"),
        (talking(session_1=..., session_2=...), "conversation 1", "conversation", "has no turns"),
        (
            talking(session_1=[turn(1, "-", "...")], session_1_date_time=..., session_2=...),
            "conversation 1",
            "conversation",
            "has no word",
        ),
        (talking(session_1_date_time=5), "conversation 1, session_1", "session_1_date_time", "is 5"),
        (talking(session_1=[turn(1, "", "x")]), TURN, "speaker", "not empty"),
        (talking(session_1=[turn(1, "Runa", "")]), TURN, "text", "give the words of the turn"),
        (talking(session_1=[turn(1, "Runa", "x", dia_id=7)]), TURN, "dia_id", "is 7"),
        (talking(session_1=[turn(1, "Runa", "x", 2)]), "conversation 1, session_2, turn 1", "dia_id", "came before"),
        (asking(category="4"), ASKED, "category", "is '4'; give a number: 1, 2, 3, 4, 5"),
        (asking(question="why " * 600), ASKED, "question", "at most 2000"),
        (asking(answer=...), ASKED, "answer", "is missing; give the answer"),
        (asking(category=1, answer=None), ASKED, "answer", "is None"),  # though it is not played
        (asking(evidence=[3]), ASKED, "evidence", "holds 3"),
    ],
)
def test_errors_name_the_place_and_the_problem(bad: Any, record: str, field: str, problem: str, tmp_path: Path) -> None:
    file = write(tmp_path, bad)
    with pytest.raises(DataFileError) as caught:
        load(file)
    error = caught.value
    assert (error.file, error.place, error.field) == (str(file), record, field)
    assert problem in error.problem


def test_two_conversations_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"conversation 2: field 'sample_id': 'conv-1' came before"):
        load(write(tmp_path, conversation(), conversation()))
    first, second = load(write(tmp_path, conversation(sample_id=...), conversation(sample_id=...)))
    assert (first.name, second.name) == ("conversation-1", "conversation-2")


PUBLIC = Path(os.environ.get("TAPE_TEST_DATA", "")) / "locomo" / "locomo-dev.json"


@pytest.mark.skipif(not PUBLIC.is_file(), reason="set TAPE_TEST_DATA to a folder with locomo/locomo-dev.json")
def test_the_public_file_is_read() -> None:
    with pytest.warns(DialogueLeftOutWarning, match=r"left out: 1 questions that came before .* 1 entries of evidence"):
        talks = load(PUBLIC)
    assert len(talks) == 5
    assert Counter(question.kind for talk in talks for question in talk.questions) == {"single": 398, "swapped": 218}
    assert sum(len(talk.passages) for talk in talks) == 2648
    for talk in talks:
        assert {passage.title for passage in talk.passages} == set(talk.speakers)
        assert all(question.evidence for question in talk.questions)
