"""JSON schemas become pydantic models, or errors that name the tool and the property."""

from typing import Any

import pytest
from pydantic import ValidationError

from tape.tools import ToolError
from tape.tools.mcp_schema import arguments_model


def model(properties: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> Any:
    return arguments_model("t", {"type": "object", "properties": properties, "required": list(required), **more})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, "x", 1),
        ({"type": "number"}, 1.5, "x"),
        ({"type": "integer"}, 2, 2.5),
        ({"type": "boolean"}, True, "maybe"),
        ({"type": "array", "items": {"type": "integer"}}, [1], ["x"]),
        ({"type": "array"}, [1, "x"], "x"),
        ({"type": "object"}, {"k": [1]}, [1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1}, {"k": "x"}),
        ({"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}, {"k": 1}, {}),
        ({"enum": ["a", 1, None]}, "a", "b"),
        ({"const": "a"}, "a", "b"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "x"),
        ({"oneOf": [{"type": "integer"}, {"enum": ["all"]}]}, "all", "some"),
        ({"type": ["integer", "null"]}, None, "x"),
        ({"$ref": "#/$defs/Kind"}, "k", "x"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 3, 4),
        ({"type": "string", "maxLength": 2}, "ab", "abc"),
        ({"type": "array", "minItems": 1}, [1], []),
    ],
)
def test_what_is_understood_is_checked(schema: dict[str, Any], good: object, bad: object) -> None:
    made = model({"a": schema}, ("a",), **{"$defs": {"Kind": {"enum": ["k"]}}})
    made.model_validate({"a": good})
    for values in ({"a": bad}, {}, {"a": good, "b": 1}):
        with pytest.raises(ValidationError):
            made.model_validate(values)


@pytest.mark.parametrize("schema", [{}, True, {"title": "Anything"}])
def test_a_property_may_be_anything(schema: Any) -> None:
    assert model({"a": schema}, ("a",)).model_validate({"a": [1]}).a == [1]


def test_what_is_optional_may_be_left_out_and_keeps_its_default() -> None:
    made = model({"a": {"type": "integer", "default": 3}, "b": {"type": "integer"}})
    assert made().model_dump() == {"a": 3, "b": None}


def test_a_tool_may_take_no_arguments() -> None:
    assert arguments_model("t", {})().model_dump() == {}


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"a": {"type": "tuple"}}, "MCP tool t: the property a: the type 'tuple'"),
        ({"a": {"allOf": []}}, "the property a: 'allOf' is not understood"),
        ({"a": {"type": "array", "prefixItems": []}}, "'prefixItems'"),
        ({"a": {"type": "array", "items": {"type": "file"}}}, r"the property a\[\]: the type 'file'"),
        ({"a": {"type": "object", "properties": {"b": {"not": {}}}}}, "the property a.b: 'not'"),
        ({"a": {"$ref": "#/$defs/Nowhere"}}, "leads nowhere"),
        ({"a": {"$ref": "other.json#/x"}}, "leads nowhere"),
        ({"a": {"$ref": "#/properties/a"}}, "refers to itself"),
        ({"a": {"enum": [[1]]}}, "options are"),
        ({"a": {"enum": []}}, "options are"),
        ({"a": False}, "schema False"),
        ({"max-results": {"type": "integer"}}, "the property max-results: calls cannot name it"),
        ({"_a": {"type": "integer"}}, "the property _a: calls cannot name it"),
        ({"model_config": {"type": "integer"}}, "the property model_config: pydantic has a meaning of its own"),
    ],
)
def test_what_is_not_understood_is_named(properties: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolError, match=says):
        model(properties)


def test_malformed_schemas_are_named() -> None:
    with pytest.raises(ToolError, match="t: its arguments are of the type 'array'"):
        arguments_model("t", {"type": "array"})
    with pytest.raises(ToolError, match="the property b: is required but not described"):
        model({"a": {}}, ("b",))
    with pytest.raises(ToolError, match="no JSON schema"):
        arguments_model("t", {"properties": [1]})
