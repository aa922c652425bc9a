"""JSON schemas in the one shape that the decoders here and hosted endpoints alike can hold a model to.

No references, every field required, no field beyond those named. What some decoder would drop without a word (free-form
objects, recursion, lookarounds in patterns) is refused where a world is declared, not in the middle of an episode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from tape.world.errors import WorldError

Schema: TypeAlias = Mapping[str, Any]

FORMATS = ("date", "date-time", "time", "uuid")
"""Formats of texts that decoders enforce."""

MOST_CHOICES = 100
"""Values that are still listed one by one."""

_BOUNDS = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "boolean": (),
    "null": (),
}
_REFUSED = frozenset(("not", "if", "then", "else", "contains", "patternProperties", "propertyNames", "minProperties"))
_REFUSED |= {"maxProperties", "dependentSchemas", "dependentRequired", "unevaluatedProperties"}
_UNREADABLE = re.compile(r"\(\?(?!:)|\\[1-9]")
"""Lookarounds, flags, named groups and references back: patterns become automata, which have none of these."""


def writable(schema: Schema, what: str) -> dict[str, Any]:
    """The same schema as every decoder takes it.

    Raises:
        WorldError: A part of it cannot be enforced; the message names it, and what to write instead.
    """
    return _Tidy(schema.get("$defs", {})).node(schema, what, ())


class _Tidy:
    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def node(self, node: Schema, where: str, inside: tuple[str, ...]) -> dict[str, Any]:
        if refused := sorted(_REFUSED & node.keys()):
            raise WorldError(
                f"{where}: decoders do not enforce {refused[0]!r} in a JSON schema; check it in a validator"
            )
        if "$ref" in node:
            name = str(node["$ref"]).rpartition("/")[2]
            if name in inside:
                raise WorldError(f"{where}: {name} holds itself; no decoder writes what may be nested without end")
            return self.node({**self._definitions[name], **_described(node)}, where, (*inside, name))
        described = _described(node)
        options = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if options:
            if "allOf" in node and len(options) > 1:
                raise WorldError(f"{where}: decoders do not enforce 'allOf' in a JSON schema; write one type")
            parts = [self.node(option, where, inside) for option in options]
            return {**parts[0], **described} if len(parts) == 1 else {"anyOf": parts, **described}
        if "const" in node or "enum" in node:
            values = [node["const"]] if "const" in node else list(node["enum"])
            kind = {"type": node["type"]} if isinstance(node.get("type"), str) else {}
            return {**kind, "enum": values, **described}
        return {**self._typed(node, where, inside), **described}

    def _typed(self, node: Schema, where: str, inside: tuple[str, ...]) -> dict[str, Any]:
        kind = node.get("type")
        if kind == "object":
            if "properties" not in node:
                raise WorldError(
                    f"{where}: a dict has no fixed names, which many decoders need; use a model with a field for each, "
                    "or a list of models"
                )
            named = {name: self.node(part, f"{where}.{name}", inside) for name, part in node["properties"].items()}
            return {"type": "object", "properties": named, "required": list(named), "additionalProperties": False}
        if kind == "array":
            return self._array(node, where, inside)
        if not isinstance(kind, str) or kind not in _BOUNDS:
            raise WorldError(f"{where}: anything may stand here; give it a definite type")
        if kind == "string" and node.get("format", FORMATS[0]) not in FORMATS:
            raise WorldError(
                f"{where}: decoders do not enforce the format {node['format']!r}, only {', '.join(FORMATS)}; use a str"
            )
        if kind == "string" and _UNREADABLE.search(node.get("pattern", "")):
            raise WorldError(
                f"{where}: the pattern {node['pattern']!r} has lookarounds or references back; check it in a validator"
            )
        return {"type": kind, **{name: node[name] for name in _BOUNDS[kind] if name in node}}

    def _array(self, node: Schema, where: str, inside: tuple[str, ...]) -> dict[str, Any]:
        first = node.get("prefixItems", [])
        parts = [self.node(part, f"{where}[{i}]", inside) for i, part in enumerate(first)]
        if parts and any(part != parts[0] for part in parts):
            raise WorldError(
                f"{where}: few endpoints know tuples of different types; use a model, which names its parts"
            )
        if parts:
            return {"type": "array", "items": parts[0], "minItems": len(parts), "maxItems": len(parts)}
        bounds = {name: node[name] for name in ("minItems", "maxItems") if name in node}
        item = self.node(node.get("items", {}), f"{where}[]", inside)
        if node.get("uniqueItems") and (values := choices(item)):
            bounds.setdefault("maxItems", len(values))  # else a weak model never closes a set
        return {"type": "array", "items": item, **bounds}


def _described(node: Schema) -> dict[str, Any]:
    return {"description": node["description"]} if "description" in node else {}


class SchemaAnswer(BaseModel):
    """Base of what models are asked to write: its JSON schema is :func:`writable`."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema."""
        return writable(super().model_json_schema(*args, **kwargs), cls.__name__)


def choices(schema: Schema) -> list[Any] | None:
    """All values of a :func:`writable` schema, as JSON; None where they are open or more than :data:`MOST_CHOICES`."""
    result = _choices(schema)
    return None if result is None or len(result) > MOST_CHOICES else result


def _choices(schema: Schema) -> list[Any] | None:
    if "enum" in schema:
        return list(schema["enum"])
    if "anyOf" in schema:
        return _joined(choices(part) for part in schema["anyOf"])
    if schema["type"] in ("boolean", "null"):
        return [False, True] if schema["type"] == "boolean" else [None]
    if schema["type"] == "integer":
        least, most = _limits(schema)
        return None if least is None or most is None or most - least >= MOST_CHOICES else list(range(least, most + 1))
    if schema["type"] == "object":
        columns = [choices(part) for part in schema["properties"].values()]
        rows = 1
        for column in columns:
            rows *= MOST_CHOICES + 1 if column is None else len(column)
        if rows <= MOST_CHOICES:
            return [dict(zip(schema["properties"], row, strict=True)) for row in product(*filter(None, columns))]
    return None


def _joined(parts: Iterator[list[Any] | None]) -> list[Any] | None:
    values: list[Any] = []
    for part in parts:
        if part is None:
            return None
        values += part
    return values


def _limits(schema: Schema) -> tuple[int | None, int | None]:
    """The least and the most that a whole number may be."""
    least, most = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + 1
    if "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - 1
    return least, most


def brief(schema: Schema) -> str:
    """A :func:`writable` schema in a few words, for prompts."""
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(brief(part) for part in schema["anyOf"])
    if schema["type"] == "object":
        return "{" + ", ".join(f"{name}: {brief(part)}" for name, part in schema["properties"].items()) + "}"
    if schema["type"] == "array":
        return f"[{brief(schema['items'])}, ...]"
    if schema["type"] == "integer" and None not in _limits(schema):
        return "integer from {} to {}".format(*_limits(schema))
    return str(schema["type"])


def sample(schema: Schema) -> Any:
    """A value of a :func:`writable` schema, to show how one is written."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0])
    if schema["type"] == "object":
        return {name: sample(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [sample(schema["items"])] * max(1, schema.get("minItems", 1))
    if schema["type"] in ("integer", "number"):
        least, most = _limits(schema)
        return least if least is not None else most if most is not None else 1
    return {"boolean": True, "null": None}.get(schema["type"], schema.get("format", "text"))
