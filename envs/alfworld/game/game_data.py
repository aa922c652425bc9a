"""The parts of a game file, and the PDDL of its problem, read without the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from envs.alfworld.errors import GameError, UnsolvableGameError

_KEYS = ("pddl_domain", "grammar", "pddl_problem")
_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*"(Your task is to: [^"]*)"')
_PUT = re.compile(r'\baction\s+PutObject\s*\{\s*template\s*::\s*"([^"]*)"')
_TOKEN = re.compile(r"[()]|[^\s()]+")

Tree = list[Any]
"""Nested lists of words."""


@dataclass(frozen=True)
class GameData:
    """One game file.

    Attributes:
        source: Where it came from, for messages.
        domain: The PDDL of the rules.
        grammar: The templates of commands and sentences.
        problem: The PDDL of the household and the goal.
    """

    source: str
    domain: str = field(repr=False)
    grammar: str = field(repr=False)
    problem: str = field(repr=False)

    def mapping(self) -> dict[str, str]:
        """As the engine takes it."""
        return {"pddl_domain": self.domain, "grammar": self.grammar, "pddl_problem": self.problem}

    @property
    def task(self) -> str:
        """The sentence that poses the task.

        Raises:
            GameError: The grammar has none.
        """
        found = _TASK.search(self.grammar)
        if found is None:
            raise GameError(f"{self.source}: the grammar has no sentence 'Your task is to: ...'")
        return found[1]

    @property
    def put_template(self) -> str:
        """The command that puts an object somewhere, which differs between versions of the data set."""
        found = _PUT.search(self.grammar)
        if found is None:
            raise GameError(f"{self.source}: the grammar has no action PutObject with a template")
        return found[1]


def read_game_data(game: str | PathLike[str]) -> GameData:
    """Read a game from a file, or from its JSON text (which begins with a brace).

    Raises:
        GameError: It cannot be read, is no JSON, lacks a part or is marked as not solvable.
    """
    if isinstance(game, str) and game.lstrip().startswith("{"):
        source, text = "the game's text", game
    else:
        source = str(game)
        try:
            text = Path(game).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GameError(f"{source}: the game file cannot be read: {error}") from error
    try:
        data = json.loads(text)
    except ValueError as error:
        raise GameError(f"{source}: not a game file, its JSON is broken: {error}") from error
    if not isinstance(data, dict):
        raise GameError(f"{source}: not a game file, it holds no JSON object")
    for key in _KEYS:
        if not isinstance(data.get(key), str) or not data[key].strip():
            raise GameError(f"{source}: the game file has no text under {key!r}; it needs {', '.join(_KEYS)}, solvable")
    if "solvable" not in data:
        raise GameError(f"{source}: the game file has no key 'solvable', so nobody checked it; leave it out")
    if data["solvable"] is not True:
        raise UnsolvableGameError(f"{source}: the game is marked as not solvable; leave it out")
    return GameData(source, *(data[key] for key in _KEYS))


@dataclass(frozen=True)
class Problem:
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


def parse_problem(data: GameData) -> Problem:
    """Parse the PDDL of a game's problem.

    Raises:
        GameError: It is malformed.
    """
    tree = _parse(re.sub(r";[^\n]*", "", data.problem).lower(), data.source)
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
    return Problem(facts, parts[":goal"])


def _parse(text: str, source: str) -> Tree:
    """The outermost list of a PDDL text."""
    stack: list[Tree] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":  # noqa: S105
            stack.append([])
        elif token != ")":  # noqa: S105
            stack[-1].append(token)
        elif len(stack) == 1:
            raise GameError(f"{source}: the PDDL problem has a closing parenthesis too many")
        else:
            done = stack.pop()
            stack[-1].append(done)
    if len(stack) > 1 or len(stack[0]) != 1 or not isinstance(stack[0][0], list):
        raise GameError(f"{source}: the PDDL problem is cut off or not one list in parentheses")
    return stack[0][0]


def words(tree: Tree) -> Iterator[str]:
    """All words of a tree."""
    for item in tree:
        if isinstance(item, list):
            yield from words(item)
        else:
            yield item
