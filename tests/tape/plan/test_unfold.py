"""What a program has still to do is known before its results are; values that are not there are compared at points."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.plan.open import Open, key_of, references, value_of, with_references
from tape.plan.reader import read
from tape.plan.unfold import Unfolded, in_order, unfold
from tape.plan.values import FailedError
from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
from tests.profiles import examples
from tests.tape.plan.corpus import PRICED, SHOP

PAIR = Vocabulary.of(
    ToolSignature("get", (Parameter("name", "str"), Parameter("n", "int", required=False, default="1"))),
    ToolSignature("put", (Parameter("name", "str"), Parameter("value", "Any")), changes=True),
)


def unfolded(text: str, results: list[Any] | None = None, words: Vocabulary = PAIR) -> Unfolded:
    """A program with results in the order of its calls."""
    program = read(text, words)
    assert program.stopped is None, program.stopped
    return unfold(program, words, in_order(results or []))


def answer_key(text: str, words: Vocabulary = PAIR) -> str:
    run = unfolded(text, words=words)
    return key_of(run.answer.value)


def test_all_calls_are_planned_before_the_first_is_made() -> None:
    run = unfolded("a = get('x')\nput('y', a['k'] + 1)\nanswer(get('z')['k'])")
    assert [call.name for call in run.calls] == ["get", "put", "get"]
    assert [call.ready for call in run.calls] == [True, False, True]
    assert not run.answer.ready


def test_a_default_that_is_written_out_is_the_same_call() -> None:
    assert unfolded("answer(get('x', n=1))").calls[0].text == unfolded("answer(get('x'))").calls[0].text
    assert unfolded("answer(get('x', n=2))").calls[0].text != unfolded("answer(get('x'))").calls[0].text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("answer(2 * a)", "answer(a + a)", True), ("answer((a + 1) ** 2)", "answer(a * a + 2 * a + 1)", True),
        ("answer(a / 4)", "answer(a * 0.25)", True), ("answer(a - 1)", "answer(1 - a)", False),
        ("answer(a ** 2)", "answer(a * 2)", False), ("answer(a['k'] * 2)", "answer(2 * a['k'])", True),
        ("answer(a['k'])", "answer(a['m'])", False), ("answer(f\"{a['k']}!\")", "answer(f\"{a['k']}!\")", True),
        ("answer(str(a) + 'x')", "answer(f'{a}x')", False),
    ],
)  # fmt: skip
def test_arithmetic_over_results_is_compared_by_value(one: str, other: str, same: bool) -> None:
    first, second = (answer_key(f"a = get('x')\n{line}") for line in (one, other))
    assert (first == second) is same


def test_operators_that_are_tools_come_to_their_value_before_they_are_paid() -> None:
    assert answer_key("answer(2 * (3 * 4))", PRICED) == answer_key("answer((2 * 3) * 4)", PRICED) == "24"
    assert [call.name for call in unfolded("answer(2 * (3 * 4))", words=PRICED).calls] == ["times", "times"]


def test_calls_over_a_list_that_is_not_there_are_not_sure() -> None:
    text = "found = rows('a')\nanswer([query(row['q'])['n'] for row in found])"
    run = unfolded(text, words=SHOP)
    assert [(call.name, call.sure, call.ready) for call in run.calls] == [("rows", True, True), ("query", False, False)]
    run = unfolded(text, [[{"q": "b"}, {"q": "c"}]], SHOP)
    assert [(call.arguments, call.ready) for call in run.calls] == [({"sql": "b"}, True), ({"sql": "c"}, True)]


def test_both_branches_are_planned_until_it_is_known_which_is_taken() -> None:
    text = "a = get('x')\nanswer(get('y') if a > 1 else get('z'))"
    assert [call.text for call in unfolded(text).calls if not call.sure] == ['get(name="y")', 'get(name="z")']
    assert [call.text for call in unfolded(text, [0]).calls] == ['get(name="z")']


def test_a_failure_that_needs_no_result_is_known_at_once() -> None:
    run = unfolded("a = get('x')\nb = 1 / 0\nanswer([a, b])")
    assert (run.failure.line, run.failure.tool) == (2, "")


def test_what_grows_without_end_over_results_is_refused() -> None:
    lines = "\n".join("a = a + a" for _ in range(60))
    run = unfolded(f"a = get('x')\n{lines}\nanswer(a)")
    assert "too large" in run.failure.why


@pytest.mark.parametrize("text", ["a #1 b", "#", "it's", 'a "b"', "\\x23", "ꙮ1", "{x}"])
def test_an_expression_is_written_and_read_with_any_text(text: str) -> None:
    run = unfolded(f"a = get('x')\nanswer([{text!r}, a['k']])")
    assert isinstance(run.answer.value, Open)
    written = with_references(run.answer.value, lambda k: k + 3)
    assert references(written) == [3]
    assert value_of(written, [None, None, {"k": 5}]) == [text.replace("ꙮ", "?"), 5]


@pytest.mark.parametrize("text", ["open('x')", "#1.real", "(lambda: 1)()", "[x for x in #1 for y in #1]", "__import__"])
def test_what_is_no_expression_over_results_has_no_value(text: str) -> None:
    with pytest.raises(FailedError):
        value_of(text, [[1, 2]])


PARTS = ["a['k'] + 1", "-a['k']", "a['k'] * b", "b / 3", "2 ** 3 - b"]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4))
@examples(60)
def test_points_agree_with_the_values_that_come_later(parts: list[str]) -> None:
    keys = []
    for order in (parts, parts[::-1]):
        expression = " + ".join(f"({part})" for part in order)
        program = read(f"a = get('x')\nb = get('y')\nanswer({expression})", PAIR)
        before = unfold(program, PAIR, in_order([])).answer
        after = unfold(program, PAIR, lambda name, given: {"x": {"k": 7}, "y": 5}[given["name"]]).answer
        keys.append((key_of(before.value), key_of(after.value)))
    assert keys[0] == keys[1]


def test_whole_numbers_are_compared_by_all_their_digits_and_fractions_by_nine() -> None:
    assert key_of(12345678901) != key_of(12345678902)
    assert key_of(12345678901) == key_of(12345678901.0) == "12345678901"
    assert key_of(0.1 + 0.2) == key_of(0.3)
    assert key_of(-0.0) == key_of(0) == "0"
    assert key_of(10**30) != key_of(10**30 - 1)
