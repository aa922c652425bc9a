"""A program as it was read: its statements, and why reading stopped where it did."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tape.plan.vocabulary import ANSWER, ASK, Vocabulary


@dataclass(frozen=True)
class Statement:
    """One statement.

    Attributes:
        text: As the model wrote it.
        line: Its first line within the program, from 1.
        target: The name that gets the value; empty for a call alone and for the answer.
        value: The expression; each call of a tool and of the answer has its arguments by name.
    """

    text: str
    line: int
    target: str
    value: ast.expr

    @property
    def answers(self) -> bool:
        """Whether it ends the program with an answer."""
        return called(self.value) == ANSWER


@dataclass(frozen=True)
class Stopped:
    """Why a program was read no further.

    Attributes:
        line: The first line that was not read, from 1.
        text: That line.
        why: What is wrong with it, in words for the model.
    """

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class Program:
    """What a model planned.

    Attributes:
        comment: What stands before the first statement, in words.
        statements: In order; an answer is the last.
        stopped: Why it was read no further; None where all of it was understood.
    """

    comment: str = ""
    statements: tuple[Statement, ...] = ()
    stopped: Stopped | None = None

    @property
    def answers(self) -> bool:
        """Whether it ends with an answer."""
        return bool(self.statements) and self.statements[-1].answers

    @property
    def text(self) -> str:
        """The statements as the model wrote them, one below the other."""
        return "\n".join(statement.text for statement in self.statements)


def tools_called(node: ast.expr, words: Vocabulary) -> Iterator[str]:
    """The tools that an expression calls, ``ask`` and those of operators included."""
    for inner in ast.walk(node):
        name = called(inner)
        if name in words.tools or name == ASK:
            yield name
        elif isinstance(inner, ast.BinOp) and (operator := symbol(inner.op)) in words.operators:
            yield words.operators[operator]


def names_read(node: ast.expr) -> set[str]:
    """The names that an expression reads, those of its own comprehensions among them; not what it calls."""
    functions = {id(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and id(inner) not in functions}


def without_unused(program: Program, words: Vocabulary) -> Program:
    """The program without pure calls whose result reaches no effect and no answer.

    A program without an answer looks at its results, and stays as it is; so does one whose answer reads nothing, such
    as "done", since then the calls are what was asked for.
    """
    if not program.answers or not names_read(program.statements[-1].value) - {ANSWER}:
        return program
    needed: set[str] = set()
    kept: list[Statement] = []
    for statement in reversed(program.statements):
        effect = any(words.changes(name) for name in tools_called(statement.value, words))
        if effect or statement.answers or statement.target in needed:
            needed.discard(statement.target)
            needed |= names_read(statement.value)
            kept.append(statement)
    return Program(program.comment, tuple(reversed(kept)), program.stopped)


def symbol(operator: ast.operator) -> str:
    """An operator as it is written; empty for one that programs do not have."""
    return _SYMBOLS.get(type(operator), "")


_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def called(node: ast.AST) -> str:
    """The name of the function that an expression calls; empty for what is no such call."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
