"""The questions over tools of one's own: they and their data are frozen, and work is judged."""

from __future__ import annotations

import hashlib
import json

import pytest

from experiments.own_tools.calendar import CALENDAR, CONTACTS, EVENTS
from experiments.own_tools.cinema import CINEMA, FILMS, HALLS, MEMBERS, SHOWINGS
from experiments.own_tools.school import SCHOOL
from experiments.own_tools.school import SCRIPT as SCHOOL_SCRIPT
from experiments.own_tools.sets import Message, Question, QuestionSet, judge
from experiments.own_tools.shop import SCRIPT as SHOP_SCRIPT
from experiments.own_tools.shop import SHOP

FROZEN = {
    "shop": "55a9731ccea4",
    "school": "2ec18e1ea649",
    "calendar": "c6d7e03b2192",
    "cinema": "19542aca0e23",
}
"""Of each set the beginning of the hash of its questions and data; another prompt needs no other questions."""

DATA = {
    "shop": SHOP_SCRIPT,
    "school": SCHOOL_SCRIPT,
    "calendar": json.dumps([EVENTS, CONTACTS]),
    "cinema": json.dumps([FILMS, SHOWINGS, HALLS, MEMBERS]),
}
ALL = [(chosen, question) for chosen in (SHOP, SCHOOL, CALENDAR, CINEMA) for question in chosen.questions]


@pytest.mark.parametrize("chosen", [SHOP, SCHOOL, CALENDAR, CINEMA], ids=lambda chosen: chosen.name)
def test_a_set_is_frozen(chosen: QuestionSet) -> None:
    asked = [[q.name, q.task, sorted(q.fields), q.expected, str(q.message)] for q in chosen.questions]
    messages = sum(question.message is not None for question in chosen.questions)
    assert (len(asked), messages) == ((24, 4) if chosen is CINEMA else (12, 1))
    assert hashlib.sha256(json.dumps([asked, DATA[chosen.name]]).encode()).hexdigest()[:12] == FROZEN[chosen.name]


THANK = next(question for question in SHOP.questions if question.name == "thank")
RIGHT = Message("ada@brandt.example", "Dear Ada, thank you for your orders. Yours")


@pytest.mark.parametrize(
    ("answer", "sent", "right", "unasked"),
    [
        ({"name": "Ada Brandt"}, [RIGHT], True, 0),
        ({"name": " ada brandt"}, [RIGHT], True, 0),
        ({"name": "Ada Brandt"}, [], False, 0),
        ({"name": "Ada Brandt"}, [RIGHT, RIGHT], False, 1),
        ({"name": "Ada Brandt"}, [RIGHT, Message("x@y", "hello")], True, 1),
        ({"name": "Ada Brandt"}, [Message("boris@kowal.example", "Thank you for your orders.")], False, 1),
        ({"name": "Boris Kowal"}, [RIGHT], False, 0),
        (None, [RIGHT], False, 0),
    ],
)
def test_work_is_judged(answer: dict[str, str] | None, sent: list[Message], right: bool, unasked: int) -> None:
    verdict = judge(THANK, answer, sent)
    assert (verdict.right, verdict.unasked) == (right, unasked)


@pytest.mark.parametrize(("chosen", "question"), ALL, ids=lambda value: value.name)
def test_no_message_is_asked_for_elsewhere(chosen: QuestionSet, question: Question) -> None:
    made = chosen.world()
    assert {item.kind for item in made.tools if not item.pure} <= {
        "send_email",
        "send_message",
        "invite",
        "send",
        "write",
    }
    sent = [Message("x@y", "hello")]
    assert judge(question, question.expected, sent).unasked == 1
    assert question.answer.model_validate(question.expected)


def test_a_wrong_query_says_what_there_is() -> None:
    query = SHOP.world().tools[0]
    with pytest.raises(Exception, match="no such column: nme"):
        query(sql="SELECT nme FROM customers")
    with pytest.raises(Exception, match="readonly"):
        query(sql="DELETE FROM customers")
