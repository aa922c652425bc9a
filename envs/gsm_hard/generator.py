"""Seeded word problems of our own: many wordings, some kept from training to measure what was learned."""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass
from functools import cache

from envs.gsm_hard.arithmetic import results
from envs.gsm_hard.errors import ArithmeticToolError, GsmHardError
from envs.gsm_hard.problem import Problem, ProgramStep
from envs.gsm_hard.rendering import Rendering, draw_number, in_order_of_text
from envs.gsm_hard.templates import TEMPLATES, Template

SIGNS = {"$": "dollars", "%": "percent", "!": ".", ";": ",", ":": ","}
"""How signs are written as words; ``.``, ``,`` and ``?`` stay."""
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+)"
    r"|(?P<word>(?<=\w)'s(?![^\W_])|[^\W\d_]+)|(?P<sign>[.,?$%!;:])"
)


@dataclass(frozen=True)
class GsmWords:
    """A text without its numbers.

    Attributes:
        tokens: Lower-case words, ``.``, ``,``, ``?``, ``dollars``, ``percent``, and ``n1``, ``n2``, ... for numbers.
        numbers: The numbers in the order of the text, equal ones included.
    """

    tokens: tuple[str, ...]
    numbers: tuple[float, ...]


def delexicalise(text: str) -> GsmWords:
    """Take a text apart. Every number gets a place of its own, in hyphenated words too; other signs are left out."""
    tokens: list[str] = []
    numbers: list[float] = []
    for match in _TOKEN.finditer(text.lower().replace("’", "'")):
        piece = match.group()
        if match.lastgroup == "number":
            numbers.append(float(piece.replace(",", "")))
            tokens.append(f"n{len(numbers)}")
        else:
            tokens.append(SIGNS.get(piece, piece))
    return GsmWords(tuple(tokens), tuple(numbers))


SPLITS = ("train", "fresh", "wordings", "templates")
"""``train`` is for training; ``fresh`` has its templates and wordings but other texts (words or order of numbers
differ), ``wordings`` has wordings and ``templates`` has templates that no training text has."""
TARGETS = (0.01, 1e15)
"""Answers lie between these."""
_RARE_SHARE = 0.12
"""Of problems with powers or factorials."""
_HELD_OUT_SHARE = 8
_SETS = {
    "dev": (101, {"fresh": 50, "wordings": 25, "templates": 25}),
    "test": (202, {"fresh": 100, "wordings": 50, "templates": 50}),
}


def is_held_out(problem: Problem) -> bool:
    """Whether the words of a problem, numbers aside, hash into the eighth that is kept from training."""
    text = " ".join(delexicalise(problem.text).tokens)
    return hashlib.sha256(text.encode()).digest()[0] % _HELD_OUT_SHARE == 0


def generate(split: str, count: int, seed: int) -> list[Problem]:
    """Problems of one split; the i-th depends on split, seed and i alone.

    Args:
        split: One of :data:`SPLITS`.
        count: How many.
        seed: Any integer.

    Raises:
        GsmHardError: There is no such split, or the count is negative.
    """
    if count < 0:
        raise GsmHardError(f"cannot generate {count} problems; give a count >= 0")
    return [
        draw(random.Random(f"gsm:{split}:{seed}:{index}"), split, f"{split}-{seed}-{index}") for index in range(count)
    ]


def problem_set(name: str) -> list[Problem]:
    """A fixed set for evaluation: ``dev`` (100 problems) or ``test`` (200).

    Half of each is of split ``fresh``, a quarter of ``wordings`` and a quarter of ``templates``.

    Raises:
        GsmHardError: There is no such set.
    """
    if name not in _SETS:
        raise GsmHardError(f"there is no problem set {name!r}; there is: {', '.join(_SETS)}")
    seed, counts = _SETS[name]
    return [problem for split, count in counts.items() for problem in generate(split, count, seed)]


def draw(rng: random.Random, split: str, name: str = "") -> Problem:
    """Draw one problem of a split.

    Args:
        rng: Source of randomness.
        split: One of :data:`SPLITS`.
        name: Its id; made from its text where empty.

    Raises:
        GsmHardError: There is no such split.
    """
    if split not in SPLITS:
        raise GsmHardError(f"there is no split {split!r}; there is: {', '.join(SPLITS)}")
    while True:
        problem = _problem(rng, split, name)
        if split in {"wordings", "templates"} or is_held_out(problem) == (split == "fresh"):
            return problem


@cache
def _choices(held_out: bool) -> dict[bool, list[list[Template]]]:
    """By rarity: the templates of each number of operations, fewest first."""
    templates: dict[bool, dict[int, list[Template]]] = {False: {}, True: {}}
    for template in TEMPLATES:
        if template.held_out == held_out:
            templates[template.rare].setdefault(len(template.steps), []).append(template)
    return {rare: [groups[count] for count in sorted(groups)] for rare, groups in templates.items()}


def _problem(rng: random.Random, split: str, name: str) -> Problem:
    choices = _choices(split == "templates")
    template = rng.choice(rng.choice(choices[rng.random() < _RARE_SHARE]))
    if split == "templates":
        number = rng.randrange(len(template.wordings))
    else:
        number = rng.choice(template.choices(held_out=split == "wordings"))
    numbers, target = _numbers(rng, template)
    telling = Rendering(rng, numbers, template.parsed[number])
    program = tuple(
        ProgramStep(
            step.kind, tuple(numbers[arg] if isinstance(arg, str) and arg in numbers else arg for arg in step.args)
        )
        for step in in_order_of_text(template.steps, telling.order)
    )
    digest = hashlib.sha256(telling.text.encode()).hexdigest()[:12]
    return Problem(name or f"{split}-{digest}", telling.text, target, program, len(program), template.name, split)


def _numbers(rng: random.Random, template: Template) -> tuple[dict[str, float], float]:
    """Numbers for a template of which all results are positive, and the last result."""
    while True:
        numbers: dict[str, float] = {}
        for letter, kind in template.ranges.items():
            numbers[letter] = draw_number(rng, kind, numbers.values())
        steps = [
            ProgramStep(step.kind, tuple(numbers.get(str(arg), arg) for arg in step.args)) for step in template.steps
        ]
        try:
            shares = results(steps)
        except ArithmeticToolError:
            continue
        if min(shares) > 0 and TARGETS[0] <= shares[-1] <= TARGETS[1]:
            return numbers, shares[-1]
