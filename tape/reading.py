"""The one reader of JSON from outside: episodes, traces, configurations, graphs, prices, caches, games and data sets.

A file that somebody else wrote may be cut off, enormous, deeper than the interpreter's stack, or hold numbers and
texts that break whoever writes them out again. All that is refused here, with file, line and field, so that no loader
has to think of it: JSON is read within bounds (:func:`parse_json`), then checked against a type (:func:`shaped`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, overload

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from tape.errors import DataError, TapeError

T = TypeVar("T")

MOST_BYTES = 256 << 20
"""Largest file that is read as a whole, and largest line of a file that is read by lines."""
MOST_DEPTH = 100
"""Deepest nesting of lists and objects. Far below where the interpreter's stack ends."""
MOST_DIGITS = 400
"""Longest whole number: a float reaches 309 digits, and conversion takes time that grows with the square."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BETWEEN_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[^\[\]{}"]++', re.DOTALL)
"""Strings, cut-off ones too, and whatever else is no bracket."""


def read_text(path: Path, *, error: type[TapeError] = DataError) -> str:
    """The text of a UTF-8 file.

    Args:
        path: The file; a byte-order mark at its start is skipped.
        error: What to raise.

    Raises:
        TapeError: ``error``: it cannot be opened, is larger than :data:`MOST_BYTES` or is no UTF-8.
    """
    return _decoded(_read_bytes(path, error), str(path), error).removeprefix("\ufeff")


def parse_json(text: str | bytes, where: str, *, error: type[TapeError] = DataError) -> Any:
    """Read JSON within bounds: size, nesting, length of numbers; no ``NaN``, no infinity, no lone surrogates.

    Args:
        text: JSON.
        where: Where it stands, for messages: a file, perhaps with a line.
        error: What to raise.

    Raises:
        TapeError: ``error``: it is no JSON or beyond the bounds; says where.
    """
    if isinstance(text, bytes):
        text = _decoded(text, where, error)
    if len(text) > MOST_BYTES:
        raise error(f"{where}: longer than {MOST_BYTES} characters, which is the most that is read")
    if _depth_beyond(text, MOST_DEPTH):
        raise error(f"{where}: lists and objects are nested deeper than {MOST_DEPTH}, which is the most that is read")
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno}, " if "\n" in text else ""
        raise error(f"{where}: no JSON: {problem.msg} at {line}column {problem.colno}") from problem
    except ValueError as problem:
        raise error(f"{where}: {problem}") from problem
    if (_ESCAPED_SURROGATE.search(text) or _SURROGATE.search(text)) and (found := _surrogate(value, "")) is not None:
        raise error(f"{where}: {_field(found)}half of a surrogate pair, which is no text and cannot be written again")
    return value


@overload
def read_json(path: Path, shape: None = None, *, error: type[TapeError] = DataError) -> Any: ...
@overload
def read_json(path: Path, shape: type[T], *, error: type[TapeError] = DataError) -> T: ...
def read_json(path: Path, shape: type[T] | None = None, *, error: type[TapeError] = DataError) -> T | Any:
    """The JSON value that a file holds.

    Args:
        path: The file.
        shape: What it must be: any type that pydantic checks, strictly. None takes any value.
        error: What to raise.

    Raises:
        TapeError: ``error``: it cannot be read, is no JSON, is beyond the bounds or not of the shape; names the field.
    """
    value = parse_json(read_text(path, error=error), str(path), error=error)
    return value if shape is None else shaped(value, shape, str(path), error=error)


@overload
def json_lines(
    path: Path, shape: None = None, *, whole: bool = False, error: type[TapeError] = DataError
) -> Iterator[tuple[int, Any]]: ...
@overload
def json_lines(
    path: Path, shape: type[T], *, whole: bool = False, error: type[TapeError] = DataError
) -> Iterator[tuple[int, T]]: ...
def json_lines(
    path: Path, shape: type[T] | None = None, *, whole: bool = False, error: type[TapeError] = DataError
) -> Iterator[tuple[int, T | Any]]:
    """The values of a JSON Lines file, each with the number of its line; empty lines are skipped.

    Args:
        path: The file.
        shape: What every line must be: any type that pydantic checks, strictly. None takes any value.
        whole: Skip a last line without an end: in files that are appended to, a kill leaves one.
        error: What to raise.

    Raises:
        TapeError: ``error``: as :func:`read_json`, with the line.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MOST_BYTES + 1):
                number += 1
                where = f"{path}:{number}"
                if len(line) > MOST_BYTES:
                    raise error(f"{where}: longer than {MOST_BYTES} bytes, which is the most that is read")
                if whole and not line.endswith(b"\n"):
                    return
                if line.strip():
                    value = parse_json(line.removesuffix(b"\n"), where, error=error)
                    yield number, value if shape is None else shaped(value, shape, where, error=error)
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from problem


def shaped(value: Any, shape: type[T], where: str, *, error: type[TapeError] = DataError) -> T:
    """A value as the type that it must be; nothing is converted but lists to tuples and objects to models.

    Args:
        value: What :func:`parse_json` returned.
        shape: Any type that pydantic checks.
        where: Where it stands, for messages.
        error: What to raise.

    Raises:
        TapeError: ``error``: names the first field that is wrong, and what is wrong with it.
    """
    try:
        # As JSON, since only there a strict check takes a list for a tuple.
        found: T = _adapter(shape).validate_json(json.dumps(value), strict=True)
        return found
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise error(f"{where}: {_field(path)}{first['msg'][:1].lower()}{first['msg'][1:]}") from problem


@lru_cache(maxsize=256)
def _adapter(shape: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(shape, config=ConfigDict(allow_inf_nan=False))
    except PydanticUserError:  # models and dataclasses have a configuration of their own
        return TypeAdapter(shape)


def _read_bytes(path: Path, error: type[TapeError]) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)  # of a device or pipe, stat tells no size
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from problem
    if len(data) > MOST_BYTES:
        raise error(f"{path}: larger than {MOST_BYTES} bytes, which is the most that is read")
    return data


def _decoded(data: bytes, where: str, error: type[TapeError]) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{where}: no UTF-8 text: byte 0x{data[problem.start]:02x} in line {line}") from problem


def _depth_beyond(text: str, most: int) -> bool:
    """Whether brackets outside of strings nest deeper than ``most``; without the interpreter's stack."""
    if text.count("[") + text.count("{") <= most:
        return False
    brackets = _BETWEEN_BRACKETS.sub("", text)
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) > most


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(
            f"a whole number of {len(digits)} digits ({digits[:20]}...); the most that is read is {MOST_DIGITS}"
        )
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is beyond what a float holds")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _surrogate(value: Any, path: str) -> str | None:
    """The path to the first text that holds half of a surrogate pair; None if there is none."""
    if isinstance(value, str):
        return path if _SURROGATE.search(value) else None
    inside: Iterator[tuple[Any, Any]] | list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        if any(_SURROGATE.search(key) for key in value):
            return path
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    for key, held in inside:
        found = _surrogate(held, f"{path}.{key}" if path else str(key))
        if found is not None:
            return found
    return None


def _field(path: str) -> str:
    return f"field {path}: " if path else ""
