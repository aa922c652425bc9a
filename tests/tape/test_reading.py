"""The one reader of JSON: bounds, messages of errors, and what is written can be read again."""

import json
import math
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape import reading
from tape.errors import ConfigError, DataError, TraceError
from tape.reading import (
    MOST_DEPTH,
    MOST_DIGITS,
    is_storable,
    json_lines,
    parse_json,
    read_json,
    shaped,
    short,
    storable,
)
from tests.profiles import examples
from tests.tape.mutations import mutated

PARTS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    PARTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@examples(200)
@given(VALUES | st.just("\ud800"))
def test_what_is_within_bounds_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert parse_json(text, "here", surrogates=True) == json.loads(text) == value
    assert is_storable(text) or "NaN" in text or "Infinity" in text
    assert value == "\ud800" or storable(value) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "here: no JSON: Expecting value at column 1"),
        ("[1,\n2", "here: no JSON: Expecting ',' delimiter at line 2, column 2"), ("NaN", "here: NaN is no number"),
        ("[-Infinity]", "here: -Infinity is no number"),
        ("1e999", "here: the number 1e999 is beyond what a float holds"),
        ("9" * 309, "here: a whole number of 309 digits"), ("9" * 100_000, "here: a whole number of 100000 digits"),
        ("[" * 100_000, f"nested deeper than {MOST_DEPTH}"),
        ('{"a":' * 101 + "1" + "}" * 101, f"nested deeper than {MOST_DEPTH}"),
        ('{"a": ["b", "\\ud800"]}', "here: field a.1: half of a surrogate pair"),
        ('{"\\udfff": 1}', "here: half of a surrogate pair"),
        ('{"' + "x" * 5000 + '": "\\ud800"}', f"here: field {'x' * 80} ... {'x' * 80}: half of a surrogate pair"),
        (b'["\xff"]', "here: no UTF-8 text: byte 0xff in line 1"), (b"\xed\xa0\x80", "here: no UTF-8 text"),
    ],
)  # fmt: skip
def test_what_is_beyond_the_bounds_is_named(text: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        parse_json(text, "here")
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_bounds_are_exact_and_strings_do_not_count() -> None:
    for opened, closed in (("[", "]"), ('{"a":', "}")):
        parse_json(opened * MOST_DEPTH + "1" + closed * MOST_DEPTH, "here")
    for text in ('"' + "[" * 500 + '"', '["\\"' + "{" * 500 + '"]', '["a]]","[[\\\\"' + ",[]" * 500 + "]"):
        assert parse_json(text, "here") == json.loads(text)
    assert float(parse_json("9" * MOST_DIGITS, "here")) < math.inf
    assert parse_json('"\\ud83d\\ude00"', "here") == "😀"
    assert parse_json('"\\ud800"', "here", surrogates=True) == "\ud800"


def test_too_many_values_and_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "MOST_VALUES", 10)
    with pytest.raises(DataError, match="more than 10 values"):
        parse_json("[" + "1," * 20 + "1]", "here")
    monkeypatch.setattr(reading, "MOST_BYTES", 20)
    file = tmp_path / "a.json"
    file.write_text(json.dumps("x" * 30))
    with pytest.raises(DataError, match=r"a\.json: larger than 20 bytes"):
        read_json(file)
    with pytest.raises(DataError, match=r"a\.json:1: longer than 20 bytes"):
        list(json_lines(file))


@dataclass(frozen=True)
class Shape:
    name: str
    parts: tuple[tuple[str, int], ...] = ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "here: field name: field required"),
        ({"name": 3}, "here: field name: input should be a valid string, got 3"),
        ({"name": None}, "got null"),
        ({"name": "a", "parts": [["b", True]]}, "here: field parts.0.1: input should be a valid integer, got true"),
        ({"name": "a", "parts": [["b", "x" * 500]]}, "got 'xxxx"),
        ({"name": "a", "parts": {"b": 1}}, "here: field parts: input should be a valid array, got an object"),
    ],
)
def test_the_first_field_that_is_wrong_is_named(value: Any, message: str) -> None:
    with pytest.raises(TraceError) as error:
        shaped(value, Shape, "here", error=TraceError)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_lists_become_tuples_and_nothing_else_is_converted() -> None:
    assert shaped({"name": "a", "parts": [["b", 1]]}, Shape, "here") == Shape("a", (("b", 1),))
    assert shaped([1.0, 2], list[float], "here") == [1.0, 2.0]
    for wrong, shape in ((["1"], list[int]), ([1], list[str]), ([1.5], list[int])):
        with pytest.raises(DataError):
            shaped(wrong, shape, "here")


def test_what_to_do_can_be_added(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read: No such file or directory; make one first"):
        read_json(tmp_path / "none.json", error=lambda problem: ConfigError(f"{problem}; make one first"))


def test_lines_are_numbered_and_a_torn_one_can_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1}\n\n  \n[2]\n{"a"')
    assert list(json_lines(file, whole=True)) == [(1, {"a": 1}), (4, [2])]
    with pytest.raises(DataError, match=r"a\.jsonl:5: no JSON"):
        list(json_lines(file))


def test_only_files_are_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # without a writer: to open it would wait for ever
    for path, message in (
        (pipe, "is a pipe or device, not a file"),
        (tmp_path, "is a folder, not a file"),
        (Path("/dev/zero"), "is a pipe or device, not a file"),
        (tmp_path / "x\0y", "can be the name of no file"),
        (tmp_path / ("x" * 5000), "cannot be read"),
    ):
        with pytest.raises(DataError, match=message):
            read_json(path)
        with pytest.raises(DataError, match=message):
            list(json_lines(path))


ODD = st.recursive(
    PARTS | st.floats() | st.integers(300, 5000).map(lambda n: -(10**n)) | st.sampled_from(["\ud800", "\udfff\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@examples(80)
@given(ODD, st.sampled_from([0, 0, 0, 59, 61, 3000]))
def test_what_is_stored_can_be_read_again(value: Any, depth: int) -> None:
    for _ in range(depth):
        value = [value]
    kept = storable(value)
    assert parse_json(json.dumps(kept), "here") == kept
    assert storable(kept) == kept


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", "9" * 400, "[" * 101])
def test_texts_that_may_be_unreadable_are_known(text: str) -> None:
    assert not is_storable(text)


def test_values_in_messages_are_short_and_in_one_line() -> None:
    for value in (None, True, 10**5000, -(10**81), "x" * 999, "a\nb\x1b", "\ud800", {"a": 1}, [1], 1e308, object()):
        assert len(short(value)) < 100
        assert short(value).isprintable()


def test_changed_texts_are_read_or_refused_as_the_standard_library_does() -> None:
    rng = random.Random(3)
    value = {"a": [1, 2.5, "x", None, {"b": [True, "é\ud83d\ude00"]}], "c": {"d": -3, "e": "y" * 50}}
    valid, read = json.dumps(value).encode(), 0
    for _ in range(300):
        changed = mutated(rng, valid)
        try:
            result = parse_json(changed, "here")
        except DataError:
            continue
        read += 1
        assert result == json.loads(changed)
    assert 50 < read < 300
