"""Calls as text: what is written is read back, and nothing else than InvalidCallError comes out of reading."""

import contextlib
import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.tools.calls import DEEPEST, LONGEST, Call, call, from_mapping, parse
from tape.tools.errors import InvalidCallError
from tests.profiles import examples
from tests.tape.tools.helpers import CALLS, JSON


@given(CALLS)
@examples(40)
def test_what_is_written_is_read_back(made: Call) -> None:
    assert parse(made.text) == made
    made.text.encode()  # tokenizers and files take it
    moved = made.renumbered(lambda k: k + 7)
    assert moved.references == tuple(k + 7 for k in made.references)
    assert moved.renumbered(lambda k: k - 7) == made


VALUES = st.text(alphabet="#12[]{}()'\"fab+- .,:=\\\n", max_size=30)


@given(
    st.text(max_size=60)
    | st.from_regex(r"[a-z]{1,3}\([a-z]=[\[{\"#0-9a-z,: \]}]{0,12}\)?", fullmatch=True)
    | VALUES.map(lambda text: f"f(a={text})")
)
@examples(200)
def test_any_text_is_a_call_that_reads_the_same_again_or_invalid(text: str) -> None:
    try:
        made = parse(text)
    except InvalidCallError:
        return
    assert parse(made.text) == made
    with contextlib.suppress(InvalidCallError):
        json.dumps(made.values([{"a": 1}, [2]] * 6))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add", "expected TOOL"), ("add(a=1", "expected ',' or '\\)'"), ("add(a=1,)", "expected NAME=VALUE"),
        ("add(1)", "expected NAME=VALUE"), ("add(a=one)", "the name one has no value"), ("add(a=NaN)", "no JSON"),
        ("add(a=1e999)", "neither JSON nor an expression"), ("add(a=#0)", "neither JSON nor an expression"),
        ("add(a=#1000)", "neither JSON nor an expression"),
        ("add(a=1, a=2)", "given twice"), ("add(a=1) then", "after the call"),
        ("add(a=" + "[" * 500 + "]" * 500 + ")", "lists and objects inside each other|neither JSON"),
        ("add(a=" + "[" * 3000, "neither JSON"), ("add(a=" + "1" * LONGEST + ")", "characters"),
    ],
)  # fmt: skip
def test_errors_of_malformed_calls_name_where_reading_stopped(text: str, message: str) -> None:
    with pytest.raises(InvalidCallError, match=message):
        parse(text)


def test_spaces_and_spellings_do_not_matter() -> None:
    assert parse(" add ( a = 3.0 , b = #1 ) ").text == "add(a=3, b=#1)"
    assert parse(" add ( a = '3' , b = #1 [ 'x' ] ) ").text == "add(a=\"3\", b=#1 [ 'x' ])"
    assert parse("größe.élan-2(àb=1)").text == "größe.élan-2(àb=1)"
    assert parse('note(tags={"b": 1, "a": "é"})').text == 'note(tags={"a": "é", "b": 1})'


def test_values_nested_up_to_the_limit_are_read() -> None:
    assert parse(f"f(a={'[' * DEEPEST + ']' * DEEPEST})").values([])
    with pytest.raises(InvalidCallError):
        call("f", a=json.loads("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)))


EXPRESSIONS: list[tuple[str, tuple[int, ...], Any]] = [
    ('#1["email"]', (1,), "ann@x.org"), ("#2[0]", (2,), 3), ("#2[1:]", (2,), [4, 5]), ("#3", (3,), 7),
    ("f\"Hi {#1['n']}, {#3} new\"", (1, 3), "Hi Ann, 7 new"), ("2 * #3 + 1", (3,), 15), ("-#3", (3,), -7),
    ("[#3, {'k': #2}]", (3, 2), [7, {"k": [3, 4, 5]}]), ('{"of": #1["n"]}', (1,), {"of": "Ann"}),
    ("sum(x for x in #2 if x > #3 - 4)", (2, 3), 9), ("max(#2) if #3 > 6 else 0", (2, 3), 5),
    ("len(#2) == 3 and #3", (2, 3), 7), ("'a, (b) # c' + #1['n']", (1,), "a, (b) # cAnn"),
    ("'#1 and #9: ' + str(#3)", (3,), "#1 and #9: 7"), ("f'#2 {#3} #1'", (3,), "#2 7 #1"),
    ("\"it's \" + #1['n']", (1,), "it's Ann"), ("1 + 2", (), 3), ("'plain'", (), "plain"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "references", "value"), EXPRESSIONS)
def test_a_value_may_be_an_expression_over_results(text: str, references: tuple[int, ...], value: Any) -> None:
    results = [{"email": "ann@x.org", "n": "Ann"}, [3, 4, 5], 7]
    made = parse(f"send(to={text}, b=2)")
    assert made.references == references
    assert made.values(results) == {"to": value, "b": 2}
    assert parse(made.text) == made
    moved = made.renumbered(lambda k: k + 3)
    assert moved.references == tuple(k + 3 for k in references)
    assert moved.values([None, None, None, *results]) == {"to": value, "b": 2}
    assert parse(moved.text) == moved
    assert moved.renumbered(lambda k: k - 3) == made


def test_what_results_do_not_give_is_an_error_of_the_call() -> None:
    for text, message in (
        ('f(a=#1["b"])', 'there is no key "b"; there is "a"'), ("f(a=#1 + 1)", "takes numbers, got a dict"),
        ("f(a=#1['a'] / 0)", "zero"), ("f(a=#2[5] + #1['a'])", "#2 is the result of no call; there are 1 results"),
        ("f(a=one + #1)", "the name one has no value"),
    ):  # fmt: skip
        with pytest.raises(InvalidCallError, match=re.escape(message)):
            parse(text).values([{"a": 1}])


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')", "#1.__class__", "#1.upper()", "().__class__.__bases__", "open('x')",
        "eval('1')",
        "lambda: 1", "(lambda: #1)()", "double(#1)", "answer(#1)", "ask('who?', #1)", "print(#1)", "(x := #1)", "*#1",
        "{**#1}", "await_(#1)", "(yield)", "(await #1)", "str(#1).format(#1)", "f'{#1.__class__}'", "f'{#1!r}'",
        "f'{#1:{#1}}'", "f'{#1:>99999999}'", "#1 #2", "#1; #2", "#1\n#1", "sorted(#1, key=len)", "getattr(#1, 'x')",
        "#1 is #1", "#1 @ #1", "~#1", "#1 << 9", "...", "b'x' + #1", "1j * #1", "(" * 300 + "#1" + ")" * 300,
        "-" * 3000 + "#1", "'" + "#1", '"""' + "#1", "#1)]", "#1[", "", " ",
    ],
)  # fmt: skip
def test_hostile_and_broken_expressions_are_refused_where_they_are_read(text: str) -> None:
    with pytest.raises(InvalidCallError):
        parse(f"f(a={text})")


@pytest.mark.parametrize(
    "text",
    [
        "9 ** 9 ** 9 ** 9", "'x' * 10 ** 9", "[0] * 10 ** 9", "#1 ** 10 ** 9", "[#2] * 10 ** 9", "int('9' * 5000)",
        "round(#1, 10 ** 9)", "[[x, y, z] for x in #3 for y in #3 for z in #3]", "sum([#3 for x in #3], [])",
        "f'{#4}{#4}{#4}'", "#1 / (#1 - #1)", "#1 % 0", "int(#2)", "float('nan') + #1", "float('inf')", "1e999 * #1",
    ],
)  # fmt: skip
def test_expressions_that_grow_or_have_no_value_are_errors_and_soon(text: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidCallError):
        parse(f"f(a={text})").values([10**20, "x", [*range(900)], "y" * 9_000])
    assert time.process_time() - began < 5


@given(st.dictionaries(st.sampled_from(["kind", "variant", "tool", "self", "name"]), JSON))
def test_no_argument_name_is_taken(arguments: dict[str, object]) -> None:
    made = from_mapping("search.good", arguments)
    assert (made.tool, [name for name, _ in made.args]) == ("search.good", list(arguments))


def test_an_object_is_given_as_it_is_and_a_reference_is_a_text_of_its_own() -> None:
    made = call("note", text={"#1": "#2", "in": [{"#3 of 4": "see #4"}]}, of="#2")
    assert made.references == (2,)
    assert made.renumbered(lambda k: k + 5) == call("note", text={"#1": "#2", "in": [{"#3 of 4": "see #4"}]}, of="#7")
    assert made.values(["a", "b"]) == {"text": {"#1": "#2", "in": [{"#3 of 4": "see #4"}]}, "of": "b"}
    assert from_mapping("note", {"of": "#2"}).values([]) == {"of": "#2"}
