"""The one reader of JSON from outside: episodes, traces, configurations, graphs, prices, caches, games and data sets.

A file from outside may be truncated, enormous, deeper than the interpreter's stack, or hold numbers and texts that
cannot be written out again. All that is refused here, with file, line and field, so that no loader has to check it:
JSON is read within bounds (:func:`parse_json`), then checked against a type (:func:`shaped`). TOML is read by
:mod:`tape.toml_reading`, within the same bounds.

In all functions `where` is the place for messages, `shape` any type that pydantic checks, strictly (None takes any
value), and `error` makes what is raised. With `surrogates` halves of surrogate pairs pass, where texts are kept as a
model wrote them.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar, cast, overload

from tape.errors import DataError, InvalidOutputError, TapeError

if TYPE_CHECKING:  # else every user of short() would load it
    from pydantic import BaseModel, TypeAdapter, ValidationError

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")
Problem: TypeAlias = Callable[[str], TapeError]
"""Makes the error to be raised of what is wrong and where: a class, or a function that adds what to do about it."""

MOST_BYTES = 256 << 20
"""Largest file that is read as a whole, and largest line of a file that is read by lines."""
MOST_VALUES = 5_000_000
"""Most values in one text of JSON: a value takes up to 200 bytes of memory, however few it takes in the file."""
MOST_DEPTH = 100
"""Deepest nesting of lists and objects. Far below where the interpreter's stack ends."""
MOST_DIGITS = 308
"""Longest whole number: a float still holds all of these, and conversion takes time that grows with the square."""

MOST_NESTED = 60
"""Deepest nesting of a value that is written, which leaves some depth for what it is written into."""
MOST_NUMBER = 10**300
"""Largest whole number that is written: of several, the sum is still within what a float holds."""
MOST_SHOWN = 80
"""Characters of a wrong value in a message."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NO_NUMBER = re.compile("NaN|Infinity")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
_ONE_KIND = str.maketrans("{}", "[]")
_LONG = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}")


def read_text(path: Path, *, error: Problem = DataError) -> str:
    """The text of a UTF-8 file."""
    return _decoded(read_bytes(path, error=error), str(path), error).removeprefix("\ufeff")


def read_bytes(path: Path, *, error: Problem = DataError) -> bytes:
    """The content of a file."""
    with _opened(path, error) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise error(f"{path}: larger than {MOST_BYTES} bytes, which is the most that is read")
    return data


def parse_json(text: str | bytes, where: str, *, surrogates: bool = False, error: Problem = DataError) -> Any:
    """Read JSON within bounds: size, nesting, length of numbers; no ``NaN``, no infinity, no lone surrogates."""
    if isinstance(text, bytes):
        text = _decoded(text, where, error)
    if len(text) > MOST_BYTES:
        raise error(f"{where}: longer than {MOST_BYTES} characters, which is the most that is read")
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise error(f"{where}: more than {MOST_VALUES} values, which is the most that is read")
    if _depth_beyond(text, MOST_DEPTH):
        raise error(f"{where}: lists and objects are nested deeper than {MOST_DEPTH}, which is the most that is read")
    try:
        whole = _whole if _LONG.search(text) else None  # the usual way takes half the time
        value = json.loads(text, parse_int=whole, parse_float=_finite, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno}, " if "\n" in text else ""
        raise error(f"{where}: no JSON: {problem.msg} at {line}column {problem.colno}") from problem
    except ValueError as problem:
        raise error(f"{where}: {problem}") from problem
    if surrogates or not (_ESCAPED_SURROGATE.search(text) or _SURROGATE.search(text)):
        return value
    if (surrogate := _surrogate(value, "")) is not None:
        raise error(
            f"{where}: {_field(surrogate)}half of a surrogate pair, which is no text and cannot be written again"
        )
    return value


@overload
def read_json(path: Path, shape: None = None, *, surrogates: bool = ..., error: Problem = ...) -> Any: ...
@overload
def read_json(path: Path, shape: type[T], *, surrogates: bool = ..., error: Problem = ...) -> T: ...
def read_json(
    path: Path, shape: type[T] | None = None, *, surrogates: bool = False, error: Problem = DataError
) -> T | Any:
    """The JSON value that a file holds."""
    value = parse_json(read_text(path, error=error), str(path), surrogates=surrogates, error=error)
    return value if shape is None else shaped(value, shape, str(path), error=error)


@overload
def json_lines(
    path: Path, shape: None = None, *, whole: bool = ..., surrogates: bool = ..., error: Problem = ...
) -> Iterator[tuple[int, Any]]: ...
@overload
def json_lines(
    path: Path, shape: type[T], *, whole: bool = ..., surrogates: bool = ..., error: Problem = ...
) -> Iterator[tuple[int, T]]: ...
def json_lines(
    path: Path,
    shape: type[T] | None = None,
    *,
    whole: bool = False,
    surrogates: bool = False,
    error: Problem = DataError,
) -> Iterator[tuple[int, T | Any]]:
    """The values of a JSON Lines file, each with the number of its line; empty lines are skipped.

    With `whole` a last line without an end is skipped: in files that are appended to, a kill leaves one.
    """
    with _opened(path, error) as file:
        number = 0
        while line := file.readline(MOST_BYTES + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MOST_BYTES:
                raise error(f"{where}: longer than {MOST_BYTES} bytes, which is the most that is read")
            if whole and not line.endswith(b"\n"):
                return
            if line.strip():
                value = parse_json(line.removesuffix(b"\n"), where, surrogates=surrogates, error=error)
                yield number, value if shape is None else shaped(value, shape, where, error=error)


def shaped(value: Any, shape: type[T], where: str, *, error: Problem = DataError) -> T:
    """A value as the type that it must be; nothing is converted but lists to tuples and objects to models."""
    from pydantic import ValidationError

    try:
        # As JSON, since only there a strict check takes a list for a tuple.
        item: T = _adapter(cast(Hashable, shape)).validate_json(json.dumps(value), strict=True)
        return item
    except ValidationError as problem:
        raise error(f"{where}: {wrong(problem)}") from problem


def wrong(problem: ValidationError) -> str:
    """What pydantic found wrong first, in one line: ``field a.0: input should be a valid integer, got 'x'``."""
    first = problem.errors(include_url=False)[0]
    message = str(first["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    value, got = first["input"], ""
    # What is given under a name that is not known may be anything, also a secret under a misspelled one.
    if first["type"] not in ("missing", "value_error", "assertion_error", "extra_forbidden"):
        got = f", got {json.dumps(value) if value is None or isinstance(value, bool) else short(value)}"
    return f"{_field('.'.join(map(str, first['loc'])))}{message[:1].lower()}{message[1:]}{got}"


def parsed(schema: type[M], text: str, problem: str = "") -> M:
    """Read a model's answer in JSON.

    Raises:
        InvalidOutputError: It does not fit its schema.
    """
    from pydantic import ValidationError

    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise InvalidOutputError(
            f"{problem}: {why}" if problem else f"no {schema.__name__}: {why}: {short(text)}"
        ) from None


def short(value: Any) -> str:
    """A value for a message: in one line, at most :data:`MOST_SHOWN` characters, whatever it is."""
    if isinstance(value, Mapping | list | tuple):
        return "an object" if isinstance(value, Mapping) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**MOST_SHOWN:
        return f"a whole number of more than {MOST_SHOWN} digits"
    try:
        text = repr(value)
    except ValueError:
        text = f"a {type(value).__name__} of very many digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ..."


def storable(value: Any, depth: int = 0) -> Any:
    """A value such that its JSON can be read again by :func:`parse_json`; what can be is as it was.

    Half a surrogate pair becomes its escape, a number that is none or infinite None, a whole number of too many digits
    the largest one, and what is nested deeper than :data:`MOST_NESTED` its JSON as a text.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode() if _SURROGATE.search(value) else value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return max(-MOST_NUMBER, min(MOST_NUMBER, value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping | list | tuple) and depth >= MOST_NESTED:
        return _as_text(value)
    if isinstance(value, Mapping):
        names = (name if isinstance(name, str) else json.dumps(name) for name in value)
        return {storable(name): storable(held, depth + 1) for name, held in zip(names, value.values(), strict=True)}
    if isinstance(value, list | tuple):
        return [storable(held, depth + 1) for held in value]
    return value


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value)
    except (ValueError, TypeError, RecursionError):
        return "(nested too deep to be written)"


def is_storable(text: str) -> bool:
    """Whether JSON is within the bounds of :func:`parse_json`, halves of surrogate pairs aside."""
    return not (_LONG.search(text) or _NO_NUMBER.search(text) or _depth_beyond(text, MOST_DEPTH))


@lru_cache(maxsize=256)
def _adapter(shape: Hashable) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(cast(Any, shape), config=ConfigDict(allow_inf_nan=False))
    except PydanticUserError:  # models and dataclasses have a configuration of their own
        return TypeAdapter(cast(Any, shape))


@contextmanager
def _opened(path: Path, error: Problem) -> Iterator[BinaryIO]:
    """A file for reading; what goes wrong while it is read becomes ``error`` too."""
    try:
        # A pipe without a writer would be waited for, and a device may never end.
        if not stat.S_ISREG(path.stat().st_mode):
            kind = "a folder" if path.is_dir() else "a pipe or device"
            raise error(f"{path} is {kind}, not a file; name a file")
        with path.open("rb") as file:
            yield file
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        if isinstance(problem, TapeError):
            raise
        raise error(f"{str(path)!r} can be the name of no file: {problem}") from problem  # it holds a zero byte


def _decoded(data: bytes, where: str, error: Problem) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{where}: no UTF-8 text: byte 0x{data[problem.start]:02x} in line {line}") from problem


def _depth_beyond(text: str, most: int) -> bool:
    """Whether brackets outside of strings nest deeper than ``most``; without the interpreter's stack."""
    if text.count("[") + text.count("{") <= most:
        return False
    outside = "".join(_ESCAPE.sub("", text).split('"')[::2])
    brackets = _NO_BRACKET.sub("", outside).translate(_ONE_KIND)
    for _ in range(most):  # each time the innermost pairs go
        fewer = brackets.replace("[]", "")
        if fewer == brackets:
            break
        brackets = fewer
    # What has no end is left, or what is nested deeper than that.
    return "[]" in brackets or any(
        depth > most for depth in accumulate(1 if bracket == "[" else -1 for bracket in brackets)
    )


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
        surrogate = _surrogate(held, f"{path}.{key}" if path else str(key))
        if surrogate is not None:
            return surrogate
    return None


def _field(path: str) -> str:
    if len(path) > 3 * MOST_SHOWN:  # names of fields may be of any length too
        path = f"{path[:MOST_SHOWN]} ... {path[-MOST_SHOWN:]}"
    return f"field {path}: " if path else ""
