"""TOML from outside: bounds, and the lines of fields, against a reference that parses every beginning of the file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.errors import DataError
from tape.reading import MOST_DEPTH, MOST_DIGITS
from tape.toml_reading import MOST_TOML, line_of, parse_toml, statements
from tests.profiles import examples

NAMES = st.sampled_from(["a", "b", "c-d", "1", '"e.f"', "'g#h'", r'"\u0069"'])
KEYS = st.lists(NAMES, min_size=1, max_size=3).map(
    lambda parts: " . ".join(parts) if len(parts) == 2 else ".".join(parts)
)
TEXTS = ['"text # none"', r'"\"["', "'''\n[x]\ny = ''1\n'''", '"""\na = 1\n[b]\\"""\n"""', "'[not, {an array'"]
VALUES = st.recursive(
    st.sampled_from(["1", "-1.5", "1979-05-27T07:32:00Z", "true", *TEXTS, '"""two quotes"" ends"""""']),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: "[ # a comment ]\n" + ",\n".join(parts) + "\n]")
        | st.tuples(NAMES, inner).map(lambda pair: f"{{ {pair[0]} = {pair[1]} }}")
    ),
    max_leaves=4,
)
STATEMENTS = (
    st.tuples(KEYS, VALUES).map(" = ".join)
    | KEYS.map("[{}]".format)
    | KEYS.map(" [[ {} ]] # array".format)
    | st.sampled_from(["", "# comment = [", "   "])
)


def by_parsing(text: str, path: Sequence[str | int]) -> int:
    """The same as :func:`line_of`, in time that grows with the square of the file."""
    lines = text.split("\n")
    best, line, begun = 0, 1, 0
    for number in range(1, len(lines) + 1):
        try:
            index = followed(tomllib.loads("\n".join(lines[:number])), path)
        except tomllib.TOMLDecodeError:
            continue
        if index > best:
            best = index
            line = next(i for i in range(begun, number) if lines[i].strip() and lines[i].strip()[0] != "#") + 1
        begun = number
    return line


def followed(value: Any, path: Sequence[str | int]) -> int:
    for depth, key in enumerate(path):
        inside = isinstance(value, dict) and key in value
        if not inside and not (isinstance(value, list) and isinstance(key, int) and key < len(value)):
            return depth
        value = value[key]
    return len(path)


def paths(value: Any) -> list[tuple[str | int, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *path) for key, held in inside for path in paths(held))]


def valid(lines: Sequence[str]) -> str:
    """As many of the lines as make a valid document."""
    kept: list[str] = []
    for line in lines:
        try:
            tomllib.loads("\n".join([*kept, line]))
        except tomllib.TOMLDecodeError:
            continue
        kept.append(line)
    return "\n".join(kept)


@examples(150)
@given(st.lists(STATEMENTS, max_size=12))
def test_lines_are_those_that_parsing_every_beginning_finds(lines: list[str]) -> None:
    text = valid(lines)
    for path in paths(tomllib.loads(text)):
        assert line_of(text, path) == by_parsing(text, path), path
        assert line_of(text, (*path, "missing")) == by_parsing(text, (*path, "missing")), path


@examples(150)
@given(st.text(alphabet="[]{}=,.\n\"'#\\a1_- ", max_size=60))
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    list(statements(text))
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(DataError, match=r"here:[0-9]+: no TOML: "):
            parse_toml(text, "here")
    else:
        assert parse_toml(text, "here") == expected


DEEP = f"nested deeper than {MOST_DEPTH}"
LETTERS = ".".join("a" * 3000)
BOTH = "[" + ".".join("a" * 90) + "]\n" + ".".join("b" * 90) + " = 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = " + "9" * 5000, "here:2: a whole number of 5000 digits"),
        ("a = 1\nb = [\n" + "1_" * 400 + "1]", f"here:2: a .* of 801 digits; the most that is read is {MOST_DIGITS}"),
        ("a = 0x" + "f" * 5000, "here:1: field a: a whole number of more than"),
        ("[t]\nc = " + "[" * 3000, f"here:2: {DEEP}"), ("[t]\nc = " + "[" * 3000 + "]" * 3000, f"here:2: {DEEP}"),
        ("c = " + "{a=" * 3000 + "1" + "}" * 3000, f"here:1: {DEEP}"), (f"\n{LETTERS} = 1", f"here:2: {DEEP}"),
        (f"[{LETTERS}]", f"here:1: {DEEP}"), (f"c = {{{LETTERS} = 1}}", f"here:1: {DEEP}"),
        (BOTH, f"here:2: field .*{DEEP}"), ("a = 1\n[t]\nb = [1.0, inf]", "here:3: field t.b.1: inf is no number"),
        ("a = -nan", "here:1: field a: nan is no number"), ("a = 1e999", "here:1: field a: inf is no number"),
        ("a = 1\nb = ", "here:2: no TOML: "), ("a = 1\na = 2", "here:"),
        ("#" * (MOST_TOML + 1), f"longer than {MOST_TOML} characters"),
        ('a = "\\' + '"\\' * 100_000 + "[" * 101, "here:1: no TOML"), ("a = TQ" * 100_000 + "[" * 101, "here:"),
    ],
)  # fmt: skip
def test_what_is_beyond_the_bounds_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_toml(text, "here")


def test_what_is_within_the_bounds_is_read() -> None:
    lines = ["a = " + "[" * 99 + "]" * 99, "b = " + "9" * MOST_DIGITS, f"c = '{'9' * 5000}'", f"d = [{'1.5, ' * 9999}]"]
    text = "\n".join(lines)
    assert parse_toml(text, "here") == tomllib.loads(text)


@pytest.mark.timeout(20)
def test_the_last_field_of_a_large_file_has_its_line() -> None:
    text = "".join(f'[servers.s{i}]\ncommand = ["x", """\n[y]"""] # {i}\n\n' for i in range(3_000))
    assert len(text.encode()) < MOST_TOML
    assert line_of(text, ("servers", "s2999", "command", 0)) == 4 * 3_000 - 2
    assert line_of(text, ("servers", "s2999", "missing")) == 4 * 3_000 - 3
    assert json.dumps(parse_toml(text, "here"))
