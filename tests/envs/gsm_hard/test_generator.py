from __future__ import annotations

import re
from collections import Counter

import pytest

from envs.gsm_hard.arithmetic import run
from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.generator import SPLITS, TARGETS, delexicalise, generate, is_held_out, problem_set
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
