"""The parts of a game file, and the PDDL of its problem, read without the engine.

A game is checked where it is made (:class:`GameData`), so that nothing unchecked can reach the engine, which evaluates
parts of the grammar as Python.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from envs.alfworld.errors import GameError, UnsolvableGameError
from envs.alfworld.game.closed_grammar import check_grammar
from envs.alfworld.game.closed_pddl import Tree, check_pddl, parse
from tape.reading import parse_json, read_text

_KEYS = ("pddl_domain", "grammar", "pddl_problem")
_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*"(Your task is to: [^"]*)"')


@dataclass(frozen=True)
class GameData:
    """One game file.

    Attributes:
        source: Where it came from, for messages.
        domain: The PDDL of the rules.
        grammar: The templates of commands and sentences.
        problem: The PDDL of the house and the goal.
        put_template: The command that puts ``{o}`` into ``{r}``, which differs between versions of the data set.

    Raises:
        GameError: The rules, the house or the grammar have something that no such game needs
            (:mod:`envs.alfworld.game.closed_grammar`, :mod:`envs.alfworld.game.closed_pddl`).
    """

    source: str
    domain: str = field(repr=False)
    grammar: str = field(repr=False)
    problem: str = field(repr=False)
    put_template: str = field(init=False)

    def __post_init__(self) -> None:
        """Check all of it."""
        commands = check_grammar(self.grammar, self.source)
        check_pddl(self.domain, self.problem, self.source)
        template = commands.get("putobject", "")
        if sorted(re.findall(r"\{[^{}]*\}", template)) != ["{o}", "{r}"]:
            raise GameError(
                f"{self.source}: the grammar has no action PutObject with a template that has {{o}} and {{r}}"
            )
        object.__setattr__(self, "put_template", template)

    def mapping(self) -> dict[str, str]:
        """As the engine takes it."""
        return {"pddl_domain": self.domain, "grammar": self.grammar, "pddl_problem": self.problem}

    @property
    def task(self) -> str:
        """The sentence that poses the task.

        Raises:
            GameError: The grammar has none.
        """
        match = _TASK.search(self.grammar)
        if match is None:
            raise GameError(f"{self.source}: the grammar has no sentence 'Your task is to: ...'")
        return match[1]


def read_game_data(game: str | PathLike[str]) -> GameData:
    """Read a game from a file, or from its JSON text (which begins with a brace).

    Raises:
        GameError: It cannot be read, is no JSON, lacks a part, is marked as not solvable, or see :class:`GameData`.
    """
    if isinstance(game, str) and game.lstrip().startswith("{"):
        source, text = "the game's text", game
    else:
        source, text = str(game), read_text(Path(game), error=GameError)
    data = parse_json(text, source, error=GameError)
    if not isinstance(data, dict):
        raise GameError(f"{source}: not a game file, it holds no JSON object")
    for key in _KEYS:
        if not isinstance(data.get(key), str) or not data[key].strip():
            raise GameError(f"{source}: the game file has no text under {key!r}; it needs {', '.join(_KEYS)}, solvable")
    if "solvable" not in data:
        raise GameError(f"{source}: the game file has no key 'solvable', so it was not checked; leave it out")
    if data["solvable"] is not True:
        raise UnsolvableGameError(f"{source}: the game is marked as not solvable; leave it out")
    return GameData(source, *(data[key] for key in _KEYS))


@dataclass(frozen=True)
class GameProblem:
    """A problem's facts and goal, in lower case as the engine has them.

    Attributes:
        facts: Predicate with its arguments.
        goal: The condition.
    """

    facts: tuple[tuple[str, ...], ...]
    goal: Tree

    def pairs(self, predicate: str) -> Iterator[tuple[str, str]]:
        """The arguments of all facts of a predicate that has two."""
        return ((fact[1], fact[2]) for fact in self.facts if fact[0] == predicate and len(fact) == 3)

    def having(self, predicate: str) -> frozenset[str]:
        """All that have a property."""
        return frozenset(fact[1] for fact in self.facts if fact[0] == predicate and len(fact) == 2)


def parse_problem(data: GameData) -> GameProblem:
    """Parse the PDDL of a game's problem.

    Raises:
        GameError: It is malformed.
    """
    tree = parse(data.problem, f"{data.source}: the PDDL problem")
    parts = {part[0]: part[1:] for part in tree if isinstance(part, list) and part and isinstance(part[0], str)}
    for key in (":init", ":goal"):
        if key not in parts:
            raise GameError(f"{data.source}: the PDDL problem has no {key}")
    facts = tuple(
        dict.fromkeys(
            tuple(fact)
            for fact in parts[":init"]
            if isinstance(fact, list) and fact and all(isinstance(word, str) for word in fact)
        )
    )
    return GameProblem(facts, parts[":goal"])


_SEPARATOR = "_bar_"
_ESCAPED = (("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ","))


def entity_names(identifiers: Iterable[str]) -> dict[str, str]:
    """Name every identifier.

    What comes before the first ``_bar_`` is the kind, and the basin of a sink or bathtub is a kind of its own. Those of
    a kind are numbered from 1, the last in alphabetical order first. What has no ``_bar_`` keeps its text, with a
    blank.

    Args:
        identifiers: All that occur in the facts of a game, since each counts for the numbers of its kind.
    """
    kinds = defaultdict(list)
    names = {}
    for identifier in sorted(set(identifiers), reverse=True):
        kind, separator, _ = identifier.partition(_SEPARATOR)
        if not separator:
            names[identifier] = f"{_plain(identifier)} "
            continue
        kinds[_plain(kind) + ("basin" if "basin" in identifier else "")].append(identifier)
    for kind, same in kinds.items():
        names.update((identifier, f"{kind} {number}") for number, identifier in enumerate(same, 1))
    return names


def _plain(text: str) -> str:
    """The text without the escapes of PDDL names."""
    for escape, character in _ESCAPED:
        text = text.replace(escape, character)
    return text
