"""JSON schemas become pydantic models, or errors that name the tool and the property."""

from typing import Any

import pytest
from pydantic import ValidationError

from tape.tools import ToolError, json_schemas
from tape.tools.calls import can_be_written
from tape.tools.mcp_schema import arguments_model, sent


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


NODE = {"properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/N"}}, "type": "object", "required": ["v"]}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$ref": "#/$defs/N"}, {"v": 1, "next": {"v": 2}}, {"v": 1, "next": {"v": "x"}}),
        ({"allOf": [{"$ref": "#/$defs/N"}]}, {"v": 1}, {"v": "x"}),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, 3, 2), ({"enum": [0.5, 1.5]}, 0.5, 0.7),
        ({"const": {"a": 1}}, {"a": 1}, {"a": 2}), ({"not": {"type": "string"}}, 1, "x"),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "xy", "x"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [1, "x"], ["x", 1]),
        ({"type": "array", "items": [{"type": "integer"}], "additionalItems": False}, [1], [1, 2]),
        ({"type": "integer", "multipleOf": 5}, 10, 11), ({"type": "array", "uniqueItems": True}, [1, 2], [1, 1]),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, 0.5, 0),
        ({"type": "number", "maximum": 9, "exclusiveMaximum": False}, 9, 10),
        ({"type": "integer", "minimum": 0.5}, 1, 0),
        ({"type": "object", "properties": {"b": {}}, "anyOf": [{"required": ["b"]}]}, {"b": 1}, {}),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"const": 1}}, {"b": 1}, {"b": "x"}),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}, "x", "xx"),
    ],
)  # fmt: skip
def test_what_no_type_says_is_checked_by_the_schema(schema: dict[str, Any], good: object, bad: object) -> None:
    made = model({"a": schema}, ("a",), **{"$defs": {"N": NODE}})
    assert sent(made, dict(made.model_validate({"a": good}))) == {"a": good}
    with pytest.raises(ValidationError):
        made.model_validate({"a": bad})


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf"])
def test_what_the_whole_says_is_checked_too(word: str) -> None:
    made = arguments_model("t", {"properties": {"a": {}, "b": {}}, word: [{"required": ["a"]}]})
    made.model_validate({"a": None})
    with pytest.raises(ValidationError):
        made.model_validate({"b": 1})


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


def test_a_number_is_sent_as_it_was_written() -> None:
    made = model({"a": {"type": "number", "minimum": 1}})
    for number in (1, 1.5, 2**60 + 1):
        assert repr(sent(made, {"a": made.model_validate({"a": number}).a})["a"]) == repr(number)
    assert refused(made, {"a": 0})


def test_a_tool_without_properties_takes_what_the_schema_lets_through() -> None:
    made = arguments_model("t", {"type": "object", "additionalProperties": {"type": "integer"}})
    assert made.model_validate({"x": 1}).model_extra == {"x": 1}
    assert refused(made, {"x": "y"})
    assert not refused(arguments_model("t", {"additionalProperties": True}), {"x": "y"})
    assert refused(arguments_model("t", {}), {"x": "y"})


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
    assert text.startswith("[31mred x")
    assert text.isprintable()
    assert len(text.encode()) <= 1000
    assert made.model_fields["b"].description is None


def test_the_largest_schema_that_is_taken_makes_a_model() -> None:
    made = model({f"a{k}": {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]} for k in range(166)})
    assert made.model_validate({"a0": "x"}).a0 == "x"
