"""The questions over tools of one's own: their answers follow from the data, and they are frozen."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from experiments.own_tools.calendar import CALENDAR, CONTACTS, EVENTS
from experiments.own_tools.school import SCHOOL
from experiments.own_tools.school import SCRIPT as SCHOOL_SCRIPT
from experiments.own_tools.sets import Message, Question, QuestionSet, database, judge
from experiments.own_tools.shop import SCRIPT as SHOP_SCRIPT
from experiments.own_tools.shop import SHOP

FROZEN = {"shop": "105c27253256", "school": "c60e9287a021", "calendar": "dbda20551bc3"}
"""Of each set the beginning of the hash of its questions; another prompt needs no other questions."""

WITH_PRODUCT = "FROM orders o JOIN products p ON p.id = product_id"
WITH_PUPIL = "FROM marks JOIN pupils p ON p.id = pupil_id"
SQL = {
    "count": "SELECT count(*) n FROM customers WHERE city = 'Porto'",
    "price": "SELECT price FROM products WHERE title = 'tea kettle'",
    "dearest": "SELECT title, stock FROM products ORDER BY price DESC",
    "unpaid": "SELECT count(*) n FROM orders WHERE paid = 0",
    "turnover": f"SELECT sum(price * quantity) total {WITH_PRODUCT} WHERE paid = 1",
    "names": "SELECT name names FROM customers WHERE city = 'Bergen'",
    "never": "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
    "thank": "SELECT name FROM orders JOIN customers c ON c.id = customer_id WHERE paid GROUP BY 1 ORDER BY -count(*)",
    "difference": "SELECT max(price) - min(price) difference FROM products WHERE id IN (2, 4)",
    "stock": "SELECT sum(price * stock) worth FROM products",
    "april": f"SELECT sum(quantity) n {WITH_PRODUCT} WHERE title = 'linen towel' AND day LIKE '2026-04-%'",
    "debt": f"SELECT sum(price * quantity) owed {WITH_PRODUCT} WHERE NOT paid AND customer_id = 4",
    "room": "SELECT room FROM courses WHERE title = 'biology'",
    "pupils": "SELECT count(*) n FROM pupils WHERE year = 8",
    "hours": "SELECT sum(hours) hours FROM courses WHERE teacher_id = 1",
    "best": f"SELECT name, mark {WITH_PUPIL} WHERE course_id = 4 ORDER BY mark DESC",
    "mean": "SELECT avg(mark) mean FROM marks WHERE course_id = 1",
    "absent": f"SELECT name, sum(missed) missed {WITH_PUPIL} GROUP BY 1 ORDER BY 2 DESC",
    "nobody": f"SELECT count(*) n {WITH_PUPIL} WHERE course_id = 2 AND year = 7",
    "tell": "SELECT email address FROM teachers WHERE id = (SELECT teacher_id FROM courses WHERE title = 'music')",
    "below": f"SELECT DISTINCT name names {WITH_PUPIL} WHERE mark < 10",
    "spread": "SELECT max(mark) - min(mark) difference FROM marks WHERE course_id = 2",
    "busiest": "SELECT name, count(*) courses FROM teachers t JOIN courses ON t.id = teacher_id GROUP BY 1 ORDER BY 2"
    " DESC",
    "year": f"SELECT year {WITH_PUPIL} GROUP BY 1 ORDER BY avg(mark) DESC",
}
"""How each answer follows from the data; a second row of the same rank would make a question ambiguous."""

ALL = [(chosen, question) for chosen in (SHOP, SCHOOL, CALENDAR) for question in chosen.questions]


@pytest.mark.parametrize(
    ("script", "question"),
    [
        (script, question)
        for chosen, script in ((SHOP, SHOP_SCRIPT), (SCHOOL, SCHOOL_SCRIPT))
        for question in chosen.questions
    ],
    ids=lambda value: value.name if isinstance(value, Question) else "",
)
def test_the_answer_follows_from_the_data(script: str, question: Question) -> None:
    rows = [dict(row) for row in database(script).execute(SQL[question.name])]
    if question.fields.keys() == {"names"}:
        expected: dict[str, Any] = {"names": [row["names"] for row in rows]}
    else:
        expected = {name: rows[0][name] for name in question.fields}
    assert judge(question, expected, [question.message] if question.message else []).right


def test_the_calendar_s_answers_follow_from_the_data() -> None:
    answers = {question.name: question.expected for question in CALENDAR.questions}
    by_day = {day: [event for event in EVENTS if event["day"] == day] for day in {str(e["day"]) for e in EVENTS}}
    assert answers["minutes"]["minutes"] == sum(event["minutes"] for event in by_day["2026-05-04"])  # type: ignore[misc]
    assert answers["number"]["n"] == len(by_day["2026-05-05"])
    assert answers["standups"]["n"] == sum(event["title"] == "stand-up" for event in EVENTS)
    assert answers["finance"]["names"] == [name for name, who in CONTACTS.items() if who["team"] == "finance"]
    [workshop] = [event for event in EVENTS if event["title"] == "workshop"]
    assert answers["workshop"] == {"n": len(workshop["with"]), "place": workshop["place"]}  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", [SHOP, SCHOOL, CALENDAR], ids=lambda chosen: chosen.name)
def test_a_set_is_frozen(chosen: QuestionSet) -> None:
    asked = [[q.name, q.task, sorted(q.fields), q.expected, str(q.message)] for q in chosen.questions]
    assert len(asked) == 12
    assert sum(question.message is not None for question in chosen.questions) == 1
    assert hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12] == FROZEN[chosen.name]


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
    assert {item.kind for item in made.tools if not item.pure} <= {"send_email", "send_message", "invite"}
    sent = [Message("x@y", "hello")]
    assert judge(question, question.expected, sent).unasked == 1
    assert question.answer.model_validate(question.expected)


def test_a_wrong_query_says_what_there_is() -> None:
    query = SHOP.world().tools[0]
    with pytest.raises(Exception, match="no such column: nme"):
        query(sql="SELECT nme FROM customers")
    with pytest.raises(Exception, match="readonly"):
        query(sql="DELETE FROM customers")
