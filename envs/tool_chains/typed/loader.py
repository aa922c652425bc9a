"""Typed tools from a JSON file: a list of records with ``name``, ``takes``, ``gives`` and ``cost``.

    [{"name": "smelt", "takes": ["ore", "coal"], "gives": "ingot", "cost": {"usd": "0.40", "seconds": 3}},
     {"name": "buy_ingot", "takes": [], "gives": "ingot", "cost": {"usd": "2.50", "seconds": 1}}]

A file has no functions. Where none are given, what a call gives is simulated: a text that names its type and its tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from tape.budget import Resources, kind_of
from tape.budget.prices import Fixed
from tape.errors import DataError, TapeError
from tape.reading import parse_json, read_text, short
from tape.tools.errors import ToolError
from tape.tools.tool import Tool

MOST_TOOLS = 100_000
"""Tools in a file."""

_FIELDS = ("name", "takes", "gives", "cost", "description", "pure", "destructive")


class ToolFileError(ToolError):
    """A file of typed tools that cannot be read.

    Attributes:
        file: The file.
        record: Which tool, from 1; None where the whole file is meant.
        field: Its field; empty where the whole record is meant.
        problem: What is wrong, and what to write instead.
    """

    def __init__(self, file: str, record: int | None, field: str, problem: str) -> None:
        where = file if record is None else f"{file}: tool {record}"
        super().__init__(f"{where}: field {field!r}: {problem}" if field else f"{where}: {problem}")
        self.file, self.record, self.field, self.problem = file, record, field, problem

    def __reduce__(self) -> tuple[type[ToolFileError], tuple[str, int | None, str, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.record, self.field, self.problem)


def load_tools(path: str | PathLike[str], functions: Mapping[str, Callable[..., Any]] | None = None) -> list[Tool]:
    """Read a file of typed tools.

    Args:
        path: A JSON list of records, or an object whose field ``tools`` is one.
        functions: What is called, by the tool's name; it gets what the tool takes, in that order. What a tool without
            one gives is simulated.

    Raises:
        ToolFileError: The message names file, tool and field, what is wrong, and what to write instead.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from envs.tool_chains.typed import load_tools
        >>> smelt = {"name": "smelt", "takes": ["ore", "coal"], "gives": "ingot", "cost": {"usd": "0.40", "seconds": 3}}
        >>> _ = Path("smithy.json").write_text(json.dumps([smelt]))
        >>> [item] = load_tools("smithy.json", {"smelt": lambda ore, coal: f"ingot of {ore}"})
        >>> item.takes, item.gives, item.worst["usd"]
        (('ore', 'coal'), 'ingot', 400000)
    """
    file = str(path)
    try:
        data = parse_json(read_text(Path(path)), file)
    except DataError as error:
        problem = str(error).removeprefix(f"{file}: ")
        raise ToolFileError(file, None, "", f"{problem}; give a JSON list of tools, in UTF-8") from None
    return tools_of(data.get("tools") if isinstance(data, dict) else data, file, functions)


def tools_of(data: Any, file: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> list[Tool]:
    """Typed tools from records that were read already; see :func:`load_tools`.

    Args:
        data: The list.
        file: Where it comes from, for messages.
        functions: What is called, by the tool's name.

    Raises:
        ToolFileError: As :func:`load_tools`.
    """
    if not isinstance(data, list):
        raise ToolFileError(
            file, None, "", 'holds no list of tools; give [{"name": ..., "takes": ..., "gives": ..., "cost": ...}, ...]'
        )
    if not data:
        raise ToolFileError(file, None, "", "has no tools; give one at least")
    if len(data) > MOST_TOOLS:
        raise ToolFileError(file, None, "", f"has {len(data)} tools; at most {MOST_TOOLS} are read")
    known: dict[str, int] = {}
    tools = []
    for number, fields in enumerate(data, 1):
        item = _tool(_Record(file, number, fields), functions or {})
        if item.name in known:
            raise ToolFileError(
                file, number, "name", f"{item.name!r} is tool {known[item.name]} already; give each its own name"
            )
        known[item.name] = number
        tools.append(item)
    if unused := sorted((functions or {}).keys() - known.keys()):
        raise ToolFileError(file, None, "", f"has no tool {unused[0]!r}, for which a function was given")
    return tools


class _Record:
    """One record, and the errors about it."""

    def __init__(self, file: str, number: int, fields: Any) -> None:
        self._file, self._number = file, number
        if not isinstance(fields, dict):
            raise self.error("", f"is {short(fields)}; give an object with name, takes, gives and cost")
        if unknown := [name for name in fields if name not in _FIELDS]:
            raise self.error(str(unknown[0])[:80], f"is not known; there are {', '.join(_FIELDS)}")
        self._fields: dict[str, Any] = fields

    def error(self, field: str, problem: str) -> ToolFileError:
        return ToolFileError(self._file, self._number, field, problem)

    def get(self, field: str, kinds: tuple[type, ...], what: str, default: Any = None) -> Any:
        """A field of one of some types."""
        if field not in self._fields:
            if default is not None:
                return default
            raise self.error(field, f"is missing; give {what}")
        value = self._fields[field]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.error(field, f"is {short(value)}; give {what}")
        return value


def _tool(record: _Record, functions: Mapping[str, Callable[..., Any]]) -> Tool:
    name = record.get("name", (str,), 'a text such as "smelt" or "smelt.fast"')
    kind, _, variant = name.partition(".")
    takes = record.get("takes", (str, list), "a type, a list of types, or [] where it takes nothing")
    takes = [takes] if isinstance(takes, str) else takes
    if wrong := [item for item in takes if not isinstance(item, str)]:
        raise record.error("takes", f"has {short(wrong[0])}; give the types as texts")
    gives = record.get("gives", (str,), "the type that it gives, as a text")
    if not gives:
        raise record.error("gives", "is empty; give the type that it gives, as a text")
    cost = record.get("cost", (dict,), 'an object of resources, for instance {"usd": "0.02", "seconds": 1.5}')
    given = functions.get(name)

    def simulated(**inputs: Any) -> str:
        """Stands for a function that the file does not have."""
        del inputs
        return f"{gives}, by {name} (simulated)"

    def function(**inputs: Any) -> Any:
        """The function that was given, which takes its arguments in order."""
        assert given is not None
        return given(*inputs.values())

    try:
        return Tool(
            kind,
            variant,
            simulated if given is None else function,
            _inputs(len(takes)),
            record.get("description", (str,), "a text", f"gives {gives}"),
            Fixed(_cost(record, cost)),
            pure=record.get("pure", (bool,), "true or false", False),
            destructive=record.get("destructive", (bool,), "true or false", False),
            takes=tuple(takes),
            gives=gives,
        )
    except ToolFileError:
        raise
    except ToolError as error:
        field = "name" if "names have letters" in str(error) or "give the tool another name" in str(error) else ""
        raise record.error(field, str(error)) from None


@lru_cache(maxsize=64)
def _inputs(count: int) -> type[BaseModel]:
    """The arguments of a tool that takes so many things, one model for all such tools."""
    fields: dict[str, Any] = {f"input_{number}": (Any, ...) for number in range(1, count + 1)}
    return create_model("inputs", __config__=ConfigDict(extra="forbid"), **fields)


def _cost(record: _Record, cost: Mapping[str, Any]) -> Resources:
    for name, amount in cost.items():
        try:
            kind_of(name)
        except TapeError as error:
            raise record.error(f"cost.{name[:80]}", f"{error}; write a known resource, or declare it first") from None
        if isinstance(amount, bool) or not isinstance(amount, int | float | str | None):
            raise record.error(f"cost.{name}", f'is {short(amount)}; give a number or a decimal text such as "0.02"')
        try:
            Resources.of(**{name: amount})
        except (TapeError, ValueError) as error:
            raise record.error(f"cost.{name}", f"{error}") from None
    return Resources.of(**cost)
