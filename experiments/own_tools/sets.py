"""What a set of questions is made of, and how an agent's work on one is judged."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, create_model

from tape.tools import Tool, ToolFailedError

T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """A message that was sent, or has to be.

    Attributes:
        to: Its address.
        text: What it says; of one that has to be sent, what it has to contain.
    """

    to: str
    text: str


@dataclass(frozen=True)
class Question:
    """A job.

    Attributes:
        name: Of the question within its set.
        task: In words.
        fields: The fields of the answer with their types.
        expected: Their values.
        message: What has to be sent; None where nothing may be.
    """

    name: str
    task: str
    fields: Mapping[str, type]
    expected: Mapping[str, Any]
    message: Message | None = None

    @property
    def answer(self) -> type[BaseModel]:
        """The type of the answer."""
        fields: Any = {name: (kind, ...) for name, kind in self.fields.items()}
        return create_model(f"{self.name}_answer", **fields)


@dataclass
class World:
    """One question's own data and outbox, so that no question sees what another has done.

    Attributes:
        tools: What the agent may call.
        sent: The messages that it sent, in order.
    """

    tools: Sequence[Tool]
    sent: list[Message] = field(default_factory=list)


@dataclass(frozen=True)
class QuestionSet:
    """Questions over the same tools.

    Attributes:
        name: Of the set.
        questions: Twelve, or twice as many.
        world: Makes the data and tools of one question anew.
    """

    name: str
    questions: Sequence[Question]
    world: Callable[[], World]


@dataclass(frozen=True)
class Verdict:
    """How a question went.

    Attributes:
        right: Every field of the answer is right, and what had to be sent was sent once.
        unasked: Messages that nobody asked for, a second copy of one that was included.
    """

    right: bool
    unasked: int


def judge(question: Question, answer: Mapping[str, Any] | None, sent: Sequence[Message]) -> Verdict:
    """Compare what an agent has done with what was asked for.

    Texts are compared without case and outer spaces, numbers to a relative 1e-6, lists in any order.
    """
    wanted = question.message
    asked = [
        message
        for message in sent
        if wanted is not None
        and str(message.to).strip().lower() == wanted.to
        and wanted.text.lower() in str(message.text).lower()
    ]
    done = len(asked) == 1 if wanted is not None else True
    given = answer or {}
    right = all(name in given and same(given[name], value) for name, value in question.expected.items())
    return Verdict(right and done, len(sent) - min(len(asked), 1))


def same(given: Any, expected: Any) -> bool:
    """Whether a value of an answer is the expected one."""
    if isinstance(expected, str):
        return isinstance(given, str) and given.strip().lower() == expected.strip().lower()
    if isinstance(expected, list):
        return isinstance(given, list) and sorted(map(str, given)) == sorted(map(str, expected))
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    return math.isclose(given, expected, rel_tol=1e-6, abs_tol=1e-9)


def entry(table: Mapping[str, T], key: str) -> T:
    """An entry of a table.

    Raises:
        ToolFailedError: There is none; says which there are.
    """
    if key not in table:
        raise ToolFailedError(f"there is no {key}; there is: {', '.join(table)}")
    return table[key]


def database(script: str) -> sqlite3.Connection:
    """A database in memory that any thread may use, made by a script of SQL."""
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.executescript(script)
    connection.execute("PRAGMA query_only = ON")
    return connection


def selected(data: sqlite3.Connection, sql: str, most: int = 1_000) -> list[dict[str, Any]]:
    """The rows of a SELECT, at most so many.

    Raises:
        ToolFailedError: SQLite refuses it.
    """
    try:
        return [dict(row) for row in data.execute(sql).fetchmany(most)]
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise ToolFailedError(str(error)) from None
