"""Numbers between bounds as patterns, against comparing them; and schemas with such numbers."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

pytest.importorskip("outlines_core")

from tape.errors import ConstraintError
from tape.lm.base import JsonSchema
from tape.lm.constraints import to_decoder, to_pattern
from tape.lm.number_patterns import BOUNDS, Bounds
from tape.lm.schemas import schema_pattern

NONE = "(?!)"
"""Matches nothing, as no number is between such bounds."""

ENDS = st.integers(-150, 150) | st.integers(-1500, 1500).map(lambda n: n / 100) | st.sampled_from([1e-7, 1e16, -2.5e9])
STATED = st.fixed_dictionaries({}, optional={name: ENDS for name in BOUNDS if name != "multipleOf"}).filter(bool)


def pattern(stated: dict[str, Any], *, whole: bool) -> str:
    try:
        return Bounds.of(stated).pattern(whole=whole)
    except ConstraintError:
        return NONE


def plain(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".") if number % 1 else f"{number:.0f}"


@given(STATED)
def test_whole_numbers_within_their_bounds_and_no_others(stated: dict[str, Any]) -> None:
    found = re.compile(pattern(stated, whole=True))
    for number in range(-160, 161):
        assert bool(found.fullmatch(str(number))) is Bounds.of(stated).admit(number)
    assert not any(found.fullmatch(text) for text in ("-0", "00", "01", "+1", "1.0", "1e0", ""))


@given(STATED, st.lists(st.integers(-1600, 1600), min_size=40, max_size=40))
def test_decimal_numbers_within_their_bounds_and_no_others(stated: dict[str, Any], near: list[int]) -> None:
    found = re.compile(pattern(stated, whole=False))
    for number in [
        *(n / 100 for n in near),
        *(end + add for end in stated.values() for add in (0, 0.01, -0.01, 1, -1)),
    ]:
        if abs(number) < 1e6:
            text = plain(number)
            assert bool(found.fullmatch(text)) is Bounds.of(stated).admit(float(text)), text
    assert not any(found.fullmatch(text) for text in ("-0", "-0.0", "1.", ".5", "1e3", "01.5", ""))


@given(STATED, st.booleans(), st.data())
def test_what_is_written_keeps_its_bounds_once_it_is_read(stated: dict[str, Any], whole: bool, data: Any) -> None:
    found = pattern(stated, whole=whole)
    assume(found != NONE)
    read = json.loads(data.draw(st.from_regex(found, fullmatch=True, alphabet=st.sampled_from("-.0123456789"))))
    assume(math.isfinite(read))
    low, high = stated.get("minimum", -math.inf), stated.get("maximum", math.inf)
    above, below = stated.get("exclusiveMinimum", -math.inf), stated.get("exclusiveMaximum", math.inf)
    assert low <= read <= high
    assert above < read < below
    assert isinstance(read, int) or not whole


def test_every_digit_of_a_long_bound_counts() -> None:
    for stated in ({"minimum": 123_456_789, "maximum": 123_465_001}, {"minimum": -98_765, "maximum": 1_000_000}):
        found = re.compile(pattern(stated, whole=True))
        for end in stated.values():
            for number in range(end - 1200, end + 1201):
                assert bool(found.fullmatch(str(number))) is (stated["minimum"] <= number <= stated["maximum"])
    assert re.fullmatch(pattern({"minimum": 0.125, "maximum": 0.25}, whole=False), "0.1250")
    assert not re.fullmatch(pattern({"minimum": 0.125, "maximum": 0.25}, whole=False), "0.1249")


def test_few_multiples_are_listed() -> None:
    assert pattern({"minimum": -1, "maximum": 1, "multipleOf": 0.5}, whole=False) == r"-1|-0\.5|0|0\.5|1"
    assert pattern({"exclusiveMinimum": 0, "maximum": 1, "multipleOf": 0.1}, whole=False).count("|") == 9
    assert pattern({"minimum": 1, "maximum": 20, "multipleOf": 7}, whole=True) == "7|14"
    assert pattern({"minimum": 3, "multipleOf": 1}, whole=False) == pattern({"minimum": 3}, whole=True)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"minimum": 5, "maximum": 3}, "no number keeps minimum 5, maximum 3"),
        ({"minimum": 1, "exclusiveMaximum": 1}, "no number keeps minimum 1, exclusiveMaximum 1"),
        ({"multipleOf": 7}, "multipleOf 7 is enforced where minimum and maximum leave at most 1000 values"),
        ({"multipleOf": 0.01, "minimum": 0, "maximum": 100}, "multipleOf 0.01 is enforced where"),
        ({"multipleOf": 0}, "multipleOf is above 0, got 0"),
        ({"minimum": "3"}, "minimum is a number, got '3'"),
        ({"exclusiveMaximum": True}, "exclusiveMaximum is a number, got 'True'"),
        ({"minimum": 10**400}, "minimum is 1000"),
        ({"maximum": math.inf}, "maximum is inf; bounds of a size between 1e-30 and 1e30"),
        ({"maximum": math.nan}, "maximum is nan"),
        ({"maximum": 1e-40}, "maximum is 1e-40"),
    ],
)
def test_what_is_not_enforced_is_refused_by_name(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(ConstraintError) as refused:
        Bounds.of(stated).pattern(whole=False)
    assert said in str(refused.value)


class Part(BaseModel):
    minimum: int = Field(ge=1, le=12)
    share: float | None = Field(ge=0, le=1)


class Whole(BaseModel):
    parts: list[Part] = Field(min_length=1, max_length=2)
    level: Literal[1, 2, 30]
    odd: int = Field(default=3, multiple_of=2)


SAID = {"parts": [{"minimum": 12, "share": 0.5}, {"minimum": 1, "share": None}], "level": 2, "odd": 7}


def test_bounds_hold_wherever_they_stand_in_a_schema() -> None:
    schema = Whole.model_json_schema()
    del schema["properties"]["odd"]["multipleOf"]
    schema["properties"]["level"]["maximum"] = 2
    schema["required"] = list(schema["properties"])
    found = re.compile(schema_pattern(schema, spaced=False, strict=True))

    def written(**changes: Any) -> str:
        return json.dumps({**SAID, **changes}, separators=(",", ":"))

    assert found.fullmatch(written())
    for part in ({"minimum": 13, "share": 0.5}, {"minimum": 0, "share": 0.5}, {"minimum": 3, "share": 1.01}):
        assert not found.fullmatch(written(parts=[part]))
        with pytest.raises(ValidationError):
            Part.model_validate(part)
    assert not found.fullmatch(written(level=30))


def test_a_model_of_pydantic_keeps_what_can_be_kept_and_leaves_the_rest_to_its_validation() -> None:
    constraint = JsonSchema(Whole)
    found = re.compile(to_pattern(constraint))
    assert found.fullmatch(json.dumps(SAID))
    assert not found.fullmatch(json.dumps(SAID).replace("12", "13"))
    assert to_decoder(constraint)
    with pytest.raises(ValidationError):
        Whole.model_validate(SAID)  # 7 is no multiple of 2


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#/$defs/A", "minimum": 2, "$defs": {"A": {"type": "integer"}}}, "minimum 2 stands beside no type"),
        ({"minimum": 2}, "stands beside no type"),
        ({"type": "integer", "enum": [1, 2], "minimum": 3}, "none of [1, 2] keeps minimum 3"),
        ({"type": "array", "items": {"type": "integer", "multipleOf": 3}}, "multipleOf 3 is enforced where"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "uniqueItems cannot be enforced"),
        ({"type": "object", "properties": {"a": {"type": "array", "contains": {"const": 1}}}}, "contains cannot be"),
        ({"type": "object", "if": {"required": ["a"]}}, "if cannot be enforced"),
        ({"type": "string", "not": {"const": "no"}}, "not cannot be enforced"),
        ({"type": "object", "minProperties": 1}, "minProperties cannot be enforced"),
        ({"allOf": [{"type": "integer", "minimum": 3}, {"type": "integer"}]}, "allOf of several cannot be"),
        ({"type": "string", "pattern": "[a-z]+", "maxLength": 3}, "a pattern beside minLength or maxLength"),
        ({"type": "string", "pattern": "x.*"}, "may write a quote"),
        ({"type": "string", "pattern": "[^a]"}, "may write a quote"),
        ({"type": "string", "pattern": "[A-z]"}, "may write a quote"),
        ({"type": "string", "pattern": r"a\x22"}, "may write a quote"),
        ({"type": "string", "pattern": "\\s"}, "may write a quote"),
        ({"type": "object", "properties": {'say "hi"': {"type": "integer"}}}, "JSON writes otherwise"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a", "z"]}, "required 'z' that is no property"),
        ({"type": "string", "enum": [1, "x"]}, "no text beside the type string"),
    ],
)
def test_a_schema_that_cannot_be_kept_is_refused_where_nobody_checks_the_answer(
    schema: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConstraintError) as refused:
        schema_pattern(schema, spaced=False, strict=True)
    assert said in str(refused.value)


def test_what_concerns_several_parts_is_left_to_whoever_checks_the_answer_and_names_are_no_keywords() -> None:
    unique = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    assert schema_pattern(unique, spaced=False, strict=False)
    assert schema_pattern({**unique, "uniqueItems": False}, spaced=False, strict=True)
    named = {"type": "object", "properties": {"if": {"type": "boolean"}}, "required": ["if"]}
    assert schema_pattern(named, spaced=False, strict=True)
    plain = {"type": "string", "pattern": r"[a-zA-Z_-]+ \d{2}\."}
    assert re.fullmatch(schema_pattern(plain, spaced=False, strict=True), '"a_B 12."')


def test_bounds_say_nothing_of_what_is_no_number_and_names_are_no_bounds() -> None:
    assert schema_pattern({"type": "string", "minimum": 3}, spaced=False, strict=True) == schema_pattern(
        {"type": "string"}, spaced=False, strict=True
    )
    named = {"type": "object", "properties": {"maximum": {"type": "boolean"}}, "required": ["maximum"]}
    assert re.fullmatch(schema_pattern(named, spaced=False, strict=True), '{"maximum":true}')
    either = schema_pattern({"type": ["integer", "null", "string"], "maximum": 3}, spaced=False, strict=True)
    assert [bool(re.fullmatch(either, text)) for text in ("3", "4", "null", '"a"')] == [True, False, True, True]
    data = {"type": "integer", "default": {"minimum": 3}, "maximum": 3}
    assert re.fullmatch(schema_pattern(data, spaced=False, strict=True), "-7")


def test_a_schema_that_grows_too_large_is_refused() -> None:
    step = {"type": "number", "minimum": 0, "maximum": 999, "multipleOf": 1.5}
    many = {
        "type": "object",
        "properties": {f"p{i}": step for i in range(90)},
        "required": [f"p{i}" for i in range(90)],
    }
    with pytest.raises(ConstraintError, match="more than 200000 characters"):
        schema_pattern(many, spaced=False, strict=True)
