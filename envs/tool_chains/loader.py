"""Tasks on tools of your own: a JSON file with typed tools and what is wanted of them.

    {"tools": [{"name": "smelt", "takes": "ore", "gives": "ingot", "cost": {"usd": "0.40"}}, ...],
     "tasks": [{"id": "one", "have": ["ore"], "want": "ingot", "budget": {"usd": "1.00", "steps": 9}}, ...]}

A task with a ``request``, in words, does not tell the agent what is wanted: the model reads which of the ``goals`` of
the file that is; by default all that its tasks want.

No function comes with a file: what a call gives is simulated, its price is real.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.tool_chains.typed.loader import ToolFileError, tools_of
from tape.budget import Budget
from tape.errors import DataError, TapeError
from tape.reading import parse_json, read_text, short
from tape.tools.tool import Tool

SPARE_STEPS = 60
"""Steps of a task whose budget has none: an episode has to end."""


@dataclass(frozen=True)
class OwnTask:
    """A task of a file.

    Attributes:
        id: Unique in the file.
        file: Where its tools are.
        have: What is there from the start.
        want: What is wanted.
        budget: Hard caps.
        request: What is wanted, in words; empty where the agent is told.
        goals: What a request may name.
        digest: Identifies tools and task.
    """

    id: str
    file: str
    have: tuple[str, ...]
    want: str
    budget: Budget
    request: str
    goals: tuple[str, ...]
    digest: str


def load(path: Path) -> list[OwnTask]:
    """The tasks of a file.

    Raises:
        ToolFileError: Names file, record and field, the problem and the remedy.
    """
    file = str(path)
    data = _read(file)
    tools = tools_of(data.get("tools"), file)
    given = data.get("tasks")
    if not isinstance(given, list) or not given:
        raise ToolFileError(file, None, "tasks", 'is no list of tasks; give [{"id": ..., "have": [...], "want": ...}]')
    types = {name for item in tools for name in (*item.takes, item.gives)}
    goals = data.get("goals", list(dict.fromkeys(entry.get("want") for entry in given if isinstance(entry, dict))))
    if not isinstance(goals, list) or not all(isinstance(goal, str) for goal in goals):
        raise ToolFileError(file, None, "goals", f"is {short(goals)}; give a list of types")
    mapping: dict[str, OwnTask] = {}
    for number, fields in enumerate(given, 1):
        task = _task(file, number, fields, types, data["tools"], goals)
        if task.id in mapping:
            raise ToolFileError(file, None, f"tasks[{number}].id", f"{task.id!r} is there already; give each its own")
        mapping[task.id] = task
    return list(mapping.values())


def own_tools(file: str) -> list[Tool]:
    """The tools of a file.

    Raises:
        ToolFileError: As :func:`load`.
    """
    return tools_of(_read(file).get("tools"), file)


def _read(file: str) -> dict[str, Any]:
    try:
        data = parse_json(read_text(Path(file)), file)
    except DataError as error:
        raise ToolFileError(file, None, "", f"{str(error).removeprefix(f'{file}: ')}; give JSON in UTF-8") from None
    if not isinstance(data, dict):
        raise ToolFileError(file, None, "", 'is no object; give {"tools": [...], "tasks": [...]}')
    return data


def _task(file: str, number: int, fields: Any, types: set[str], tools: Any, goals: list[str]) -> OwnTask:
    def wrong(field: str, problem: str) -> ToolFileError:
        return ToolFileError(file, None, f"tasks[{number}]{field and '.'}{field}", problem)

    if not isinstance(fields, dict):
        raise wrong("", f"is {short(fields)}; give an object with id, have and want")
    for field in ("id", "want"):
        if not isinstance(fields.get(field), str) or not fields[field]:
            raise wrong(field, f"is {short(fields.get(field))}; give a text")
    have = fields.get("have", [])
    if not isinstance(have, list) or not all(isinstance(item, str) for item in have):
        raise wrong("have", f"is {short(have)}; give a list of types")
    for field, named in (("want", [fields["want"]]), ("have", have)):
        if unknown := [item for item in named if item not in types]:
            raise wrong(field, f"{unknown[0]!r} is a type of no tool; there are {', '.join(sorted(types)[:8])}, ...")
    request = fields.get("request", "")
    if not isinstance(request, str):
        raise wrong("request", f"is {short(request)}; give a text, or leave it out")
    if request and fields["want"] not in goals:
        raise wrong("want", f"{fields['want']!r} is none of the goals that a request may name: {', '.join(goals[:8])}")
    budget = fields.get("budget", {})
    if not isinstance(budget, dict):
        raise wrong("budget", f'is {short(budget)}; give an object such as {{"usd": "1.00", "seconds": 20}}')
    try:
        caps = Budget.of(**budget)
    except (TapeError, TypeError, ValueError) as error:
        raise wrong("budget", str(error)) from None
    if "steps" not in caps:
        caps = caps | Budget({"steps": SPARE_STEPS})
    read = tuple(goals) if request else ()
    text = json.dumps([fields, tools, *([read] if request else [])], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return OwnTask(fields["id"], file, tuple(have), fields["want"], Budget(dict(caps)), request, read, digest)
