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
        ({"type": "string"}, "x", 1), ({"type": "number"}, 1.5, "x"), ({"type": "integer"}, 2, 2.5),
        ({"type": "boolean"}, True, "maybe"), ({"type": "array", "items": {"type": "integer"}}, [1], ["x"]),
        ({"type": "array"}, [1, "x"], "x"), ({"type": "object"}, {"k": [1]}, [1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1}, {"k": "x"}),
        ({"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}, {"k": 1}, {}),
        ({"enum": ["a", 1, None]}, "a", "b"), ({"const": "a"}, "a", "b"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "x"),
        ({"oneOf": [{"type": "integer"}, {"enum": ["all"]}]}, "all", "some"),
        ({"type": ["integer", "null"]}, None, "x"), ({"$ref": "#/$defs/Kind"}, "k", "x"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 3, 4), ({"type": "string", "maxLength": 2}, "ab", "abc"),
        ({"type": "array", "minItems": 1}, [1], []),
    ],
)  # fmt: skip
def test_what_is_understood_is_checked(schema: dict[str, Any], good: object, bad: object) -> None:
    made = model({"a": schema}, ("a",), **{"$defs": {"Kind": {"enum": ["k"]}}})
    made.model_validate({"a": good})
    for values in ({"a": bad}, {}, {"a": good, "b": 1}):
        with pytest.raises(ValidationError):
            made.model_validate(values)


def test_a_property_may_be_anything_or_left_out() -> None:
    for schema in ({}, True, {"title": "Anything"}):
        assert model({"a": schema}, ("a",)).model_validate({"a": [1]}).a == [1]
    made = model({"a": {"type": "integer", "default": 3}, "b": {"type": "integer"}})
    assert made().model_dump() == {"a": 3, "b": None}
    assert arguments_model("t", {})().model_dump() == {}


def bomb(levels: int) -> dict[str, Any]:
    """A schema of a kilobyte whose references stand for 4 ** levels unions."""
    defs: dict[str, Any] = {f"d{k}": {"anyOf": [{"$ref": f"#/$defs/d{k + 1}"}] * 4} for k in range(levels)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, f"d{levels}": {"type": "string"}}}


def chain(levels: int) -> Any:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        found = {"type": "array", "items": found}
    return found


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": {"a": {"type": "tuple"}}}, "the property a: the type 'tuple'"),
        ({"properties": {"a": {"allOf": []}}}, "the property a: 'allOf' is not understood"),
        ({"properties": {"a": {"type": "array", "prefixItems": []}}}, "'prefixItems'"),
        ({"properties": {"a": {"type": "array", "items": {"type": "file"}}}}, r"the property a\[\]: the type 'file'"),
        ({"properties": {"a": {"type": "object", "properties": {"b": {"not": {}}}}}}, "the property a.b: 'not'"),
        ({"properties": {"a": {"$ref": "#/$defs/Nowhere"}}}, "leads nowhere"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "refers to itself"),
        ({"properties": {"a": {"enum": [[1]]}}}, "options are"), ({"properties": {"a": {"enum": []}}}, "options are"),
        ({"properties": {"a": False}}, "schema [Ff]alse"),
        ({"properties": {"max-results": {"type": "integer"}}}, "the property max-results: calls cannot name it"),
        ({"properties": {"_a": {"type": "integer"}}}, "the property _a: calls cannot name it"),
        ({"properties": {"model_config": {"type": "integer"}}}, "model_config: pydantic has a meaning of its own"),
        (bomb(9), "the property a: with references followed the schema has more than 500 parts"),
        (bomb(30), "refers to itself, or is nested too deep"),
        ({"properties": {f"a{k}": {"type": "integer"} for k in range(501)}}, "more than 500 parts"),
        ({"properties": {"a": chain(21)}}, "nested too deep"),
        ({"properties": {"a": {"anyOf": [{}] * 501}}}, "a: 'anyOf' is one of 501, not a list of 1 to 500"),
        ({"properties": {"a": {"oneOf": {"type": "string"}}}}, "a: 'oneOf' is an object"),
        ({"properties": {"a": {"enum": 5}}}, "a: options are a list of 1 to 5000, not 5"),
        ({"properties": {"a": {"enum": list(range(5001))}}}, "a: options are a list of 1 to 5000, not one of 5,001"),
        ({"properties": {"a": {"enum": ["x" * 1001]}}}, "at most 1000 characters"),
        ({"properties": {"a": {"const": 1.5}}}, "not 1.5"),
        ({"properties": {"a": {"type": ["string"] * 8}}}, "a: the type a list is not understood"),
        ({"properties": {"a": {"type": []}}}, "a: the type a list is not understood"),
        ({"properties": {"a": {"type": [["string"]] * 2}}}, "nested too deep|the type a list"),
        ({"properties": {"a": {"type": {}}}}, "a: the type an object is not understood"),
        ({"properties": {"a": {"type": "integer", "minimum": "x"}}}, "a: 'minimum' is 'x', which is no such bound"),
        ({"properties": {"a": {"type": "integer", "minimum": True}}}, "'minimum' is [Tt]rue"),
        ({"properties": {"a": {"type": "number", "maximum": 10**309}}}, "'maximum' is a whole number of more"),
        ({"properties": {"a": {"type": "string", "minLength": -1}}}, "'minLength' is -1"),
        ({"properties": {"a": {"type": "string", "maxLength": 10**30}}}, "'maxLength' is 1000"),
        ({"properties": {"a": {"type": "array", "minItems": 1.5}}}, "'minItems' is 1.5"),
        ({"properties": {"a": {"$ref": 5}}}, "the reference 5 leads nowhere"),
        ({"properties": {"a": {"$ref": "#/properties/a/0"}}}, "leads nowhere"),
        ({"properties": {"a": {"type": "string", "default": "x" * 2000}}}, "its default is longer than 1000"),
        ({"properties": {"x" * 101: {}}}, "calls cannot name it"),
        ({"properties": {"a\x1b[31m": {}}}, r"the property 'a\\x1b\[31m': calls cannot name it"),
        ({"properties": {"a": {}}, "required": [{}]}, "what is required is a list, no JSON schema"),
        ({"properties": {"a": {}}, "required": ["a"] * 501}, "what is required is a list"),
        ({"properties": {"a": {}}, "required": "a"}, "what is required is 'a'"),
        ({"properties": 5}, "its properties are 5"), ({"properties": [1]}, "no JSON schema"),
        ({"properties": {"a": {}}, "required": ["b"]}, "the property b: is required but not described"),
        ({"type": "array"}, "its arguments are of the type 'array'"),
        ({"type": {}}, "its arguments are of the type an object"),
        *((wrong, "no JSON schema") for wrong in (None, 5, "object", [], True)),
    ],
)  # fmt: skip
def test_what_is_not_understood_or_too_large_is_named(schema: Any, message: str) -> None:
    with pytest.raises(ToolError, match=f"MCP tool t: .*({message})") as refused:
        arguments_model("t", schema)
    assert len(str(refused.value)) < 600


def test_bounds_of_other_types_are_ignored_and_patterns_are_not_run() -> None:
    made = model(
        {
            "a": {"type": "string", "minimum": 3, "pattern": "^(a+)+$", "format": "uuid"},
            "b": {"type": "integer", "minLength": "x"},
            "c": {"type": ["string", "integer"], "minLength": 2, "minimum": 5},
        },
        ("a", "b", "c"),
    )
    made.model_validate({"a": "a" * 50 + "!", "b": 1, "c": "xx"})
    for wrong in ("x", 4):
        with pytest.raises(ValidationError):
            made.model_validate({"a": "", "b": 1, "c": wrong})


def test_descriptions_are_one_short_printable_line() -> None:
    made = model(
        {"a": {"type": "string", "description": "\x1b[31mred\n\u202e" + "x" * 9000}, "b": {"description": [1]}}
    )
    text = made.model_fields["a"].description
    assert text is not None
    assert text.startswith("[31mred x")
    assert text.isprintable()
    assert len(text.encode()) <= 1000
    assert made.model_fields["b"].description is None


def test_the_largest_schema_that_is_taken_makes_a_model() -> None:
    made = model({f"a{k}": {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]} for k in range(166)})
    assert made.model_validate({"a0": "x"}).a0 == "x"
