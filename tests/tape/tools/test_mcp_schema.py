"""JSON schemas become pydantic models, or errors that name the tool and the property."""

from typing import Any

import pytest
from pydantic import ValidationError

from tape.tools import ToolError, json_schemas
from tape.tools.calls import can_be_written
from tape.tools.mcp_schema import arguments_model, sent


def model(properties: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> Any:
    return arguments_model("t", {"type": "object", "properties": properties, "required": list(required), **more})


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
    values: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        values = {"type": "array", "items": values}
    return values


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": {f"a{k}": {"type": "integer"} for k in range(501)}}, "it has 501 arguments, more than 500"),
        ({"properties": {"a": {}}, "required": [f"a{k}" for k in range(501)]}, "it has 502 arguments"),
        ({"properties": {"a": {"enum": list(range(5001))}}}, "its schema has more than 5000 parts, or 30 levels"),
        ({"properties": {"a": chain(40)}}, "or 30 levels"),
        ({"properties": 5}, "its properties are 5"), ({"properties": [1]}, "no JSON schema"),
        ({"type": "array"}, "its arguments are of the type 'array'"),
        ({"type": {}}, "its arguments are of the type an object"),
        (None, "no JSON schema"), (5, "no JSON schema"), ([], "no JSON schema"), (True, "no JSON schema"),
    ],
)  # fmt: skip
def test_what_is_no_schema_or_too_large_is_named(schema: Any, message: str) -> None:
    with pytest.raises(ToolError, match=f"MCP tool t: .*({message})") as refused:
        arguments_model("t", schema)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tuple"}, {"type": []}, {"type": {}}, {"type": ["string"] * 8}, {"allOf": 3}, {"anyOf": 5},
        {"enum": 5}, {"type": "array", "minItems": 1.5},
        {"$ref": "#/$defs/Nowhere"}, {"$ref": 5}, {"$ref": "#/properties/a"}, {"$ref": "https://nowhere.invalid/s.json"},
        {"type": "integer", "minimum": "x"}, {"type": "string", "maxLength": 10**30},
        {"patternProperties": {"(a+)+$": {"type": "string"}}, "additionalProperties": False}, {"pattern": "(("},
        {"type": "string", "default": "x" * 2000}, {"description": 7},
    ],
)  # fmt: skip
def test_what_is_no_schema_inside_one_is_left_to_the_server(part: Any) -> None:
    made = model({"a": part}, ("a",))
    given = next(value for value in ("x", {"k": 1}, 1, [1, 2]) if not refused(made, {"a": value}))
    assert sent(made, dict(made.model_validate({"a": given}))) == {"a": given}


def test_names_that_a_pattern_lets_through_are_let_through_and_the_server_checks_them() -> None:
    named_by_a_pattern = {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}
    assert not refused(arguments_model("t", named_by_a_pattern), {"a": 1, "xy": 2})
    assert not refused(model({"o": {"type": "object", **named_by_a_pattern}}), {"o": {"a": 1, "xy": 2}})


def refused(made: Any, values: dict[str, Any]) -> bool:
    try:
        made.model_validate(values)
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (bomb(9), {"a": {}}), (bomb(30), {"a": {}}), ({"properties": {"a": chain(21)}}, {"a": [[[]]]}),
        ({"properties": {"a": {"anyOf": [{}] * 501}}}, {"a": {}}),
    ],
)  # fmt: skip
def test_a_schema_that_stands_for_an_endless_one_is_checked_within_bounds(
    monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], given: dict[str, Any]
) -> None:
    monkeypatch.setattr(json_schemas, "MOST_STEPS", 2000)
    made = arguments_model("t", schema)
    assert sent(made, dict(made.model_validate(given))) == given


NAMES = [
    "page-size", "page_size", "page.size", "$filter", "user.name", "_meta", "from", "class", "größe", "नाम", "2fa",
    "schema", "json", "copy", "model_config", "model_fields_set", "model_x", "x" * 101, "a\x1b[31m", "", "self",
]  # fmt: skip


def test_any_names_are_written_as_python_has_them_and_sent_as_the_server_has_them() -> None:
    properties = {name: {"type": ["integer", "null"]} for name in NAMES}
    made = model({**properties, "inside": {"type": "object", "properties": properties}})
    written = list(made.model_fields)
    assert all(name.isidentifier() and can_be_written(name, "", [name]) for name in written)
    given = {name: number for number, name in enumerate(written[:-1])} | {"inside": dict.fromkeys(NAMES)}
    whole = made.model_validate(given)
    wanted = {name: number for number, name in enumerate(NAMES)} | {"inside": dict.fromkeys(NAMES)}
    assert sent(made, {name: getattr(whole, name) for name in written}) == wanted
    assert written[:8] == ["page_size_2", "page_size", "page_size_3", "filter", "user_name", "meta", "from_", "class_"]


def test_null_is_sent_where_the_schema_lets_it_through_and_else_left_out() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {}}}
    made = model(
        {
            "a": {"type": "string"}, "b": {"anyOf": [{"type": "null"}, {"type": "integer"}]}, "c": {"enum": [1, None]},
            "d": True, "e": {"not": {"type": "null"}}, "f": {"not": {"type": "string"}}, "g": inner,
        }
    )  # fmt: skip
    given = made.model_validate({**dict.fromkeys("abcdef"), "g": dict.fromkeys("abc")})
    assert sent(made, dict(given)) == {**dict.fromkeys("bcdf"), "g": dict.fromkeys("bc")}


def test_a_tool_without_properties_takes_what_the_schema_lets_through() -> None:
    made = arguments_model("t", {"type": "object", "additionalProperties": {"type": "integer"}})
    assert made.model_validate({"x": 1}).model_extra == {"x": 1}
    assert refused(made, {"x": "y"})
    assert not refused(arguments_model("t", {"additionalProperties": True}), {"x": "y"})
    assert refused(arguments_model("t", {}), {"x": "y"})


def test_descriptions_are_one_short_printable_line() -> None:
    made = model(
        {"a": {"type": "string", "description": "\x1b[31mred\n\u202e" + "x" * 9000}, "b": {"description": [1]}}
    )
    text = made.model_fields["a"].description
    assert text.startswith("[31mred x")
    assert text.isprintable()
    assert len(text.encode()) <= 1000
    assert made.model_fields["b"].description is None


def test_the_largest_schema_that_is_taken_makes_a_model() -> None:
    made = model({f"a{k}": {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]} for k in range(166)})
    assert made.model_validate({"a0": "x"}).a0 == "x"
