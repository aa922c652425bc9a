"""What comes from outside stands in a prompt as one line of ASCII that no server takes for a special token."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.plan.prompt import ask_program
from tape.plan.shown import answer_stub, comment, literal, stub, stubs
from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
from tests.profiles import examples
from tests.tape.plan.corpus import MAIL, QUERY

SPECIAL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "<start_of_turn>", "<end_of_turn>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|user|>",
    "<|assistant|>", "<|system|>", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "<｜User｜>", "<｜Assistant｜>", "<pad>",
    "<unk>", "<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<bos>", "<|end|>", "<|tool_call|>", "<think>",
    "</think>",
]  # fmt: skip
"""Of the chat templates of Qwen, Llama 2 and 3, Mistral, Gemma, Phi, DeepSeek, Command R, Granite and Zephyr."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(SPECIAL),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


def plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and not re.search(r"[<>|]|\[[/A-Z]", text)


@given(VALUES, st.integers(10, 300))
@examples(200)
def test_a_value_is_one_plain_line(value: object, longest: int) -> None:
    shown = literal(value, longest)
    assert plain(shown)
    assert len(shown) <= longest + len(" ... and 1000000 more characters")


@given(st.text(max_size=100) | st.lists(st.text(max_size=5)))
@examples(200)
def test_a_short_value_reads_back_as_it_was(value: object) -> None:
    assert json.loads(literal(value, 10**6)) == value


@given(st.lists(st.sampled_from([*SPECIAL, "a", "\n", "\u2028", "\\", '"', "é"]), max_size=8).map("".join))
@examples(200)
def test_no_text_with_special_tokens_passes(text: str) -> None:
    for shown in (literal(text), literal([{text: text}]), comment(text), stub(ToolSignature("f", description=text))):
        assert plain(shown.removeprefix("def f() -> Any:"))


@pytest.mark.parametrize(
    ("value", "longest", "shown"),
    [
        ("a" * 30, 11, '"aaaaaaaaaa ... and 21 more characters'), ("é" * 3, 10, '"\\u00e9 ... and 13 more characters'),
        (list(range(100)), 9, "[0, 1, 2] and 97 more"), ([{"a": 1}, {"a": 2}], 400, '[{"a": 1}, {"a": 2}]'),
        (["a" * 50], 10, '["aaaaaaaa ... and 44 more characters'), (float("nan"), 400, '"nan"'),
    ],
)  # fmt: skip
def test_what_is_long_is_cut(value: object, longest: int, shown: str) -> None:
    assert literal(value, longest) == shown


def test_tools_are_shown_as_stubs() -> None:
    limited = ToolSignature(
        "rows",
        (Parameter("sql", "str", note="a SELECT"), Parameter("limit", "int", required=False, default="10")),
        "list[dict]",
        price="$0.01",
    )
    assert stubs(Vocabulary.of(QUERY, MAIL, limited))[0].split("\n") == [
        'def query(sql: str) -> dict: "First row of a SELECT."',
        "def send_email(to: str, text: str) -> None: ...",
        "def rows(sql: str, limit: int = 10) -> list[dict]: ...  # sql: a SELECT; $0.01",
    ]
    assert answer_stub(Vocabulary.of()) == "answer(value: Any)"


def test_of_a_large_toolbox_the_tools_that_the_task_speaks_of_are_shown() -> None:
    pytest.importorskip("bm25s")
    tools = [ToolSignature(f"act_{number}", description=f"Do number {number}. {'so' * 50}") for number in range(90)]
    words = Vocabulary.of(*tools, ToolSignature("book_flight", description="Book a seat to a city."))
    shown, rest = stubs(words, "Get me a seat to Oslo.")[0].split("\n# There are also: ")
    assert 'def book_flight() -> Any: "Book a seat to a city."' in shown.splitlines()
    assert len(shown) < 6_100
    assert {*rest.split(", ")} | {line[4:].split("(")[0] for line in shown.splitlines()} == {*words.tools}
    assert "act_5" in stubs(words, "")[0].split("# There")[0], "without a word in common the first are shown"


def test_a_later_task_of_a_conversation_adds_its_tools_behind_what_stays() -> None:
    pytest.importorskip("bm25s")
    tools = [ToolSignature(f"act_{number}", description=f"Do number {number}. {'so' * 50}") for number in range(90)]
    words = Vocabulary.of(*tools, ToolSignature("book_flight", description="Book a seat to a city."))
    earlier = {"earlier": "Earlier in this conversation:", "first": "Do number 5."}
    [*_, first], [*_, then] = (
        ask_program("Do number 5.", words),
        ask_program("Get me a seat to Oslo.", words, **earlier),
    )
    assert then.content.startswith(first.content.partition("\nTask: ")[0])
    added = then.content.partition("Earlier in this conversation:\n\n")[2]
    assert 'def book_flight() -> Any: "Book a seat to a city."' in added
    assert len(added) < 1_700
    few = Vocabulary.of(QUERY, MAIL)
    assert ask_program("Mail.", few, **earlier)[-1].content.count("def ") == 2
