"""What helps after a failure: hints of what there is, and the task's own spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tape.plan.prompt import hint
from tape.plan.reader import read
from tape.plan.record import CallRecord, Effects, MadeCall, follow
from tape.plan.unfold import in_order, unfold
from tape.plan.values import NO_LIST
from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary

SQL = (Parameter("sql", "str"),)
WORDS = Vocabulary.of(
    ToolSignature(
        "query", SQL, "dict", "First row of a SELECT over goods(id, title, price), orders(id, good_id, day)."
    ),
    ToolSignature("query_all", SQL, "list[dict]"),
    ToolSignature("mail", (Parameter("to", "str"),), changes=True),
)


def made(name: str, arguments: Mapping[str, Any], value: Any, *, changes: bool = False) -> MadeCall:
    return MadeCall(name, arguments, value, changes=changes)


def mended(text: str, task: str, *calls: MadeCall) -> str | None:
    effects = Effects(lambda name, arguments: name, lambda name: False)
    run = follow(CallRecord(WORDS, calls, 0, effects), read(text, WORDS), task)
    return None if run.program.text == text else run.program.text


def test_the_list_that_lacks_a_name_is_shown_beside_the_one_that_has_it() -> None:
    line = "query(sql='SELECT price FROM orders')"
    shown = "orders(id, good_id, day) has no price, but goods(id, title, price) has; use both"
    assert hint("no such column: price", line, WORDS) == shown
    both = "query(sql='SELECT o.price FROM orders o JOIN goods g')"
    assert hint("no such column: o.price", both, WORDS) == "price is in goods(id, title, price)"


def test_a_record_that_is_gone_over_names_the_tools_that_give_lists() -> None:
    program = read("row = query('a')\nanswer([one['n'] for one in row])", WORDS)
    failure = unfold(program, WORDS, in_order([{"n": 1}])).failure
    assert failure.why == NO_LIST
    assert hint(failure.why, "", WORDS) == "a tool that gives a list is query_all"
    assert not hint(NO_LIST, "", Vocabulary.of(WORDS.tools["query"]))


@pytest.mark.parametrize(
    ("text", "task", "value", "new"),
    [
        ("r = query(\"a = 'Tea Kettle'\")", "Price of a tea kettle?", None, "r = query(sql=\"a = 'tea kettle'\")"),
        ("r = query('OSLO')", "Who is from Oslo?", None, "r = query(sql='Oslo')"),
        ("r = query_all('OSLO')", "Who is from Oslo?", [], "r = query_all(sql='Oslo')"),
        ("r = query('OSLO')", "Who is from Oslo?", {"n": 1}, None),
        ("r = query('Oslo')", "Who is from Oslo?", None, None),
        ("r = query('Bergen')", "Who is from Oslo?", None, None),
        ("r = query('OSLO')", "\u0130s it Oslo?", None, "r = query(sql='Oslo')"),  # longer in lower case
        ("r = query('IT')", "Is it an italian one?", None, "r = query(sql='it')"),
        ("r = query('IT')", "An italian one?", None, None),
        ("Oslo = query('OSLO')", "Who is from Oslo?", None, "Oslo = query(sql='Oslo')"),
    ],
)
def test_only_a_search_without_a_result_is_respelled(text: str, task: str, value: Any, new: str | None) -> None:
    program = read(text, WORDS)
    [statement] = program.statements
    name = "query_all" if "query_all" in text else "query"
    sql = unfold(program, WORDS, in_order([])).calls[0].arguments["sql"]
    assert statement.text == text
    assert mended(text, task, made(name, {"sql": sql}, value)) == new


def test_an_effect_keeps_what_the_model_wrote() -> None:
    assert mended("r = mail('ANN')", "Write to Ann.", made("mail", {"to": "ANN"}, None, changes=True)) is None


def test_where_nothing_else_helps_a_tool_that_says_what_there_is_comes_first() -> None:
    words = Vocabulary.of(ToolSignature("select", SQL), ToolSignature("schema"), ToolSignature("stop", changes=True))
    assert hint("no such column: a", "select(sql='a')", words) == "look first what there is: schema()"
    known = ("s = schema()", '"marks(id, pupil_id, mark)"')
    assert hint("no such column: m", "select(sql='m')", words, *known) == ""
    assert hint("no such column: mark", "select(sql='mark')", words, *known) == "mark is in marks(id, pupil_id, mark)"
    lines = "a = select(sql='SELECT mark FROM pupils')"
    assert (
        hint("no such column: mark", "select(sql='mark')", words, lines, "[]") == "look first what there is: schema()"
    )
