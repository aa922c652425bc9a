"""JSON schemas of MCP servers' tools as pydantic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.tools.calls import can_be_written
from tape.tools.errors import ToolError

_PLAIN = {"string": str, "number": float, "integer": int, "boolean": bool, "null": None}
_BOUNDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}
_UNREAD = ("allOf", "not", "if", "prefixItems", "patternProperties", "dependentSchemas")
_DEEPEST = 20


def arguments_model(tool: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """The model of a tool's arguments.

    Understood are texts, numbers, integers, booleans, null, lists, objects, enums, constants, unions (``anyOf``,
    ``oneOf``), references within the schema, and bounds. What else a schema says of values (patterns, formats) the
    server checks itself.

    Raises:
        ToolError: Something is not understood; names the tool and the property.
    """
    if schema.get("type", "object") != "object":
        raise ToolError(f"MCP tool {tool}: its arguments are of the type {schema['type']!r}, not an object")
    return _Reader(tool, schema).model(f"{tool}_arguments", schema, "")


class _Reader:
    """Reads one tool's schema.

    Args:
        tool: Its name, for errors.
        root: The whole schema, for references.
    """

    def __init__(self, tool: str, root: Mapping[str, Any]) -> None:
        self._tool, self._root = tool, root

    def _error(self, where: str, what: str) -> ToolError:
        return ToolError(f"MCP tool {self._tool}: the property {where or '(all)'}: {what}")

    def model(self, name: str, schema: Mapping[str, Any], where: str, depth: int = 0) -> type[BaseModel]:
        """A model of an object with named properties."""
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
            raise self._error(where, "no JSON schema")
        if unknown := sorted(set(required) - properties.keys()):
            raise self._error(f"{where}{unknown[0]}", "is required but not described")
        fields: dict[str, Any] = {}
        for key, value in properties.items():
            path = f"{where}{key}"
            if key.startswith("_") or not can_be_written("x", "", [key]):
                raise self._error(
                    path, "calls cannot name it; names have letters, digits and _ and begin with a letter"
                )
            fields[key] = self._field(value, path, depth, required=key in required)
        try:
            made = create_model(name, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields)
        except Exception as error:  # pydantic has no common base of what it refuses
            raise self._error(where, f"pydantic refuses it: {error}") from error
        if lost := sorted(fields.keys() - made.model_fields.keys()):
            raise self._error(f"{where}{lost[0]}", "pydantic has a meaning of its own for this name")
        return made

    def _field(self, schema: Any, where: str, depth: int, *, required: bool) -> tuple[Any, Any]:
        kind = self._type(schema, where, depth)
        said = schema if isinstance(schema, Mapping) else {}
        text = said.get("description")
        if required:
            return (kind, Field(description=text))
        # What is left out is not sent, so that the server's own default holds.
        return (Union[kind, None], Field(said.get("default"), description=text))  # noqa: UP007 - some hints know no |

    def _type(self, schema: Any, where: str, depth: int) -> Any:
        if schema in (True, {}):
            return Any
        if not isinstance(schema, Mapping):
            raise self._error(where, f"the schema {schema!r} is not understood")
        if depth > _DEEPEST:
            raise self._error(where, "its schema refers to itself, or is nested too deep")
        if unread := [key for key in _UNREAD if key in schema]:
            raise self._error(where, f"{unread[0]!r} is not understood")
        if "$ref" in schema:
            return self._type(self._resolved(schema["$ref"], where), where, depth + 1)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return _union([self._type(option, where, depth + 1) for option in schema[union]])
        if "const" in schema or "enum" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            if not values or not all(value is None or isinstance(value, str | int) for value in values):
                raise self._error(where, "options are texts, whole numbers, booleans or null")
            return Literal[tuple(values)]
        named = schema.get("type")
        if isinstance(named, list):
            return _union([self._type({**schema, "type": one}, where, depth + 1) for one in named])
        if named == "array":
            found: Any = list[self._type(schema.get("items", True), f"{where}[]", depth + 1)]  # type: ignore[misc]
        elif named == "object":
            found = self._object(schema, where, depth)
        elif isinstance(named, str) and named in _PLAIN:
            found = _PLAIN[named]
        elif named is None and schema.keys() <= {"title", "description", "default", "examples"}:
            return Any
        else:
            raise self._error(where, f"the type {named!r} is not understood")
        bounds = {_BOUNDS[key]: value for key, value in schema.items() if key in _BOUNDS}
        return Annotated[found, Field(**bounds)] if bounds else found

    def _object(self, schema: Mapping[str, Any], where: str, depth: int) -> Any:
        if schema.get("properties"):
            return self.model(f"{self._tool}_{where}".replace(".", "_"), schema, f"{where}.", depth + 1)
        others = schema.get("additionalProperties", True)
        return dict[str, self._type(True if others is False else others, f"{where}.*", depth + 1)]  # type: ignore[misc]

    def _resolved(self, reference: Any, where: str) -> Any:
        found: Any = self._root
        parts = reference.split("/") if isinstance(reference, str) else [""]
        for part in parts[1:]:
            found = found.get(part) if isinstance(found, Mapping) else None
        if parts[0] != "#" or found is None:
            raise self._error(where, f"the reference {reference!r} leads nowhere")
        return found


def _union(kinds: list[Any]) -> Any:
    return Union[tuple(kinds)]  # noqa: UP007 - how many they are is known here only
