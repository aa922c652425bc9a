"""Programs are read leniently, nothing is guessed, and no reply makes a call that it does not contain."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tape.errors import ConfigError
from tape.plan.program import Program
from tape.plan.reader import read
from tape.plan.unfold import LineFailure, NotMadeError, unfold
from tape.plan.vocabulary import ToolSignature, Vocabulary
from tests.tape.plan.corpus import READ, REFUSED, SHOP, TYPED
from tests.tape.plan.stepping import Called, advance


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
        "row = querry('a')",
        "row: dict = querry('a')",
        "row, n = query('a')",
        "row += 1",
        "db.check('a')",
        "await f('a')",
    ],
)
def test_what_stands_below_a_line_that_was_refused_is_not_run_without_it(line: str) -> None:
    program = read(f"{line}\nsend_email('a', 'b')\nanswer(1)", SHOP)
    assert not program.statements
    assert program.stopped.text == line
