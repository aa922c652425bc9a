"""Word problems: made, read from files, and taken apart."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.data_files import DataFileError
from envs.gsm_hard.arithmetic import run
from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.generator import SPLITS, TARGETS, GsmWords, delexicalise, generate, is_held_out, problem_set
from envs.gsm_hard.loader import DEFAULT_OPERATIONS, load, operations_of
from envs.gsm_hard.problem import ProgramStep
from envs.gsm_hard.rendering import in_order_of_text
from envs.gsm_hard.templates import CONSTANTS, DISTRACTORS, TEMPLATES, Part, Template


def texts_of(parts: list[Part]) -> set[tuple[str, ...]]:
    """The names of the numbers of every text that a wording can give."""
    texts: set[tuple[str, ...]] = {()}
    for part in parts:
        if isinstance(part, list):
            more = {names for alternative in part for names in texts_of(alternative)}
        else:
            more = {(part[0],) if isinstance(part, tuple) and len(part[0]) == 1 else ()}
        texts = {names + extra for names in texts for extra in more}
    return texts


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_every_text_has_the_numbers_of_its_program_once(template: Template) -> None:
    assert len(set(template.wordings)) >= 6
    used = {arg for step in template.steps for arg in step.args if isinstance(arg, str) and arg[0] != "#"}
    assert used == set(template.ranges)
    assert not used & set(DISTRACTORS)
    assert {f"#{number}" for number in range(1, len(template.steps))} <= {
        arg for step in template.steps for arg in step.args
    }
    for parts in template.parsed:
        for names in texts_of(parts):
            assert Counter(name for name in names if name in used) == Counter(used)
            assert set(names) - used <= set(DISTRACTORS)


@pytest.mark.parametrize("split", SPLITS)
def test_problems_are_sound(split: str) -> None:
    problems = generate(split, 100, 9)
    trained = {template.name for template in TEMPLATES if not template.held_out}
    assert len({problem.digest for problem in problems}) == 100
    for problem in problems:
        assert problem.program is not None
        words = delexicalise(problem.text)
        assert len(set(words.numbers)) == len(words.numbers)
        assert not set(words.numbers) & set(CONSTANTS)
        assert min(words.numbers) > 0
        assert run(problem.program) == pytest.approx(problem.target, rel=1e-12)
        assert TARGETS[0] <= problem.target <= TARGETS[1]
        assert problem.operations == len(problem.program)
        for arg in (arg for step in problem.program for arg in step.args):
            assert isinstance(arg, str) or arg in words.numbers or arg in CONSTANTS
        assert problem.split == split
        assert (problem.template in trained) == (split != "templates")
        if split in {"train", "fresh"}:
            assert is_held_out(problem) == (split == "fresh")
        assert re.match(r"[A-Z0-9$]", problem.text)
        assert problem.text[-1] in ".?"
        assert "?" in problem.text
        assert not re.search(r"[\[\]{}|]|  | [.,?]", problem.text)


def test_the_sets_are_fixed_and_apart() -> None:
    sets = {name: problem_set(name) for name in ("dev", "test")}
    assert {name: len(problems) for name, problems in sets.items()} == {"dev": 100, "test": 200}
    for name, problems in sets.items():
        half = len(problems) // 2
        splits = Counter(problem.split for problem in problems)
        assert splits == {"fresh": half, "wordings": half // 2, "templates": half // 2}, name
        assert len({problem.id for problem in problems}) == len(problems)
    assert not {problem.digest for problem in sets["dev"]} & {problem.digest for problem in sets["test"]}


def test_nonsense_is_refused() -> None:
    with pytest.raises(GsmHardError, match="fresh"):
        generate("trial", 1, 1)
    with pytest.raises(GsmHardError, match="count >= 0"):
        generate("train", -1, 1)
    with pytest.raises(GsmHardError, match="dev, test"):
        problem_set("train")


def test_calls_come_in_the_order_of_the_text() -> None:
    def in_order(letters: str, *steps: tuple[str, object, object]) -> list[tuple[str, object, object]]:
        order = in_order_of_text(tuple(ProgramStep(kind, (a, b)) for kind, a, b in steps), letters)  # type: ignore[arg-type]
        return [(step.kind, *step.args) for step in order]

    steps = [("multiply", "a", "b"), ("multiply", "c", "d"), ("subtract", "#1", "#2")]
    assert in_order("abcd", *steps) == steps
    assert in_order("dxcba", *steps) == [("multiply", "d", "c"), ("multiply", "b", "a"), ("subtract", "#2", "#1")]
    chain = [("add", "a", 2.0), ("add", "b", "#1"), ("add", "#2", "#1")]
    assert in_order("ba", *chain) == [("add", "a", 2.0), ("add", "#1", "b"), ("add", "#1", "#2")]


@pytest.mark.parametrize(
    ("text", "tokens", "numbers"),
    [
        ("Ada's 1,234,567 cups.", "ada 's n1 cups .", (1234567,)),
        ("It costs $90 or $3.50?", "it costs dollars n1 or dollars n2 ?", (90, 3.5)),
        ("30% of 0.5", "n1 percent of n2", (30, 0.5)),
        ("a 25-page book; 25 pages!", "a n1 page book , n2 pages .", (25, 25)),
        ("Wendi’s .5 l, 12,34 and 1,234,5678", "wendi 's n1 l , n2 , n3 and n4 , n5", (0.5, 12, 34, 1234, 5678)),
        ("n1 v2 #3 -> <plan> text:", "n n1 v n2 n3 plan text ,", (1, 2, 3)),
        ("", "", ()),
    ],
)
def test_texts_are_taken_apart(text: str, tokens: str, numbers: tuple[float, ...]) -> None:
    assert delexicalise(text) == GsmWords(tuple(tokens.split()), tuple(map(float, numbers)))


@given(st.text(alphabet="0123456789.,$%-ax #'é²½ \n", max_size=60) | st.text(max_size=100))
def test_any_text_can_be_taken_apart(text: str) -> None:
    words = delexicalise(text)
    slots = [token for token in words.tokens if token[0] == "n" and token[1:].isdecimal()]
    assert slots == [f"n{number + 1}" for number in range(len(words.numbers))]
    assert not any(character.isspace() or character in "#<>" for token in words.tokens for character in token)


_DATA = os.environ.get("TAPE_TEST_DATA", "")
GOOD = {
    "input": "A rope of 2287720 meters is cut in half. How long is a part?",
    "code": "x = 2287720 / 2",
    "target": 1143860.0,
}


def write(path: Path, *rows: Any) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_problems_are_read(tmp_path: Path) -> None:
    odd = {**GOOD, "input": "One\u2028line.", "code": "def (", "target": 7}
    problem, two = load(write(tmp_path / "mine.jsonl", GOOD, "", json.dumps(odd, ensure_ascii=False)))
    assert (problem.id, problem.text, problem.target, problem.operations, problem.program) == (
        "mine-1", GOOD["input"], 1143860.0, 1, None,
    )  # fmt: skip
    assert (two.id, two.text, two.target, two.operations) == ("mine-3", "One\u2028line.", 7.0, DEFAULT_OPERATIONS)


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({**GOOD, "input": "  "}, "input", "give a text that is not empty"),
        ({"input": "x", "target": 1}, "code", "is missing"),
        ({"input": "x", "code": "1"}, "target", "is missing"),
        ({**GOOD, "target": "3"}, "target", "give a number"),
        ({**GOOD, "target": True}, "target", "give a number"),
        ({**GOOD, "target": math.nan}, "", "NaN is no number"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: Any, field: str, message: str) -> None:
    path = write(tmp_path / "bad.jsonl", GOOD, row)
    with pytest.raises(DataFileError, match=message) as caught:
        load(path)
    assert (caught.value.file, caught.value.place, caught.value.field) == (str(path), 2, field)
    assert f"{path}:2" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "operations"),
    [
        ("a = 3\nb = a / 2\nreturn_ = a + b", 2), ("a = 1\na += 2\na **= 3\nb = a // 2 % 5 - 1", 5), ("a = 3", 1),
        ("x = '\\d' + 'a'", 1), ("def (", DEFAULT_OPERATIONS), ("\0", DEFAULT_OPERATIONS),
        ("raise SystemExit(1 + 2)", 1),
    ],
)  # fmt: skip
def test_operations_are_counted_and_nothing_is_run(code: str, operations: int) -> None:
    assert operations_of(code) == operations


@given(st.text(max_size=200))
def test_any_code_has_operations(code: str) -> None:
    assert operations_of(code) >= 1


@pytest.mark.skipif(not _DATA, reason="TAPE_TEST_DATA is not set")
def test_the_public_problems() -> None:
    problems = load(Path(_DATA, "gsm_hard", "gsmhard_even.jsonl"))
    assert len(problems) == 659
    assert len({problem.id for problem in problems}) == 659
    mean = sum(problem.operations for problem in problems) / 659
    assert abs(mean - DEFAULT_OPERATIONS) < 1
