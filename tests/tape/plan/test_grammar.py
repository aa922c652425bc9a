"""The grammar admits what models are to write, and nothing that the reader takes for no Python."""

from __future__ import annotations

import ast
import random

import pytest

from tape.plan.grammar import gbnf
from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
from tests.tape.plan.corpus import MAIL, PRICED, QUERY, ROWS, SHOP, THANKS, TYPED

llguidance = pytest.importorskip("llguidance")
convert = pytest.importorskip("llguidance.gbnf_to_lark")

EVERY = Vocabulary.of(
    QUERY,
    ROWS,
    MAIL,
    ToolSignature("now"),
    ToolSignature("f", (Parameter("a", "int", required=False), Parameter("b", "bool", required=False))),
    ToolSignature("query_more", (Parameter("tags", "list[str]"), Parameter("where", "dict"), Parameter("x"))),
)

ADMITTED = [
    (TYPED, THANKS + "\n"),
    (TYPED, "# a\n# b\n# c\nanswer('Ann', 3)"),
    (EVERY, "x = now()\nf()\nf(b=True)\nf(a=-1, b=x)\nf(a=2)\nanswer(x)"),
    (EVERY, "r = rows('a')\nr = rows(sql='a', limit=3)\nanswer(r[0]['n'] + len(r))"),
    (EVERY, "query_more(tags=['a', 'b'], where={'a': 1}, x=None)\n"),
    (
        EVERY,
        "answer([f'a' if r['n'] > 1 else 'b' for r in rows('a') if r.get('n', 0) not in [1, 2]])".replace(
            "f'a'", "'a'"
        ),
    ),
    (EVERY, "answer(sum(r['n'] for r in rows('a')))"),
    (EVERY, "answer(f\"{row['a']:,.2f} and {x + 1} of {round(y, 2)}\")"),
    (EVERY, "answer(x[1:-2][:3])"),
    (EVERY, "answer(ask('Which year?', r['text']))"),
    (PRICED, "answer(times(2, 3) * 4)"),
]
"""Programs of the grammar."""

NOT_ADMITTED = [
    (SHOP, "x = eval('1')\n"),
    (SHOP, "x = query(sequel='a')\n"),
    (SHOP, "x = query(3)\n"),
    (SHOP, "x = query()\n"),
    (SHOP, "send_email(text='a', to='b')\n"),
    (SHOP, "x  = query('a')\n"),
    (SHOP, "x = a.b\n"),
    (SHOP, "for x in y:\n"),
    (SHOP, "# a\n# b\n# c\n# d\n"),
    (PRICED, "answer(2 + 3)"),
]
"""What no program of the grammar begins with."""


def matcher(words: Vocabulary) -> llguidance.LLMatcher:
    tokens = llguidance.LLTokenizer("byte")
    made = llguidance.LLMatcher(tokens, llguidance.grammar_from("lark", convert.any_to_lark(gbnf(words))))
    assert not made.get_error(), made.get_error()
    return made


def admitted(words: Vocabulary, text: str) -> int:
    """How many bytes of a text a program of the grammar can begin with."""
    return int(matcher(words).try_consume_tokens(list(text.encode())))


@pytest.mark.parametrize(("words", "text"), ADMITTED)
def test_is_admitted(words: Vocabulary, text: str) -> None:
    assert admitted(words, text) == len(text.encode())


@pytest.mark.parametrize(("words", "text"), NOT_ADMITTED)
def test_is_not_admitted(words: Vocabulary, text: str) -> None:
    assert admitted(words, text) < len(text.encode())


def drawn(words: Vocabulary, rng: random.Random) -> str | None:
    """A program drawn from the grammar byte by byte; None where it does not end soon."""
    made, text = matcher(words), b""
    while len(text) < 400:
        if made.is_accepting() and rng.random() < 0.3:
            return text.decode("utf-8", "replace")
        mask = made.compute_bitmask()
        allowed = [byte for byte in range(32, 127) if mask[byte // 8] >> byte % 8 & 1]
        allowed += [10] * bool(mask[1] >> 2 & 1) * 5
        byte = rng.choice(allowed)
        assert made.consume_token(byte)
        text += bytes([byte])
    return None


def test_what_is_drawn_is_python() -> None:
    rng = random.Random(5)
    texts = [text for text in (drawn(EVERY, rng) for _ in range(25)) if text is not None]
    assert len(texts) > 4
    for text in texts:
        ast.parse(text)
