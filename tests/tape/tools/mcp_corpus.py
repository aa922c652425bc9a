"""Ordinary shapes of arguments, as servers in the open describe them, each with values that fit and some that do not."""

# ruff: noqa: E501 - a line is a shape

from __future__ import annotations

from typing import Any, NamedTuple


class Shape(NamedTuple):
    """What a tool takes.

    Attributes:
        schema: Its ``inputSchema``.
        good: Arguments that fit.
        bad: Arguments that do not fit; None where the schema says nothing that is checked here.
    """

    schema: dict[str, Any]
    good: dict[str, Any]
    bad: dict[str, Any] | None


def _takes(good: Any, bad: Any, *, required: Any = None, **properties: Any) -> Shape:
    """A tool with some properties; a value that is no object is that of the first one."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    return _of(schema, good, bad)


def _of(schema: dict[str, Any], good: Any, bad: Any = None) -> Shape:
    first = next(iter(schema.get("properties", {})), "")
    whole = [value if value is None or isinstance(value, dict) else {first: value} for value in (good, bad)]
    return Shape(schema, whole[0] or {}, whole[1])


_STRING, _INTEGER, _NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
_NODE = {
    "type": "object",
    "properties": {"name": _STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "required": ["name"],
}
_FILTER = {
    "anyOf": [
        {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}}, "required": ["and"]},
        {"type": "object", "properties": {"field": _STRING, "value": {}}, "required": ["field"]},
    ]
}  # fmt: skip

CORPUS: dict[str, Shape] = {
    # Names.
    "page-size": _takes({"page-size": 3}, {"page-size": "many"}, **{"page-size": _INTEGER}),
    "$filter": _takes({"$filter": "a eq 1", "$top": 2}, {"$top": "x"}, **{"$filter": _STRING, "$top": _INTEGER}),
    "user.name": _takes({"user.name": "ann"}, {"user.name": 1}, **{"user.name": _STRING, "user_name": _STRING}),
    "_meta": _takes({"_meta": {"a": 1}, "q": "x"}, {"_meta": 1}, _meta={"type": "object"}, q=_STRING),
    "keywords": _takes({"from": "a", "in": "b", "class": "c"}, {"from": 1}, **{"from": _STRING, "in": _STRING, "class": _STRING}),
    "names of pydantic": _takes({"schema": "s", "json": True, "copy": 1, "model_config": 2, "model_id": 3}, {"copy": "x"}, schema=_STRING, json={}, copy=_INTEGER, model_config={}, model_id={}),
    "camelCase and dashes": _takes({"maxResults": 1, "X-Request-Id": "r"}, None, maxResults=_INTEGER, **{"X-Request-Id": _STRING}),
    "other scripts": _takes({"größe": 1, "名前": "n", "नाम": "m"}, {"größe": "x"}, größe=_INTEGER, 名前=_STRING, नाम=_STRING),
    "names inside": _takes({"options": {"dry-run": True, "@type": "x"}}, {"options": {"dry-run": "x"}}, options={"type": "object", "properties": {"dry-run": {"type": "boolean"}, "@type": _STRING}}),
    # What is left out, null, and defaults.
    "null for nobody": _takes({"id": 7, "assignee": None}, {"id": 7, "assignee": 3}, id=_INTEGER, assignee={"type": ["string", "null"]}, required=["id"]),
    "pydantic's optional": _takes({"q": "x", "limit": None}, {"limit": "x"}, q=_STRING, limit={"anyOf": [_INTEGER, _NULL], "default": None}),
    "openapi's nullable": _takes({"q": "x"}, {"q": 1}, q={"type": "string", "nullable": True}),
    "a default of another type": _takes({"q": "x"}, {"limit": "x"}, q=_STRING, limit={"type": "integer", "default": "10"}),
    "a default inside": _takes({"o": {"a": 1}}, {"o": {"a": "x"}}, o={"type": "object", "properties": {"a": _INTEGER, "b": {"type": "integer", "default": 5}}}),
    "required null": _of({"type": "object", "properties": {"q": _STRING}, "required": None}, "x", 1),
    "required in the property": _of({"type": "object", "properties": {"q": {"type": "string", "required": True}}}, "x", 1),
    "required and not described": _of({"type": "object", "properties": {}, "required": ["id"]}, {"id": 1}, {}),
    # Unions and parts.
    "allOf of one": _of({"type": "object", "properties": {"n": {"allOf": [{"$ref": "#/$defs/Node"}], "description": "A node."}}, "$defs": {"Node": _NODE}}, {"n": {"name": "a"}}, {"n": {}}),
    "allOf of two": _takes({"n": {"a": 1, "b": "x"}}, {"n": {"a": 1}}, n={"allOf": [{"type": "object", "properties": {"a": _INTEGER}, "required": ["a"]}, {"required": ["b"]}]}),
    "oneOf with a const": _takes({"s": {"kind": "b", "y": 1}}, {"s": {"kind": "c"}}, s={"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": _STRING}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "b"}, "y": _INTEGER}, "required": ["kind"]}]}),
    "this or that": _of({"type": "object", "properties": {"id": _INTEGER, "name": _STRING}, "anyOf": [{"required": ["id"]}, {"required": ["name"]}]}, {"name": "x"}, {}),
    "this alone": _of({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}]}, {"a": None}, {"b": 1}),
    "this as well": _of({"type": "object", "properties": {"a": {}, "b": {}}, "allOf": [{"required": ["a"]}]}, {"a": None}, {"b": 1}),
    "if and then": _of({"type": "object", "properties": {"all": {"type": "boolean"}, "id": _INTEGER}, "if": {"not": {"required": ["all"]}}, "then": {"required": ["id"]}}, {"all": True}, {}),
    "not": _takes("x", None, v={"not": _NULL}),
    "a union without types": _takes("2024-01-01", 5, d={"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}),
    "depends on another": _of({"type": "object", "properties": {"a": _INTEGER, "b": _INTEGER}, "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
    # Lists.
    "a pair": _takes({"bbox": [1, 2.5]}, {"bbox": ["x", 2]}, bbox={"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]}),
    "a pair of draft 7": _takes({"at": [1, "x"]}, {"at": [1, 2]}, at={"type": "array", "items": [_INTEGER, _STRING], "minItems": 2}),
    "a list of anything": _takes({"v": [1, "x", None, {"a": []}]}, {"v": 5}, v={"type": "array", "items": {}}),
    "rows": _takes({"rows": [[1, "a"], [None]]}, {"rows": [1]}, rows={"type": "array", "items": {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}}),
    "different ones": _takes({"tags": ["a", "b"]}, {"tags": ["a", "a"]}, tags={"type": "array", "items": _STRING, "uniqueItems": True}),
    # Objects.
    "any names": _of({"type": "object", "additionalProperties": True}, {"x": 1, "y": None}),
    "any names of a type": _of({"type": "object", "additionalProperties": _INTEGER}, {"x": 1}, {"x": "y"}),
    "some names and any": _of({"type": "object", "properties": {"q": _STRING}, "additionalProperties": {}}, {"q": "x", "more": [1]}, {"q": 1}),
    "names by a pattern": _takes({"headers": {"X-A": "1"}}, {"headers": 1}, headers={"type": "object", "patternProperties": {"^X-": _STRING}, "additionalProperties": False}),
    "a map of objects": _takes({"m": {"a b": {"v": 1}}}, {"m": {"a": {"v": "x"}}}, m={"type": "object", "additionalProperties": {"type": "object", "properties": {"v": _INTEGER}}}),
    "no arguments": _of({"type": "object"}, {}),
    "no arguments at all": _of({"type": "object", "properties": {}, "additionalProperties": False}, {}, {"x": 1}),
    "an object without a type": _takes({"o": {"q": "x"}}, {"o": {"q": 1}}, o={"properties": {"q": _STRING}}),
    # References.
    "recursive": _of({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "required": ["tree"], "$defs": {"Node": _NODE}}, {"tree": {"name": "a", "children": [{"name": "b", "children": []}]}}, {"tree": {"name": "a", "children": [{}]}}),
    "a filter of filters": _of({"type": "object", "properties": {"f": {"$ref": "#/$defs/Filter"}}, "$defs": {"Filter": _FILTER}}, {"f": {"and": [{"field": "a", "value": None}]}}, {"f": {"and": [{}]}}),
    "definitions of draft 7": _of({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"n": {"$ref": "#/definitions/N"}}, "definitions": {"N": {"enum": ["a", "b"]}}}, "a", "c"),
    # Values.
    "floats in an enum": _takes(0.5, 0.6, t={"type": "number", "enum": [0, 0.5, 1]}),
    "an enum of all kinds": _takes(None, {"e": "b"}, e={"enum": ["a", 1, None, False]}),
    "bounds of draft 4": _takes(0.5, 0, x={"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1}),
    "steps": _takes(15, 16, n={"type": "integer", "multipleOf": 5, "minimum": 0}),
    "a whole number as a number": _takes(2**60 + 1, "x", n={"type": "number"}),
    "patterns and formats": _takes("a@b.c", 1, mail={"type": "string", "format": "email", "pattern": "^\\S+@\\S+$"}),
    "bounds of numbers": _takes(3, 4, n={"type": "integer", "minimum": 1, "maximum": 3}),
    "a lower bound between whole numbers": _takes(1, 0, n={"type": "integer", "minimum": 0.5}),
    "an upper bound that counts": _takes(9, 10, n={"type": "number", "maximum": 9, "exclusiveMaximum": False}),
    "bounds of texts": _takes("ab", "abc", t={"type": "string", "maxLength": 2}),
    "bounds of lists": _takes([1], {"v": []}, v={"type": "array", "minItems": 1}),
    "numbers that are no whole ones": _takes(2, 2.5, n={"type": "integer"}),
    "yes and no": _takes(True, "maybe", b={"type": "boolean"}),
    "a constant": _takes("a", "b", c={"const": "a"}),
    "a constant object": _takes({"c": {"a": 1}}, {"c": {"a": 2}}, c={"const": {"a": 1}}),
    "one of several types": _takes("all", "some", v={"oneOf": [_INTEGER, {"enum": ["all"]}]}),
    "bounds in parts": _takes(3, 2, n={"allOf": [_INTEGER, {"minimum": 3}]}),
    "texts by their length": _takes("x", "xx", t={"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}),
    "bounds of one type of two": _takes("xx", 4, v={"type": ["string", "integer"], "minLength": 2, "minimum": 5}),
    "a minimum that only some have": _takes("xy", "x", v={"if": _STRING, "then": {"minLength": 2}}),
    "a list with an end": _takes([1], {"v": [1, 2]}, v={"type": "array", "items": [_INTEGER], "additionalItems": False}),
    "one name or another inside": _takes({"o": {"b": 1}}, {"o": {}}, o={"type": "object", "properties": {"b": {}}, "anyOf": [{"required": ["b"]}]}),
    "other names of a constant": _takes({"o": {"b": 1}}, {"o": {"b": "x"}}, o={"type": "object", "properties": {"a": {}}, "additionalProperties": {"const": 1}}),
    "a pattern that is never run": _takes("a" * 50 + "!", 1, t={"type": "string", "minimum": 3, "pattern": "^(a+)+$", "format": "uuid"}),
    "words that mean something elsewhere": _takes(1, "x", n={"type": "integer", "minLength": "x"}),
    "no text": _takes(1, "x", v={"not": _STRING}),
    "a schema that is true": _takes([1], None, v=True),
    "a type that is none": _takes("x", None, v={"type": "any"}),
}  # fmt: skip
