"""What models write is read as far as it goes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.protocols.answers import fields_of, items_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@given(OBJECTS, st.none() | st.integers(0, 4))
def test_a_whole_object_is_read_however_it_is_indented(data: dict[str, Any], indent: int | None) -> None:
    assert fields_of(json.dumps(data, indent=indent)) == (data, True)


@given(OBJECTS, st.data(), st.none() | st.just(2))
def test_of_a_cut_object_the_beginning_is_read(data: dict[str, Any], draw: st.DataObject, indent: int | None) -> None:
    text = json.dumps(data, indent=indent)
    fields, whole = fields_of(text[: draw.draw(st.integers(0, len(text) - 1))])
    assert not whole
    assert [*fields] == [*data][: len(fields)]
    for name, value in fields.items():
        given = data[name]
        # Of the last list some first items may be there; every other value is whole.
        assert value == given or (isinstance(given, list) and value == given[: len(value)] and name == [*fields][-1])


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('{"a": ["x", "y"', ["x", "y"]), ('{"a": ["x", "y', ["x"]), ('{"a": [1, 23', [1]), ('{"b": {"a": [1', []),
        ('```json\n{"a": ["x"]}\n```', ["x"]), ('{"a": "x"}', []), ('{"a": 1', []), ('["x"]', []), ("", []),
        ("[" * 99_999, []), ('{"a":' * 9_999, []),
    ],
)  # fmt: skip
def test_the_items_of_a_list_that_is_not_whole(text: str, items: list[Any]) -> None:
    assert items_of(text, "a") == (items, False)
