"""Templates of word problems: a structure of calls in a scenario, with several wordings.

They are data files, ``data/*.toml``, with one table per template:

.. code-block:: toml

    [doubling]
    numbers = { a = "mid", b = "deck" }
    program = ["power(2, b)", "multiply(a, #1)"]
    wordings = [
        "There are {a} cells in a glass. Their number doubles [every|each] hour. How many are there after {b} hours?",
        "{name} has ${a}. Every year the money doubles. How much money does {name} have after {b} years?",
    ]

``numbers`` gives each number of the program, a letter, one of :data:`RANGES`. The arguments of ``program`` are these
letters, :data:`CONSTANTS`, and ``#k`` for the result of the k-th call. A wording is text with ``{a}`` for the number
``a``, ``{item}`` for a word of that list in ``data/words.toml``, and ``[this|that|]`` for alternatives, which nest. A
number occurs once in every telling; ``x``, ``y`` and ``z`` are in no program: they are there to distract. The last
wording is held out from training, and with ``held_out = true`` the whole template is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from envs.data_files import Folder, TableEntry, read_toml
from envs.gsm_hard.arithmetic import ARITY
from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.problem import ProgramStep

FILES = ("trade.toml", "sharing.toml", "measure.toml", "growth.toml", "money.toml")
"""The files of templates in a fixed order: what a seed generates depends on it."""
WORDS_FILE = "words.toml"
CONSTANTS: tuple[int, ...] = (2, 3, 4, 7, 10, 12, 24, 60, 100, 365, 1000)
"""Numbers that programs use though texts only imply them (half, week, dozen, percent); texts never write them."""
RARE_KINDS = frozenset({"power", "factorial"})


@dataclass(frozen=True)
class Range:
    """Where a number is drawn from, evenly on a scale of ratios.

    Attributes:
        low: Smallest.
        high: Largest.
        decimals: One of these is the number of decimals.
    """

    low: float
    high: float
    decimals: tuple[int, ...] = (0,)


RANGES: Mapping[str, Range] = {
    "big": Range(10_000, 9_999_999),
    "mid": Range(110, 9_900),
    "small": Range(13, 99),
    "few": Range(5, 11),
    "deck": Range(5, 14),
    "price": Range(1.25, 95, (0, 2, 2)),
    "cost": Range(1_500, 900_000, (0, 0, 2)),
    "pct": Range(5, 95, (0, 0, 0, 1)),
    "dec": Range(1.1, 99, (0, 1, 1)),
    "growth": Range(1.02, 1.35, (2,)),
    "side": Range(5.5, 900, (0, 1)),
}
"""The kinds of numbers that templates name."""
DISTRACTORS: Mapping[str, str] = {"x": "small", "y": "big", "z": "small"}
"""The kinds of numbers that are in no program."""

Part = str | tuple[str] | list[list["Part"]]
"""Literal text, a placeholder in a tuple, or a list of alternatives, each a sequence of parts."""
_PIECE = re.compile(r"\{(\w+)\}|([\[\]|])|([^\[\]|{}]+)")
_CALL = re.compile(r"(\w+)\(([^()]*)\)")
_REFERENCE = re.compile(r"#[1-9]")
_MOST_NESTED = 10
"""Deepest nesting of alternatives in a wording."""
_PRONOUNS = ("he", "his", "him")


@dataclass(frozen=True)
class WordLists:
    """The words that wordings leave open.

    Attributes:
        lists: Words by the name of their placeholder; ``{item2}`` is another one than ``{item}``.
        pronouns: ``{he}``, ``{his}`` and ``{him}`` for each ``{name}``.
        asides: Sentences that have nothing to do with any problem.
    """

    lists: Mapping[str, tuple[str, ...]]
    pronouns: Mapping[str, Mapping[str, str]]
    asides: tuple[str, ...]

    def knows(self, placeholder: str) -> bool:
        """Whether there is a word for a placeholder of more than one letter."""
        return placeholder.lower() in _PRONOUNS or placeholder.rstrip("0123456789") in self.lists


@dataclass(frozen=True)
class Template:
    """A structure of calls in a scenario.

    Attributes:
        name: Unique.
        ranges: The range of each number of the program.
        steps: The program with numbers by name where they are not constants.
        wordings: Ways of telling it; the last is held out from training.
        held_out: Whether no wording of it is trained on.
    """

    name: str
    ranges: Mapping[str, Range]
    steps: tuple[ProgramStep, ...]
    wordings: tuple[str, ...]
    held_out: bool = False

    @property
    def rare(self) -> bool:
        """Whether it needs a power or a factorial."""
        return any(step.kind in RARE_KINDS for step in self.steps)

    @cached_property
    def parsed(self) -> tuple[list[Part], ...]:
        """The wordings as parts."""
        return tuple(map(parse, self.wordings))

    def choices(self, held_out: bool) -> tuple[int, ...]:
        """Indices of the wordings that are held out, or of those that are trained on."""
        last = len(self.wordings) - 1
        return (last,) if held_out else tuple(range(last))


def parse(wording: str) -> list[Part]:
    """Split a wording into its parts.

    Raises:
        GsmHardError: Brackets or braces do not match.
    """
    pieces = list(_PIECE.finditer(wording))
    if sum(len(piece.group()) for piece in pieces) != len(wording):
        raise GsmHardError(f"odd braces in {wording!r}; write {{name}} for a number or word")
    sequences: list[list[Part]] = [[]]
    open_choices: list[list[list[Part]]] = []
    for piece in pieces:
        name, mark, text = piece.groups()
        if name:
            sequences[-1].append((name,))
        elif text:
            sequences[-1].append(text)
        elif mark == "[":
            open_choices.append([])
            if len(open_choices) > _MOST_NESTED:
                raise GsmHardError(f"brackets are nested deeper than {_MOST_NESTED} in {wording[:80]!r}")
            sequences.append([])
        elif not open_choices:
            raise GsmHardError(f"{mark!r} outside of brackets in {wording!r}; write [this|that]")
        else:
            open_choices[-1].append(sequences.pop())
            if mark == "|":
                sequences.append([])
            else:
                sequences[-1].append(open_choices.pop())
    if open_choices:
        raise GsmHardError(f"an open bracket in {wording!r}; write [this|that]")
    return sequences[0]


def read_words(folder: Folder) -> WordLists:
    """Read the word lists of a folder of data files.

    Raises:
        DataFileError: The file is malformed; names the place.
    """
    file = read_toml(folder, WORDS_FILE).only("asides", "names", "lists")
    pronouns: dict[str, Mapping[str, str]] = {}
    for group in file.table("names").tables():
        group.only("words", *_PRONOUNS)
        for name in group.words("words"):
            if name in pronouns:
                raise group.error("words", f"{name!r} is in another group too; leave one out")
            pronouns[name] = {pronoun: group.text(pronoun) for pronoun in _PRONOUNS}
    table = file.table("lists")
    lists = {"name": tuple(pronouns), **{field: table.words(field) for field in table.fields}}
    words = WordLists(lists, pronouns, file.texts("asides"))
    for aside in words.asides:
        _check_wording(file, "asides", aside, frozenset(), words)
    return words


def read_templates(folder: Folder, words: WordLists) -> tuple[Template, ...]:
    """Read the templates of a folder of data files, in the order of :data:`FILES`.

    Raises:
        DataFileError: A file is malformed; names the place.
    """
    templates: dict[str, Template] = {}
    for name in FILES:
        for entry in read_toml(folder, name).tables():
            if entry.name in templates:
                raise entry.error("", "is in another file too; give each template its own name")
            templates[entry.name] = _template(entry, words)
    return tuple(templates.values())


def _template(entry: TableEntry, words: WordLists) -> Template:
    entry.only("numbers", "program", "wordings", "held_out")
    numbers = entry.table("numbers")
    ranges: dict[str, Range] = {}
    for letter in numbers.fields:
        kind = numbers.text(letter)
        if re.fullmatch("[a-z]", letter) is None or letter in DISTRACTORS:
            raise entry.error("numbers", f"{letter!r} cannot be a number; name it by one letter, a to w")
        if kind not in RANGES:
            raise entry.error("numbers", f"{letter}: there is no range {kind!r}; there is: {', '.join(RANGES)}")
        ranges[letter] = RANGES[kind]
    template = Template(
        entry.name, ranges, _program(entry, ranges), entry.texts("wordings", least=2), entry.flag("held_out")
    )
    for wording in template.wordings:
        _check_wording(entry, "wordings", wording, frozenset(ranges), words)
    return template


def _program(entry: TableEntry, ranges: Mapping[str, Range]) -> tuple[ProgramStep, ...]:
    calls = entry.fields.get("program")
    if not isinstance(calls, list) or not calls:
        raise entry.error("program", f"is {calls!r:.40}; give a list of calls such as 'multiply(a, #1)'")
    steps = []
    for number, text in enumerate(calls, start=1):
        match = _CALL.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise entry.error("program", f"{text!r:.40} is no call; write for instance 'multiply(a, #1)'")
        kind, args = match[1], [arg.strip() for arg in match[2].split(",")]
        if ARITY.get(kind) != len(args):
            known = ", ".join(f"{name} with {count}" for name, count in ARITY.items())
            raise entry.error(
                "program", f"{text!r}: there is no {kind!r} with {len(args)} arguments; there is: {known}"
            )
        for arg in args:
            earlier = _REFERENCE.fullmatch(arg) is not None and int(arg[1:]) < number
            if not (earlier or arg in ranges or arg in map(str, CONSTANTS)):
                raise entry.error(
                    "program",
                    f"{text!r}: {arg!r} is none of the numbers ({', '.join(ranges)}), no constant "
                    f"({', '.join(map(str, CONSTANTS))}) and no earlier result (#1 for that of the first call)",
                )
        steps.append(ProgramStep(kind, tuple(float(arg) if arg.isdigit() else arg for arg in args)))
    used = {arg for step in steps for arg in step.args}
    unused = {*ranges, *(f"#{number}" for number in range(1, len(steps)))} - used
    if unused:
        raise entry.error("program", f"does not use {', '.join(sorted(unused))}; every number and result must count")
    return tuple(steps)


def _check_wording(entry: TableEntry, field: str, wording: str, numbers: frozenset[str], words: WordLists) -> None:
    try:
        parse(wording)
    except GsmHardError as error:
        raise entry.error(field, str(error)) from None
    placeholders = set(re.findall(r"\{(\w+)\}", wording))
    for name in sorted(placeholders):
        if name not in numbers and name not in DISTRACTORS and not (len(name) > 1 and words.knows(name)):
            known = ", ".join((*sorted(numbers), *DISTRACTORS, *words.lists, *_PRONOUNS))
            raise entry.error(field, f"nothing is known to put for {{{name}}} in {wording!r}; there is: {known}")
    missing = numbers - placeholders
    if missing:
        raise entry.error(field, f"{', '.join(sorted(missing))} of the program is missing from {wording!r}")


_DATA = resources.files("envs.gsm_hard") / "data"
WORD_LISTS = read_words(_DATA)
"""The words that the wordings of :data:`TEMPLATES` leave open."""
TEMPLATES = read_templates(_DATA, WORD_LISTS)
"""All templates."""
