"""The evaluator computes as Python does, within bounds, and stops at the first call that has no result."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.plan.reader import read
from tape.plan.unfold import LineFailure
from tape.plan.vocabulary import ASK
from tests.profiles import examples
from tests.tape.plan.corpus import PRICED, SHOP, THANKS, TYPED
from tests.tape.plan.stepping import Answered, Called, Ended, Next, advance

ROW = {"name": "Ann", "email": "ann@shop", "n": 3, "price": 1234.5, "tags": ["a", "b"], "none": None}


def answer_of(expression: str, row: object = ROW) -> Next:
    """What an expression over the result of a call comes to."""
    program = read(f"row = query('a')\nanswer({expression})", SHOP)
    assert program.stopped is None, program.stopped
    used = len(program.statements) == 2
    return advance(program, [row] if used else [], SHOP)


def test_the_calls_of_a_program_come_one_by_one() -> None:
    program = read(THANKS, TYPED)
    first = advance(program, [], TYPED)
    assert isinstance(first, Called)
    assert (first.name, first.line) == ("query", 2)
    second = advance(program, [ROW], TYPED)
    assert isinstance(second, Called)
    assert second.arguments == {"to": "ann@shop", "text": "Thank you, Ann, for 3 orders."}
    assert advance(program, [ROW, None], TYPED) == Answered({"name": "Ann", "n": 3})


COMPUTED: dict[str, Any] = {
    "row['n'] * 2 + 1": 7, "-row['n'] ** 2": -9, "7 // 2 + 7 % 4 + 1 / 4": 6.25, "2 ** 10": 1024,
    "row['tags'][0] + row['tags'][-1]": "ab", "row['tags'][1:]": ["b"], "row['name'][::-1]": "nnA",
    "row.get('x', 5)": 5, "row.get('x')": None,
    "f\"{row['price']:,.2f} {row['n']} {row['tags']} {row['none']} {True}\"": '1,234.50 3 ["a", "b"] None True',
    "'yes' if row['n'] > 2 and not row['none'] else 'no'": "yes", "1 < row['n'] <= 3": True,
    "'A' in row['name'] and 'n' in row and 'c' not in row['tags']": True, "row['none'] is None": True,
    "[t + '!' for t in row['tags'] if t != 'a']": ["b!"], "sum(x for x in [1, 2, 3])": 6,
    "sum(x > 1 for x in [1, 2, 3])": 2, "max(row['n'], 10) + min([4, 2]) + len(row['tags'])": 14,
    "min([], default=0)": 0, "sorted(['b', 'a'], reverse=True)": ["b", "a"],
    "max([{'n': 1}, row, {'n': 3}], key=lambda r: r['n'])['name']": "Ann",
    "min(['bb', 'a', 'c'], key=lambda t: len(t))": "a", "min([], key=lambda r: r['n'], default=0)": 0,
    "sorted([3, 1, 2], key=lambda n: -n)": [3, 2, 1],
    "sorted([(1, 'b'), (2, 'a'), (3, 'b')], key=lambda p: p[1], reverse=True)": [[1, "b"], [3, "b"], [2, "a"]],
    "round(row['price'] / 3, 2)": 411.5,
    "str(row['n']) + str(1.5)": "31.5", "int('12') + int(3.9) + float('2.5')": 17.5,
    "{'a': row['n'], 'b': [1, (2, 3)]}": {"a": 3, "b": [1, [2, 3]]}, "0 or row['name']": "Ann", "[row] == [row]": True,
}  # fmt: skip


@pytest.mark.parametrize("expression", COMPUTED)
def test_is_computed(expression: str) -> None:
    assert answer_of(expression) == Answered(COMPUTED[expression])


FAILING = {
    "row['phone']": 'there is no key "phone"; there is "name", "email"',
    "row['tags'][5]": "there is no item 5; there are 2",
    "row['tags']['a']": "a part of a list is taken by a whole number, got a text",
    "row['n']['a']": "a whole number has no parts", "row['name'] * 3": "* takes numbers, got a text and a whole number",
    "row['name'] % 3": "% takes numbers", "row['name'] + 3": "+ takes numbers", "1 / 0": "division by zero",
    "row['n'] > 'a'": "numbers are compared with numbers", "int('1e3')": "int takes a number, got a text",
    "float('nan')": "float takes a number", "sorted([1, 'a'])": "numbers are compared with numbers",
    "max([])": "max of nothing", "max([row], key=lambda r: r['m'])": 'there is no key "m"',
    "sorted([1, 2], key=lambda n: 'a' if n > 1 else n)": "numbers are compared with numbers",
    "f\"{row['name']:.2f}\"": "the format .2f is for numbers",
    "(-1) ** 0.5": "** of a negative number", "[x for x in row['name']]": "a comprehension goes over a list",
    "row['tags'].get('a')": ".get is for a dict", "round(1.5, 99)": "round takes -30 to 12 digits",
    "{row['n']: 1}": "the keys of a dict are texts",
}  # fmt: skip


@pytest.mark.parametrize("expression", FAILING)
def test_fails_with_the_reason(expression: str) -> None:
    step = answer_of(expression)
    assert isinstance(step, LineFailure)
    assert FAILING[expression] in step.why
    assert step.line == 2


def test_an_end_without_an_answer_keeps_the_names() -> None:
    program = read("a = query('a')\nb = a['n'] + 1", TYPED)
    assert advance(program, [ROW], TYPED) == Ended({"a": ROW, "b": 4})
    rest = read("answer(b * 2)", SHOP, ["a", "b"])
    assert advance(rest, [], SHOP, {"a": ROW, "b": 4}) == Answered(8)


def test_a_branch_that_is_not_taken_makes_no_call() -> None:
    program = read("r = query('a')\nanswer(r['n'] if r['n'] else query('b'))", SHOP)
    assert advance(program, [{"n": 1}], SHOP) == Answered(1)
    assert isinstance(advance(program, [{"n": 0}], SHOP), Called)


def test_calls_of_a_comprehension_come_one_by_one() -> None:
    program = read("answer([query(r['q'])['n'] for r in rows('a')])", SHOP)
    step = advance(program, [[{"q": "b"}, {"q": "c"}], {"n": 1}], SHOP)
    assert isinstance(step, Called)
    assert step.arguments == {"sql": "c"}
    assert advance(program, [[{"q": "b"}, {"q": "c"}], {"n": 1}, {"n": 2}], SHOP) == Answered([1, 2])


def test_an_operator_is_a_call_of_its_tool() -> None:
    program = read("answer(2 * (3 * 4))", PRICED)
    assert advance(program, [], PRICED) == Called("times", {"a": 3, "b": 4}, 1)
    assert advance(program, [12], PRICED) == Called("times", {"a": 2, "b": 12}, 1)
    assert advance(program, [12, 24], PRICED) == Answered(24)


def test_ask_is_a_call_with_the_question_and_what_is_read() -> None:
    program = read("answer(ask('Which year?', query('a')['text']))", SHOP)
    assert advance(program, [{"text": "In 1931."}], SHOP) == Called(
        ASK, {"question": "Which year?", "values": ["In 1931."]}, 1
    )


BOMBS = [
    "x = 10 ** 10 ** 10", "x = 2.5 ** 10000", "x = '%1000000000d' % 1", "x = 'a' * 10 ** 9", "x = int('9' * 10 ** 6)",
    "x = [0] * 10 ** 9", "x = f'{1:,.99f}'",
    "a = [[1]]\n" + "\n".join(f"a = [a, a, {n}]" for n in range(60)) + "\nx = f'{a}'",
    "a = ['aaaaaaaaaa']\n" + "\n".join(f"a = a + a + [{n}]" for n in range(60)),
    "a = 'aaaaaaaaaa'\n" + "\n".join("a = a + a" for _ in range(60)),
    "a = 9\n" + "\n".join("a = a * a" for _ in range(60)), "r = rows('a')\nx = [[y for y in r if y in r] for z in r]",
    "r = rows('a')\nx = [sorted(r) for z in r]",
    "a = [1]\nb = [1]\n" + "\n".join("a = [a, a]\nb = [b, b]" for _ in range(40)) + "\nx = a == b",
]  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_fails_within_little_memory(bomb: str) -> None:
    name = "x" if "x = " in bomb else "a"
    tracemalloc.start()
    try:
        program = read(f"{bomb}\nanswer({name})", SHOP)
        assert program.stopped is not None or isinstance(advance(program, [list(range(1_000))], SHOP), LineFailure)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


NUMBERS = st.integers(-50, 50) | st.floats(-50, 50).map(lambda x: round(x, 3))


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from("+-*/"), st.sampled_from("+-*/"))
@examples(150)
def test_arithmetic_is_python_s(a: float, b: float, c: float, first: str, second: str) -> None:
    step = answer_of(f"({a}) {first} ({b}) {second} ({c})", None)
    operations = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y}
    tight = second in "*/" and first in "+-"
    try:
        if tight:
            expected = operations[first](a, operations[second](b, c))
        else:
            expected = operations[second](operations[first](a, b), c)
    except ZeroDivisionError:
        assert isinstance(step, LineFailure)
    else:
        assert step == Answered(expected)
