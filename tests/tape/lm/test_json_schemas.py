"""What masks admit of a JSON schema: its bounds, its layout, its formats; compared with what pydantic reads."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, create_model

from tape.errors import ConstraintError
from tape.lm.base import JsonSchema
from tests.profiles import examples
from tests.tape.lm.decoded import admits

BOUNDS = ("ge", "gt", "le", "lt")
ENDS = st.integers(-150, 150) | st.integers(-1500, 1500).map(lambda n: n / 100) | st.sampled_from([1e-7, 1e16, -2.5e9])
STATED = st.fixed_dictionaries({}, optional=dict.fromkeys(BOUNDS, ENDS)).filter(bool)


def of(kind: Any) -> JsonSchema:
    return JsonSchema(RootModel[kind])


def keeps(number: float, stated: dict[str, float]) -> bool:
    low, above = stated.get("ge", -math.inf), stated.get("gt", -math.inf)
    high, below = stated.get("le", math.inf), stated.get("lt", math.inf)
    return low <= number <= high and above < number < below


def plain(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".") if number % 1 else f"{number:.0f}"


def judged(constraint: JsonSchema, texts: list[str]) -> list[bool]:
    """As for :func:`admits`; where no number keeps the bounds, none is admitted."""
    try:
        return admits(constraint, *texts)
    except ConstraintError:
        return [False] * len(texts)


@examples(60)
@given(STATED)
def test_whole_numbers_within_their_bounds_and_no_others(stated: dict[str, Any]) -> None:
    stated = {name: math.floor(end) for name, end in stated.items()}
    constraint = of(Annotated[int, Field(**stated)])
    for number, fits in zip(range(-160, 161), judged(constraint, [*map(str, range(-160, 161))]), strict=True):
        assert fits is keeps(number, stated), number
    assert not any(judged(constraint, ["00", "01", "+1", "1.0", "1e0", ""]))


@examples(60)
@given(STATED, st.lists(st.integers(-1600, 1600), min_size=40, max_size=40))
def test_decimal_numbers_within_their_bounds_and_no_others(stated: dict[str, Any], near: list[int]) -> None:
    ends = [end + add for end in stated.values() for add in (0, 0.01, -0.01, 1, -1)]
    texts = [plain(number) for number in (*(n / 100 for n in near), *ends) if abs(number) < 1e6]
    constraint = of(Annotated[float, Field(**stated)])
    in_full = judged(constraint, [f"{float(text):.2f}" for text in texts])
    for text, fits, padded in zip(texts, judged(constraint, texts), in_full, strict=True):
        # llguidance 1.9 refuses 4.2 beside a bound of 4.21 and admits 4.20.
        assert (fits or padded) is keeps(float(text), stated) or text == "-0", text
    assert not any(judged(constraint, ["1.", ".5", "1e3", "01.5", ""]))


def test_multiples_are_kept() -> None:
    texts = [*map(str, range(-21, 22))]
    for step in (1, 7):
        assert admits(of(Annotated[int, Field(multiple_of=step)]), *texts) == [int(text) % step == 0 for text in texts]
    halves = of(Annotated[float, Field(ge=0, multiple_of=0.5)])
    assert admits(halves, "0.5", "1", "0.4", "-0.5") == [True, True, False, False]


class Part(BaseModel):
    minimum: int = Field(ge=1, le=12)
    share: float | None = Field(ge=0, le=1)


class Whole(BaseModel):
    """Bounds beside a field that is called as one."""

    parts: list[Part] = Field(min_length=1, max_length=2)
    level: Literal[1, 2, 30]
    word: str = Field(max_length=3)
    name: str = Field(pattern="[a-z]+|A")


PARTS = [{"minimum": 12, "share": 0.5}, {"minimum": 1, "share": None}]
RIGHT = {"parts": PARTS, "level": 2, "word": "é😀a", "name": "A"}


@pytest.mark.parametrize(
    ("changed", "fits"),
    [
        ({}, True), ({"parts": []}, False), ({"parts": PARTS[:1] * 3}, False),
        ({"parts": [{"minimum": 13, "share": 0.5}]}, False), ({"parts": [{"minimum": 3, "share": 1.01}]}, False),
        ({"parts": [{"minimum": 3}]}, False), ({"parts": [{"minimum": 3, "share": None, "more": 1}]}, False),
        ({"level": 3}, False), ({"word": "abcd"}, False), ({"word": '"\\\n'}, True), ({"name": "1abc"}, False),
        ({"name": "abc"}, True), ({"more": 1}, False),
    ],
)  # fmt: skip
def test_bounds_hold_wherever_they_stand_in_a_schema(changed: dict[str, Any], fits: bool) -> None:
    text = json.dumps({**RIGHT, **changed}, ensure_ascii=False)
    assert admits(JsonSchema(Whole), text) == [fits]
    if fits:
        Whole.model_validate_json(text)


def test_json_has_the_layout_that_models_have_read() -> None:
    written = json.dumps(RIGHT, ensure_ascii=False)
    layouts: list[dict[str, Any]] = [{"separators": (",", ":")}, {"indent": 1}]
    others = [json.dumps(RIGHT, ensure_ascii=False, **layout) for layout in layouts]
    others += [json.dumps(dict(reversed(RIGHT.items())), ensure_ascii=False), written + " ", written[:-1]]
    others += [json.dumps(RIGHT)]  # what needs no escape has none
    assert admits(JsonSchema(Whole), written, *others) == [True, *[False] * len(others)]


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=8))
def test_every_text_is_admitted_as_json_writes_it(text: str) -> None:
    assume("\x7f" not in text)
    assert admits(of(str), json.dumps(text, ensure_ascii=False)) == [True]


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (r"^\d{3}$", ["123", "12\u0663"], ["1234", "12"]),
        (r"\w+ \S", ["é x", "ab c"], [" x", "ab "]),
        ("^(a|b$)", ["a", "b"], ["ab", ""]),
        (r'[^a]"\\', ['b"\\', '\n"\\'], ['a"\\', 'b"']),
    ],
)
def test_patterns_mean_what_python_makes_of_them_as_a_whole(pattern: str, right: list[str], wrong: list[str]) -> None:
    texts = [json.dumps(text, ensure_ascii=False) for text in (*right, *wrong)]
    constraint = of(Annotated[str, Field(pattern=pattern)])
    assert admits(constraint, *texts) == [*[True] * len(right), *[False] * len(wrong)]


def test_what_masks_do_not_know_of_a_schema_is_left_to_the_reader() -> None:
    constraint = of(frozenset[int])
    assert admits(constraint, "[1, 2]", "[1, 1]", '["a"]') == [True, True, False]


def test_models_that_hold_themselves_and_unions_are_decoded() -> None:
    class Nest(BaseModel):
        inside: list[Nest]

    assert admits(JsonSchema(Nest), '{"inside": [{"inside": []}]}', '{"inside": [1]}') == [True, False]
    model, two = (create_model(n, kind=(Literal[n], ...), **{n: (int, ...)}) for n in ("a", "b"))  # type: ignore[call-overload, valid-type]
    union = of(Annotated[model | two, Field(discriminator="kind")])
    assert admits(union, '{"kind": "a", "a": 1}', '{"kind": "b", "a": 1}') == [True, False]


def test_a_schema_that_cannot_be_decoded_is_refused() -> None:
    class Ahead(BaseModel):
        name: str = Field(json_schema_extra={"pattern": "(?=a)a"})

    with pytest.raises(ConstraintError, match="look-around"):
        admits(JsonSchema(Ahead), "{}")
