"""The tables of settings in the docs, made from where the settings are declared."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tape.adapters.litellm_requests import Settings
from tape.budget import Cap, Rule
from tape.budget.periods import UNITS
from tape.budget.price_reading import PRICE_WORDS
from tape.engine.ablations import Ablations
from tape.engine.settings import TapeConfig
from tape.gateway import settings as gateway
from tape.protocols.method import method

VARIABLES = ("tape.cli.ledger.ADDRESS", "tape.cli.gateway.SPANS_TO", "tape.agents.progress.SWITCH")
"""The constants that name environment variables; the text below each says what the variable does."""

_WORDS: Mapping[Any, str] = {str: "text", bool: "true or false", int: "whole number", float: "number"}
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_BOUNDS = {"ge": "from {:,}", "gt": "above {:,}", "le": "to {:,}", "max_length": "at most {:,} characters"}


def settings_text(name: str = "") -> str:
    """The settings of a method, of the engine, or its ablations, as a markdown table.

    Raises:
        UnknownNameError: There is no such method.
    """
    declared: type[BaseModel] = {"": TapeConfig, "ablations": Ablations}.get(name) or method(name).settings
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for field, about in declared.model_fields.items():
        if about.description:
            default = _shown(about.get_default(call_default_factory=True))
            rows.append(f"| `{field}` | {default} | {about.description.replace('|', chr(92) + '|')} |")
    return "\n".join([*rows, ""])


def _shown(default: Any) -> str:
    if default in (None, "", {}):
        return "none"
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default}`" if isinstance(default, str) else str(default)


class Setting(NamedTuple):
    """A row of a table."""

    name: str
    kind: str
    default: str
    meaning: str


def table_of(declared: type[Any]) -> str:
    """The settings that a pydantic model or a dataclass declares itself, as a markdown table.

    Raises:
        ValueError: One has no description in the docstring.
    """
    rows = ["| setting | type | default | meaning |", "|---|---|---|---|"]
    for setting in _settings_of(declared):
        rows.append(f"| `{setting.name}` | {setting.kind} | {setting.default} | {setting.meaning} |")
    return "\n".join([*rows, ""])


def _settings_of(declared: type[Any]) -> Iterator[Setting]:
    about = _descriptions(declared)
    if issubclass(declared, BaseModel):
        models_by_name = {name: _of_model(field) for name, field in declared.model_fields.items()}
    else:
        hints = get_type_hints(declared)
        models_by_name = {item.name: (_kind(hints[item.name]), item.default) for item in dataclasses.fields(declared)}
    for name in inspect.get_annotations(declared):
        if name in models_by_name:
            if name not in about:
                raise ValueError(f"{declared.__module__}.{declared.__name__}: {name} has no line under Attributes")
            kind, default = models_by_name[name]
            yield Setting(name, kind, _default(default), about[name])


def _of_model(field: FieldInfo) -> tuple[str, Any]:
    kind = _kind(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
    return kind, field.default


def _descriptions(declared: type[Any]) -> dict[str, str]:
    """What a docstring says under ``Attributes``, by name, as markdown."""
    _, _, section = inspect.cleandoc(declared.__doc__ or "").partition("Attributes:\n")
    matches = re.findall(r"^    (\w+): (.*(?:\n      +\S.*)*)", section, re.MULTILINE)
    return {name: _ROLE.sub(r"`\1`", " ".join(text.split())).replace("``", "`") for name, text in matches}


def _kind(annotation: Any) -> str:
    """A type in words, with its bounds."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        own = next((argument for argument in args[1:] if isinstance(argument, str)), None)
        bounds = [part for argument in args[1:] for part in getattr(argument, "metadata", [argument])]
        return own or _kind(args[0]) + _bounds(bounds)
    if origin in (Union, UnionType):
        return " or ".join(_kind(argument) for argument in args if argument is not NoneType)
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in args)
    if origin in (list, tuple):
        return f"list of {_kind(args[0])}s"
    if origin is dict:
        return "table of texts" if args[1] is str else "tables"
    return _WORDS.get(annotation) or annotation.__name__.lower()


def _bounds(metadata: Sequence[Any]) -> str:
    values_by_name = {name: getattr(item, name) for item in metadata for name in _BOUNDS if hasattr(item, name)}
    said = [words.format(values_by_name[name]) for name, words in _BOUNDS.items() if name in values_by_name]
    return f", {' '.join(said)}" if said else ""


def _default(value: Any) -> str:
    if value is PydanticUndefined or value is dataclasses.MISSING:
        return "required"
    if value in (None, "", (), [], {}):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:_}`" if isinstance(value, int) and value >= 10_000 else f"`{value}`"


def listed(head: str, described: Mapping[str, str]) -> str:
    """Words and what each means, as a markdown table."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in described.items()]
    return "\n".join([f"| {head} | meaning |", "|---|---|", *rows, ""])


def variables() -> str:
    """The environment variables that are read, as a markdown table."""
    texts: dict[str, str] = {}
    for place in VARIABLES:
        module, _, name = place.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        for text in (value,) if isinstance(value, str) else value:
            texts[text] = _text_below(module, name)
    return listed("setting", texts)


def _text_below(module: str, name: str) -> str:
    """The text below a constant."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    for earlier, below in pairwise(body):
        is_it = isinstance(earlier, ast.Assign) and ast.unparse(earlier.targets[0]) == name
        if is_it and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            return " ".join(str(below.value.value).split()).replace("``", "`")
    raise ValueError(f"{module}.{name} has no text below it")


SECTIONS: Mapping[str, Callable[[], str]] = {
    "gateway": partial(table_of, gateway.GatewayLimits),
    "budgets": partial(table_of, gateway.Budgets),
    "resources": partial(table_of, gateway.Resource),
    "servers": partial(table_of, gateway.ServerSettings),
    "tools": partial(table_of, gateway.ToolSettings),
    "python": partial(table_of, gateway.PythonSettings),
    "prices": partial(listed, "setting", PRICE_WORDS),
    "clients": partial(table_of, gateway.ClientSettings),
    "gateway-ledger": partial(table_of, gateway.LedgerSettings),
    "caps": partial(table_of, Cap),
    "periods": partial(listed, "setting", UNITS),
    "rules": partial(table_of, Rule),
    "litellm": partial(table_of, Settings),
    "variables": variables,
}
"""The tables of docs/operating/, by name."""
