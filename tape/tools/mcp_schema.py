"""JSON schemas of MCP servers' tools as pydantic models. A schema is the server's: all of it is checked and bounded."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.reading import short
from tape.tools.calls import can_be_written
from tape.tools.errors import ToolError
from tape.tools.results import cut

MOST_PARTS = 500
"""Schemas within the schema of one tool, references followed: properties, options of unions, kinds of items."""

MOST_OPTIONS = 5000
"""Of an enum."""

LONGEST_NAME = 100
"""Characters of the name of a property."""

LONGEST_DESCRIPTION = 1000
"""Bytes of a description, and of a default or option."""

_PLAIN = {"string": str, "number": float, "integer": int, "boolean": bool, "null": None}
_NUMBERS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_TEXTS = {"minLength": "min_length", "maxLength": "max_length"}
_ITEMS = {"minItems": "min_length", "maxItems": "max_length"}
_BOUNDS = {"string": _TEXTS, "number": _NUMBERS, "integer": _NUMBERS, "array": _ITEMS}
_TYPES = (*_PLAIN, "array", "object")
_UNREAD = ("allOf", "not", "if", "prefixItems", "patternProperties", "dependentSchemas")
_DEEPEST = 20
_LONGEST = 2**31
"""Largest bound on a length."""


def arguments_model(tool: str, schema: Any) -> type[BaseModel]:
    """The model of a tool's arguments.

    Understood are texts, numbers, integers, booleans, null, lists, objects, enums, constants, unions (``anyOf``,
    ``oneOf``), references within the schema, and bounds. Other keywords (patterns, formats) the
    server checks itself: no regular expression of a server is run here.

    Raises:
        ToolError: Something is not understood, malformed or too large; names the tool and the property.
    """
    if not isinstance(schema, Mapping):
        raise ToolError(f"MCP tool {tool}: its arguments are described by {short(schema)}, no JSON schema")
    if schema.get("type", "object") != "object":
        raise ToolError(f"MCP tool {tool}: its arguments are of the type {short(schema['type'])}, not an object")
    return _Reader(tool, schema).model(f"{tool}_arguments", schema, "")


def _size(values: Any) -> str:
    return f"one of {len(values):,}" if isinstance(values, list) else short(values)


def described(text: Any) -> str:
    """A description in one line, its length bounded; empty where it is no text."""
    if not isinstance(text, str):
        return ""
    clear = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_DESCRIPTION])
    return cut(" ".join(clear.split()), LONGEST_DESCRIPTION)


class _Reader:
    """Reads one tool's schema.

    Args:
        tool: Its name, for errors.
        root: The whole schema, for references.
    """

    def __init__(self, tool: str, root: Mapping[str, Any]) -> None:
        self._tool, self._root = tool, root
        self._parts = 0

    def _error(self, where: str, what: str) -> ToolError:
        return ToolError(f"MCP tool {self._tool}: the property {cut(where, 200) or '(all)'}: {what}")

    def model(self, name: str, schema: Mapping[str, Any], where: str, depth: int = 0) -> type[BaseModel]:
        """A model of an object with named properties."""
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(properties, Mapping):
            raise self._error(where, f"its properties are {short(properties)}, no JSON schema")
        named = isinstance(required, list) and len(required) <= MOST_PARTS
        if not named or not all(isinstance(key, str) for key in required):
            raise self._error(where, f"what is required is {short(required)}, no JSON schema")
        if unknown := sorted(set(required) - properties.keys()):
            raise self._error(f"{where}{_name(unknown[0])}", "is required but not described")
        fields: dict[str, Any] = {}
        for key, value in properties.items():
            path = f"{where}{_name(key)}"
            if key.startswith("_") or len(key) > LONGEST_NAME or not can_be_written("x", "", [key]):
                raise self._error(
                    path,
                    "calls cannot name it; names have letters, digits and _, begin with a letter and have at most "
                    f"{LONGEST_NAME} characters",
                )
            fields[key] = self._field(value, path, depth, required=key in required)
        try:
            made = create_model(
                cut(name, LONGEST_NAME), __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields
            )
        except Exception as error:  # pydantic has no common base of what it refuses
            raise self._error(where, f"pydantic refuses it: {short(str(error))}") from error
        if lost := sorted(fields.keys() - made.model_fields.keys()):
            raise self._error(f"{where}{lost[0]}", "pydantic has a meaning of its own for this name")
        return made

    def _field(self, schema: Any, where: str, depth: int, *, required: bool) -> tuple[Any, Any]:
        kind = self._type(schema, where, depth)
        about = schema if isinstance(schema, Mapping) else {}
        text = described(about.get("description")) or None
        if required:
            return (kind, Field(description=text))
        # What is left out is not sent, so that the server's own default holds.
        default = about.get("default")
        if len(json.dumps(default)) > LONGEST_DESCRIPTION:
            raise self._error(where, f"its default is longer than {LONGEST_DESCRIPTION} characters")
        return (Union[kind, None], Field(default, description=text))  # noqa: UP007 - some hints know no |

    def _type(self, schema: Any, where: str, depth: int) -> Any:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise self._error(where, f"with references followed the schema has more than {MOST_PARTS} parts")
        if schema is True or schema == {}:
            return Any
        if not isinstance(schema, Mapping):
            raise self._error(where, f"the schema {short(schema)} is not understood")
        if depth > _DEEPEST:
            raise self._error(where, "its schema refers to itself, or is nested too deep")
        if unread := [key for key in _UNREAD if key in schema]:
            raise self._error(where, f"{unread[0]!r} is not understood")
        if "$ref" in schema:
            return self._type(self._resolved(schema["$ref"], where), where, depth + 1)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return self._union(schema[union], union, where, depth)
        if "const" in schema or "enum" in schema:
            return self._enum(schema["enum"] if "enum" in schema else [schema["const"]], where)
        named = schema.get("type")
        if isinstance(named, list) and 0 < len(named) <= len(_TYPES):
            kinds = tuple(self._named(schema, one, where, depth + 1) for one in named)
            return Union[kinds]  # noqa: UP007 - how many they are is known here only
        return self._named(schema, named, where, depth)

    def _named(self, schema: Mapping[str, Any], named: Any, where: str, depth: int) -> Any:
        """The type of values whose schema gives it by name."""
        if named == "array":
            found: Any = list[self._type(schema.get("items", True), f"{where}[]", depth + 1)]  # type: ignore[misc]
        elif named == "object":
            found = self._object(schema, where, depth)
        elif isinstance(named, str) and named in _PLAIN:
            found = _PLAIN[named]
        elif named is None and schema.keys() <= {"title", "description", "default", "examples"}:
            return Any
        else:
            raise self._error(where, f"the type {short(named)} is not understood")
        # JSON schema ignores a bound of another type.
        own = _BOUNDS.get(named, {})
        bounds: dict[str, Any] = {to: self._bound(schema, key, where) for key, to in own.items() if key in schema}
        return Annotated[found, Field(**bounds)] if bounds else found

    def _union(self, options: Any, key: str, where: str, depth: int) -> Any:
        if not isinstance(options, list) or not 0 < len(options) <= MOST_PARTS:
            raise self._error(where, f"{key!r} is {_size(options)}, not a list of 1 to {MOST_PARTS} schemas")
        kinds = tuple(self._type(option, where, depth + 1) for option in options)
        return Union[kinds]  # noqa: UP007 - how many they are is known here only

    def _enum(self, values: Any, where: str) -> Any:
        if not isinstance(values, list) or not 0 < len(values) <= MOST_OPTIONS:
            raise self._error(where, f"options are a list of 1 to {MOST_OPTIONS}, not {_size(values)}")
        for value in values:
            if not (value is None or isinstance(value, str | int)) or len(str(value)) > LONGEST_DESCRIPTION:
                raise self._error(
                    where,
                    f"options are texts, whole numbers, booleans or null of at most {LONGEST_DESCRIPTION} "
                    f"characters, not {short(value)}",
                )
        return Literal[tuple(values)]

    def _bound(self, schema: Mapping[str, Any], key: str, where: str) -> int | float:
        value = schema[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            if key in _NUMBERS and abs(value) <= sys.float_info.max:
                return value
            if key not in _NUMBERS and 0 <= value <= _LONGEST and value == int(value):
                return int(value)
        raise self._error(where, f"{key!r} is {short(value)}, which is no such bound")

    def _object(self, schema: Mapping[str, Any], where: str, depth: int) -> Any:
        if schema.get("properties"):
            return self.model(f"{self._tool}_{where}".replace(".", "_"), schema, f"{where}.", depth + 1)
        others = schema.get("additionalProperties", True)
        return dict[str, self._type(True if others is False else others, f"{where}.*", depth + 1)]  # type: ignore[misc]

    def _resolved(self, reference: Any, where: str) -> Any:
        found: Any = self._root
        parts = reference.split("/") if isinstance(reference, str) else [""]
        for part in parts[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        if parts[0] != "#" or found is None:
            raise self._error(where, f"the reference {short(reference)} leads nowhere")
        return found


def _name(key: str) -> str:
    """The name of a property in an error."""
    return key if len(key) <= LONGEST_NAME and key.isprintable() else short(key)
