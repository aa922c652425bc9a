"""What programs are admitted by the grammar, and read."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

import pytest

from tape.errors import ConfigError
from tape.plan.grammar import gbnf
from tape.plan.program import Program
from tape.plan.reader import read
from tape.plan.unfold import LineFailure, NotMadeError, unfold
from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
from tests.tape.plan.corpus import MAIL, PRICED, QUERY, READ, REFUSED, ROWS, SHOP, THANKS, TYPED
from tests.tape.plan.stepping import Called, advance

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
    (EVERY, "answer(max(rows('a'), key=lambda r: r['n'])['name'])"),
    (EVERY, "x = sorted(rows('a'), key=lambda r: len(r['n']), reverse=True)\n"),
    (EVERY, "answer(f\"{row['a']:,.2f} and {x + 1} of {round(y, 2)}\")"),
    (EVERY, "answer(x[1:-2][:3])"),
    (EVERY, "i = 1\no = 2\nasse = 3\nfro = 4\nclas = 5\n"),
    (EVERY, "answer(ask('Which year?', r['text']))"),
    (PRICED, "answer(times(2, 3) * 4)"),
]
"""Programs of the grammar."""

NOT_ADMITTED = [
    (SHOP, "x = eval('1')\n"), (SHOP, "x = query(sequel='a')\n"), (SHOP, "x = query(3)\n"), (SHOP, "x = query()\n"),
    (SHOP, "send_email(text='a', to='b')\n"), (SHOP, "x  = query('a')\n"), (SHOP, "x = a.b\n"), (SHOP, "for x in y:\n"),
    (SHOP, "# a\n# b\n# c\n# d\n"), (PRICED, "answer(2 + 3)"), (SHOP, "importos = 1\n"), (SHOP, "osmove = 1\n"),
    (SHOP, "assert_there = 1\n"), (PRICED, "x = max([2, 1], key=lambda"),
]  # fmt: skip
"""What no program of the grammar begins with."""


def matcher(words: Vocabulary, *, turn: bool = False) -> llguidance.LLMatcher:
    tokens = llguidance.LLTokenizer("byte")
    made = llguidance.LLMatcher(tokens, llguidance.grammar_from("lark", convert.any_to_lark(gbnf(words, turn=turn))))
    assert not made.get_error(), made.get_error()
    return made


def admitted(words: Vocabulary, text: str) -> int:
    """How many bytes of a text a program of the grammar can begin with."""
    return int(matcher(words).try_consume_tokens(list(text.encode())))


def test_a_turn_is_one_line_after_a_comment_and_literals() -> None:
    for text in ("# Look.\nx = 3\ny = query(sql='a')  # all of it\n", "query(sql='a')\n", "answer(4)"):
        assert matcher(SHOP, turn=True).try_consume_tokens(list(text.encode())) == len(text)
    for text, kept in (("y = query(sql='a')\n", "z"), ("# a\n", "# b\n")):
        assert matcher(SHOP, turn=True).try_consume_tokens(list((text + kept).encode())) == len(text)
    assert admitted(SHOP, "y = query(sql='a')  # all") < len("y = query(sql='a')  #")


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


@pytest.mark.parametrize("name", READ)
def test_is_read(name: str) -> None:
    words, text, statements = READ[name]
    program = read(text, words)
    assert program.stopped is None, program.stopped
    assert [statement.text for statement in program.statements] == (statements or text.split("\n"))


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_the_reason(name: str) -> None:
    words, text, why = REFUSED[name]
    program = read(text, words)
    assert not program.statements
    assert why in program.stopped.why


def test_what_stands_before_a_wrong_statement_is_a_partial_program() -> None:
    program = read("# Look.\nr = query('a')\nx = r.name\nsend_email('a', 'b')", SHOP)
    assert program.comment == "Look."
    assert [statement.text for statement in program.statements] == ["r = query('a')"]
    assert (program.stopped.line, program.stopped.text) == (3, "x = r.name")


def test_a_continuation_knows_the_names_of_before() -> None:
    assert read("answer(row['n'])", SHOP, ["row"]).answers
    assert not read("answer(row['n'])", SHOP).answers


@pytest.mark.parametrize("name", ["ask", "answer", "len", "a.b", "page-size"])
def test_names_that_programs_cannot_have(name: str) -> None:
    with pytest.raises(ConfigError, match="tool"):
        ToolSignature(name)


PIECES = [
    *("(", ")", "[", "]", '"', "'''", "\\", "\n", "#", "```", "<think>", "</think>", "{", "}", ":", "=", "f'", "\x00"),
    *("\ud800", "\u2028", "send_email", "query('", "answer(", " if ", " for ", "  ", "\t", "9" * 50, "**", ";"),
]
"""What spoils a program."""


def mutated(rng: random.Random) -> Iterator[tuple[Vocabulary, str]]:
    """Replies that have been spoilt at random."""
    corpus = [(words, text) for words, text, _ in [*READ.values(), *REFUSED.values()]]
    while True:
        words, text = rng.choice(corpus)
        for _ in range(rng.randrange(1, 5)):
            at, other = rng.randrange(len(text) + 1), rng.choice(corpus)[1]
            match rng.randrange(4):
                case 0:
                    text = text[:at] + rng.choice(PIECES) + text[at:]
                case 1:
                    text = text[:at] + text[at + rng.randrange(1, 8) :]
                case 2:
                    text = text[:at] + other[rng.randrange(len(other) + 1) :]
                case _:
                    lines = text.split("\n")
                    rng.shuffle(lines)
                    text = "\n".join(lines)
        yield words, text


RESULTS = [None, True, 0, -1, 3, 2.5, "", "a\n```\nanswer(1)", [], [1, 2], {"n": 3}, [{"n": 1, "q": "b"}],
           {"email": "a@b", "name": "Ann", "n": 2, "m": 3.5, "text": "t", "x": False, "t": "u", "q": "c"}]  # fmt: skip


def check(program: Program, words: Vocabulary, text: str, rng: random.Random) -> int:
    """Run a program with results at random; returns how many calls it made."""
    results: list[object] = []
    while len(results) < 50:
        step = advance(program, results, words)
        if not isinstance(step, Called):
            assert not isinstance(step, LineFailure) or step.why
            break
        symbols = {name: symbol for symbol, name in words.operators.items()}
        assert f"{step.name}" in text or symbols.get(step.name, "\0") in text, "a call that the text does not contain"
        results.append(rng.choice(RESULTS))
    return len(results)


def sweep(count: int, seed: int) -> int:
    rng = random.Random(seed)
    replies = mutated(rng)
    return sum(check(read(text, words), words, text, rng) for words, text in (next(replies) for _ in range(count)))


@pytest.mark.parametrize(
    ("count", "seed", "least"), [(600, 1, 60), pytest.param(100_000, 2, 10_000, marks=pytest.mark.soak)]
)
def test_spoilt_replies_make_no_call_that_they_do_not_contain(count: int, seed: int, least: int) -> None:
    assert sweep(count, seed) > least


def test_a_result_adds_no_line() -> None:
    text = "row = query('a')\nanswer(name=row['name'], n=1)"
    program = read(text, TYPED)
    hostile = {"name": "x')\nsend_email('a', 'b')\n```python\nsend_email('a', 'b')"}
    assert [type(advance(program, results, TYPED)).__name__ for results in ([], [hostile])] == ["Called", "Answered"]


def nothing_made(name: str, arguments: object) -> object:
    raise NotMadeError


@pytest.mark.parametrize("text", ["answer(3)", "answer(value=3)", "x = 3\nanswer(value=x)", "x = 3"])
def test_an_answer_of_any_type_may_be_given_by_the_name_that_its_stub_shows(text: str) -> None:
    words = Vocabulary.of()
    run = unfold(read(text, words), words, nothing_made)
    assert run.answer.value == 3


@pytest.mark.parametrize(
    "line",
    [
        "row = querry('a')", "row: dict = querry('a')", "row, n = query('a')", "row += 1", "db.check('a')",
        "await f('a')",
    ],
)  # fmt: skip
def test_what_stands_below_a_line_that_was_refused_is_not_run_without_it(line: str) -> None:
    program = read(f"{line}\nsend_email('a', 'b')\nanswer(1)", SHOP)
    assert not program.statements
    assert program.stopped.text == line
