"""What models can be held to: every accepted schema compiles and admits what is meant; the rest is refused."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, Field, create_model

from tape.lm.base import JsonSchema
from tape.lm.hosted.forms import form_of, portable
from tape.world import Context, WorldError
from tape.world.schema import SchemaAnswer, brief, choices, writable
from tape.world.state import StateType
from tests.profiles import examples
from tests.tape.lm.decoded import admits


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Spot(BaseModel):
    """Where something is."""

    row: int
    name: str = "here"


class Nest(BaseModel):
    inside: list[Nest] = []


WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters='"\\\x7f'), max_size=5).filter(
    lambda text: not re.search("[\x7f-\x9f]", text)
)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (bool, st.booleans()), (int, st.integers(-999, 999)), (Annotated[int, Field(ge=0, le=9)], st.integers(0, 9)),
    (float, st.integers(-99, 99).map(lambda n: n / 4)), (str, WORDS),
    (Literal["up", "down (2)"], st.sampled_from(["up", "down (2)"])), (Literal[1, 2], st.sampled_from([1, 2])),
    (Colour, st.sampled_from(list(Colour))), (date, st.dates(min_value=date(1000, 1, 1))), (type(None), st.none()),
]  # fmt: skip


def several(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Types made of others, with their values."""

    def model(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        made = create_model("Part", **{f"f{i}": (kind, ...) for i, (kind, _) in enumerate(parts)})  # type: ignore[call-overload]
        return made, st.tuples(*(value for _, value in parts)).map(
            lambda row: made(**{f"f{i}": value for i, value in enumerate(row)})
        )

    return st.one_of(
        inner.map(lambda part: (list[part[0]], st.lists(part[1], max_size=2))),  # type: ignore[valid-type]
        inner.map(lambda part: (tuple[part[0], part[0]], st.tuples(part[1], part[1]))),  # type: ignore[name-defined]
        inner.map(lambda part: (Optional[part[0]], st.none() | part[1])),  # noqa: UP045
        st.lists(inner, min_size=1, max_size=3).map(model),
    )


TYPES = st.recursive(st.sampled_from(LEAVES), several, max_leaves=4)


@examples(200)
@given(TYPES, st.data())
def test_every_accepted_state_is_admitted_and_read_back(part: tuple[Any, Any], data: st.DataObject) -> None:
    kind, values = part
    model = create_model("State", value=(kind, ...), seen=(Annotated[list[str], Context], []))
    states = StateType(model)
    text = states.write(model(value=data.draw(values), seen=["a"]))
    assert states.write(states.read(text)) == text
    outcome = create_model("Outcome", __base__=SchemaAnswer, state=(states.predicted, ...))
    written = json.dumps({"state": json.loads(states.key(text))}, ensure_ascii=False)
    assert admits(JsonSchema(outcome), written) == [True]
    assert states.after(text, outcome.model_validate_json(written).state) == text  # type: ignore[attr-defined]
    form = form_of(JsonSchema(outcome), frozenset())
    assert form.value == outcome.model_json_schema() == portable(form.value)


def objects(schema: Any) -> list[dict[str, Any]]:
    result = [schema] if isinstance(schema, dict) and schema.get("type") == "object" else []
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return result + [item for part in inner for item in objects(part)]


def test_schemas_are_as_strict_as_the_strictest_endpoint_wants_them() -> None:
    model = create_model("State", spots=(list[Spot], ...), best=(Spot | None, ...))
    schema = StateType(model).predicted.model_json_schema()
    assert len(objects(schema)) == 3
    assert all(o["required"] == list(o["properties"]) and o["additionalProperties"] is False for o in objects(schema))
    assert not re.search(r'"(\$ref|\$defs|default|title|oneOf|uniqueItems)"', json.dumps(schema))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (dict[str, int], "a dict has no fixed names"), (dict, "a dict has no fixed names"),
        (Any, "anything may stand here"), (list[Any], r"State.value\[\]: anything may stand here"),
        (list, "anything may stand here"), (Nest, "Nest holds itself"), (tuple[int, str], "tuples of different types"),
        (AnyUrl, "the format 'uri'"), (bytes, "the format 'binary'"), (timedelta, "the format 'duration'"),
        (Annotated[str, Field(pattern=re.compile("^(?!x)a$"))], "lookarounds"),
        (Annotated[str, Field(json_schema_extra={"not": {"const": "x"}})], "do not enforce 'not'"),
    ],
)  # fmt: skip
def test_what_cannot_be_enforced_is_refused_by_its_place(kind: Any, message: str) -> None:
    with pytest.raises(WorldError, match=message) as refused:
        StateType(create_model("State", value=(kind, ...)))
    assert str(refused.value).startswith("State.value")
    StateType(create_model("State", value=(Annotated[kind, Context], ...), other=(int, 0)))  # context is not predicted


def test_values_are_listed_where_they_are_finite() -> None:
    def listed(**fields: Any) -> Any:
        return choices(writable(create_model("A", **fields).model_json_schema(), "A"))

    assert listed() == [{}]
    assert listed(a=(bool, ...), b=(Literal["x"], ...)) == [{"a": False, "b": "x"}, {"a": True, "b": "x"}]
    assert listed(a=(Annotated[int, Field(gt=1, lt=4)], ...)) == [{"a": 2}, {"a": 3}]
    assert listed(a=(Colour | None, None)) == [{"a": "red"}, {"a": "blue"}, {"a": None}]
    for kind in (int, str, Annotated[int, Field(ge=0, le=100)], list[bool], Spot, str | None):
        assert listed(a=(kind, ...)) is None


def test_sets_of_few_things_have_an_end() -> None:
    model = create_model("State", seen=(frozenset[Colour], ...), names=(frozenset[str], ...), some=(list[Colour], ...))
    schema = StateType(model).predicted.model_json_schema()["properties"]
    assert [part.get("maxItems") for part in schema.values()] == [2, None, None]


def test_schemas_are_described_in_a_few_words() -> None:
    few = Annotated[int, Field(ge=0, le=3)]
    model = create_model("A", a=(Colour, ...), b=(list[Spot], ...), c=(few, ...), d=(datetime | None, ...))
    wanted = '{a: "red" | "blue", b: [{row: integer, name: string}, ...], c: integer from 0 to 3, d: string | null}'
    assert brief(writable(model.model_json_schema(), "A")) == wanted
