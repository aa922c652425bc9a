"""A search that finds nothing is made again as the task spells what is searched for [ours].

A model writes ``'Tea Kettle'`` where the task has ``tea kettle``, and writes it so again when it is told (0 of 16
samples of Qwen2.5-Coder-1.5B followed such a hint). Where a text in a call is in the task but for capital letters, the
task's own spelling stands in for it.
"""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import replace

from tape.plan.program import Program, Statement, called, tools_called
from tape.plan.record import CallRecord, FollowedProgram

_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


def follow(record: CallRecord, program: Program, task: str) -> FollowedProgram:
    """A program as far as results are there, with the task's spelling in pure calls that have found nothing."""
    run = record.follow(program)
    empty = [
        statement
        for statement in run.empty
        if not any(map(record.words.changes, tools_called(statement.value, record.words)))
    ]
    statements = tuple(
        _respelled(statement, task) if statement in empty else statement for statement in program.statements
    )
    same = all(statement is other for statement, other in zip(statements, program.statements, strict=True))
    return run if same else record.follow(replace(program, statements=statements))


def _respelled(statement: Statement, task: str) -> Statement:
    value, changed = copy.deepcopy(statement.value), False
    for node in ast.walk(value):
        arguments = [keyword.value for keyword in node.keywords] if called(node) and isinstance(node, ast.Call) else []
        for argument in arguments:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                new = _spelled(argument.value, task)
                changed, argument.value = changed or new != argument.value, new
    if not changed:
        return statement
    target = f"{statement.target} = " if statement.target else ""
    return replace(statement, text=f"{target}{ast.unparse(value)}", value=value)


def _spelled(text: str, task: str) -> str:
    """A text with the task's spelling: of what stands in quotes, else of the whole."""
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    for part in quoted or [text]:
        match = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", task, re.IGNORECASE)
        if match is not None and part not in task:
            text = text.replace(part, match[0])
    return text
