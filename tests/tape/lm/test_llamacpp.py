"""llama.cpp: constraints as its grammars, answers of servers that build grammars of schemas, and its price."""

from __future__ import annotations

import asyncio
import json
import random
import re
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tape.errors import ConfigError, ConstraintError
from tape.lm.base import FREE, Constraint, Forced, Grammar, JsonSchema, OneOf, Regex, Request
from tape.lm.constraints import to_gbnf
from tape.lm.hosted.providers import LLAMACPP, OLLAMA, OPENAI
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import PROMPT, opened, replies
from tests.tape.lm.test_constraints import LENGTH, POOL, constraint, texts_of

pytest.importorskip("openai")


class Plan(BaseModel):
    actions: list[Literal["U", "D"]] = Field(min_length=1, max_length=9)
    sure: bool


def as_pattern(grammar: str) -> str:
    """A grammar of ours as a regular expression: a second reading, part by part, of what llama.cpp reads."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.strip().split("\n"))

    def expression(body: str) -> str:
        parts = re.findall(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|r[0-9]+|[*+?|]|\{[0-9,]+\}| ', body)
        assert "".join(parts) == body
        return "".join(map(part, parts))

    def part(text: str) -> str:
        if text[0] == '"':
            return f"(?:{re.escape(unescaped(text[1:-1]))})"
        if text[0] == "[":
            return "[" + re.sub(r"\\U0*([0-9A-F]{5,6})", lambda m: f"\\U{m[1]:0>8}", text[1:-1]) + "]"
        return f"(?:{expression(rules[text])})" if text[0] == "r" else text.strip()

    return expression(rules["root"])


def unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9A-F]{4})|\\U([0-9A-F]{8})", lambda m: chr(int(m[1] or m[2], 16)), text)


def test_a_grammar_allows_the_texts_of_its_constraint() -> None:
    rng, seen = random.Random(5), 0
    for _ in range(100):
        letters = tuple(rng.sample(POOL, 3))
        asked = constraint(rng, letters)
        try:
            written = re.compile(as_pattern(to_gbnf(asked)))
        except ConstraintError:
            continue  # counts what may be empty
        seen += 1
        texts = set(texts_of(letters))
        if isinstance(asked, Regex):
            wanted = {text for text in texts if re.fullmatch(asked.pattern, text)}
        else:
            wanted = {asked.text} if isinstance(asked, Forced) else set(asked.options)  # type: ignore[union-attr]
            texts |= wanted
        assert {text for text in texts if written.fullmatch(text)} == wanted, (asked, LENGTH)
    assert seen > 60


def test_what_is_counted_is_a_rule_so_that_counts_do_not_multiply() -> None:
    # llama.cpp refuses a count of a group whose parts, written out, come to more than 2,000.
    grammar = to_gbnf(Regex("(?:(?:ab|c){0,50};){0,50}"))
    assert grammar == 'root ::= r2{0,50}\nr1 ::= "ab" | "c"\nr2 ::= r1{0,50} ";"\n'.replace('";"', r'"\u003B"')


@pytest.mark.parametrize(("asked", "message"), [(Regex("a{3000}"), "2000"), (Regex("(a|){2,}"), "empty")])
def test_what_llama_cpp_cannot_count_is_refused(asked: Constraint, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        to_gbnf(asked)


def ask(provider: Any, endpoint: Endpoint, asked: Constraint, tokens: int = 20) -> str:
    [completion] = asyncio.run(opened(endpoint, provider, repairs=0).generate([Request(PROMPT, tokens, asked)]))
    return str(completion.texts[0])


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (OneOf(("up", "down")), "down"),
        (Forced("go"), "go"),
        (Regex(r'\{"thought":"[^"]{0,20}","action":"U"\}'), '{"thought":"up","action":"U"}'),
        (Grammar('root ::= "x"'), "x"),
    ],
)
def test_a_llama_cpp_server_is_asked_by_grammars(asked: Constraint, text: str) -> None:
    with Endpoint(replies(text)) as endpoint:
        assert ask(LLAMACPP, endpoint, asked) == text
    [body] = endpoint.bodies
    assert body["grammar"] == to_gbnf(asked)
    assert "response_format" not in body
    assert isinstance(asked, Grammar) or re.fullmatch(as_pattern(body["grammar"]), text)
    # Neither a wrapper nor white space needs room.
    assert body["max_tokens"] == (36 if isinstance(asked, OneOf | Forced) else 20)


def test_a_llama_cpp_server_is_asked_by_the_schema_where_there_is_one() -> None:
    text = '{"actions": ["U", "D"], "sure": true}'
    with Endpoint(replies(text)) as endpoint:
        assert ask(LLAMACPP, endpoint, JsonSchema(Plan)) == text
    [body] = endpoint.bodies
    assert "grammar" not in body
    assert body["response_format"]["json_schema"]["schema"]["properties"]["sure"]["type"] == "boolean"
    assert body["max_tokens"] == 35, "the server may write white space"


def test_what_is_no_grammar_of_ours_is_left_to_the_server() -> None:
    with Endpoint(replies(json.dumps({"answer": "a" * 3000}))) as endpoint:
        assert ask(LLAMACPP, endpoint, Regex("a{3000}"), 400) == "a" * 3000
    assert endpoint.bodies[0]["max_tokens"] > 400, "the wrapper has room"
    assert "pattern" in json.dumps(endpoint.bodies[0]["response_format"])


QUOTED = Regex(r'\{"thought":"[^"\\]{0,20}","action":"U"\}')


TEXT = '{"thought":"to the wall","action":"U"}'


# The pattern between quotes, as grammars have it, or as JSON has it.
@pytest.mark.parametrize(
    "answer", [f'{{"answer": "{TEXT}"}}', f'{{\n  "answer": "{TEXT}"\n}}\n', json.dumps({"answer": TEXT})]
)
@pytest.mark.parametrize("provider", [OLLAMA, OPENAI])
def test_a_wrapped_answer_may_hold_quotes(provider: Any, answer: str) -> None:
    with Endpoint(replies(answer)) as endpoint:
        assert ask(provider, endpoint, QUOTED) == TEXT
    assert endpoint.bodies[0]["response_format"]["type"] == "json_schema"


def test_indented_json_has_room() -> None:
    indented = json.dumps({"actions": ["U", "D"], "sure": True}, indent=2)
    with Endpoint(replies(indented)) as endpoint:
        assert json.loads(ask(OLLAMA, endpoint, JsonSchema(Plan))) == {"actions": ["U", "D"], "sure": True}
    assert endpoint.bodies[0]["max_tokens"] == 35
    request = Request(PROMPT, 20, JsonSchema(Plan), n=3)
    assert OLLAMA(f"test@{endpoint.url}").most_completion_tokens(request) == 105, "and is part of the worst case"


def test_a_server_elsewhere_may_be_declared_free() -> None:
    url = "http://192.168.1.7:8080/v1"
    assert LLAMACPP(f"test@{url}").price is None
    free = LLAMACPP(f"test@{url}#price=0,concurrency=2")
    assert (free.price, free.name) == (FREE, f"llamacpp:test@{url}#price=0,concurrency=2")
    with pytest.raises(ConfigError, match=r"only price .* is price=0.*--prices FILE"):
        LLAMACPP(f"test@{url}#price=0.15")
