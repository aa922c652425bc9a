"""Calls as text: what is written is read back, and nothing else than InvalidCallError comes out of reading."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.tools.calls import DEEPEST, LONGEST, Call, answer, call, from_mapping, parse
from tape.tools.errors import InvalidCallError
from tests.tape.tools.helpers import CALLS, JSON


@given(CALLS)
def test_what_is_written_is_read_back(made: Call) -> None:
    assert parse(made.text) == made
    made.text.encode()  # tokenizers and files take it


@given(st.text(max_size=60) | st.from_regex(r"[a-z]{1,3}\([a-z]=[\[{\"#0-9a-z,: \]}]{0,12}\)?", fullmatch=True))
def test_any_text_is_a_call_that_reads_the_same_again_or_invalid(text: str) -> None:
    try:
        made = parse(text)
    except InvalidCallError:
        return
    assert parse(made.text) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add", "expected TOOL"), ("add(a=1", "expected ',' or '\\)'"), ("add(a=1,)", "expected NAME=VALUE"),
        ("add(1)", "expected NAME=VALUE"), ("add(a=one)", "neither JSON nor #K"), ("add(a=NaN)", "no JSON"),
        ("add(a=1e999)", "no JSON"), ("add(a=#0)", "neither JSON nor #K"), ("add(a=#1000)", "neither JSON nor #K"),
        ("add(a=1, a=2)", "given twice"), ("add(a=1) then", "after the call"),
        ("add(a=" + "[" * 500 + "]" * 500 + ")", "lists and objects inside each other|neither JSON"),
        ("add(a=" + "[" * 3000, "neither JSON"), ("add(a=" + "1" * LONGEST + ")", "characters"),
    ],
)  # fmt: skip
def test_errors_of_malformed_calls_name_where_reading_stopped(text: str, message: str) -> None:
    with pytest.raises(InvalidCallError, match=message):
        parse(text)


def test_spaces_and_spellings_do_not_matter() -> None:
    assert parse(' add ( a = 3.0 , b = "#1" ) ').text == "add(a=3, b=#1)"
    assert parse("größe.élan-2(àb=1)").text == "größe.élan-2(àb=1)"
    assert parse('note(tags={"b": 1, "a": "é"})').text == 'note(tags={"a": "é", "b": 1})'


def test_values_nested_up_to_the_limit_are_read() -> None:
    assert parse(f"f(a={'[' * DEEPEST + ']' * DEEPEST})").values([])
    with pytest.raises(InvalidCallError):
        call("f", a=json.loads("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)))


def test_placeholders_stand_for_results_alone_and_inside_texts() -> None:
    made = parse('f(a=#2, b="born in #1 (#2)", c=["#1", {"k": "#2"}], d="# 1, #1000")')
    assert made.references == (2, 1, 2, 1, 2)
    assert made.values(["Rome", 3]) == {
        "a": 3, "b": "born in Rome (3)", "c": ["Rome", {"k": "3"}], "d": "# 1, #1000",
    }  # fmt: skip


def test_the_text_of_a_result_is_not_taken_for_a_placeholder() -> None:
    assert parse('f(a="see #1")').values(["#2"]) == {"a": "see #2"}


def test_a_placeholder_without_a_result_is_an_error() -> None:
    with pytest.raises(InvalidCallError, match="#2 is the result of no call; there are 1"):
        answer("#2").values([1])


@given(CALLS)
def test_renumbering_changes_references_and_nothing_else(made: Call) -> None:
    moved = made.renumbered(lambda k: k + 7)
    assert moved.references == tuple(k + 7 for k in made.references)
    assert moved.renumbered(lambda k: k - 7) == made


@given(st.dictionaries(st.sampled_from(["kind", "variant", "tool", "self", "name"]), JSON))
def test_no_argument_name_is_taken(arguments: dict[str, object]) -> None:
    made = from_mapping("search.good", arguments)
    assert (made.tool, [name for name, _ in made.args]) == ("search.good", list(arguments))


def test_the_variant_is_no_part_of_what_is_asked_for() -> None:
    assert call("m", "quick", a=1).symbol == call("m", "exact", a=1).symbol == "m(a=1)"


def test_the_names_in_an_object_are_no_references() -> None:
    made = call("note", text={"#1": "#2", "in": [{"#3 of 4": "see #4"}]})
    assert made.references == (2, 4)
    assert made.renumbered(lambda k: k + 5) == call("note", text={"#1": "#7", "in": [{"#3 of 4": "see #9"}]})
    results = ["a", "b", "c", "d"]
    assert made.values(results) == {"text": {"#1": "b", "in": [{"#3 of 4": "see d"}]}}
