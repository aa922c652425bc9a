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
from tape.plan.record import Run
from tape.plan.vocabulary import Vocabulary

SHORTEST = 2
"""Characters of a text that is spelled in another way."""

_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


def respelled(run: Run, words: Vocabulary, task: str) -> Program | None:
    """The program with the task's spelling in pure calls that have found nothing; None where that changes nothing."""
    empty = [one.line for one in run.empty if not any(map(words.changes, tools_called(one.value, words)))]
    changed = [_respelled(one, task) if one.line in empty else one for one in run.program.statements]
    if all(one is other for one, other in zip(changed, run.program.statements, strict=True)):
        return None
    return replace(run.program, statements=tuple(changed))


def _respelled(statement: Statement, task: str) -> Statement:
    text, value = statement.text, copy.deepcopy(statement.value)
    for node in [inner for outer in ast.walk(value) if called(outer) for inner in ast.walk(outer)]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for old, new in _spellings(node.value, task):
                node.value, text = node.value.replace(old, new), text.replace(old, new)
    return statement if text == statement.text else replace(statement, text=text, value=value)


def _spellings(text: str, task: str) -> list[tuple[str, str]]:
    """Parts of a text with the task's spelling of them: what stands in quotes, else the whole."""
    lower = task.lower()
    parts = [first or second for first, second in _QUOTED.findall(text)] or [text]
    found = [(part, lower.find(part.lower())) for part in parts if len(part) >= SHORTEST and part not in task]
    same = len(lower) == len(task)  # a few letters of other scripts are longer in lower case
    return [(part, task[at : at + len(part)]) for part, at in found if at >= 0 and same]
