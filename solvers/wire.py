"""Problems and answers as JSON, for the way between a worker process and its parent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from solvers.deadline import SolveDeadline
from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.reading import parse_json
from solvers.solution import PathSolution, Status

_ROWS = 4096


def problem_line(problem: PathProblem, deadline: SolveDeadline) -> bytes:
    """What `PathProblem.to_json` writes, on one line."""
    return "".join(_pieces(problem, deadline)).encode() + b"\n"


def _pieces(problem: PathProblem, deadline: SolveDeadline) -> Iterator[str]:
    yield "{"
    for place, (name, value) in enumerate(problem.to_dict().items()):
        yield f'{", " if place else ""}"{name}": '
        if not isinstance(value, tuple):
            yield json.dumps(value)
            continue
        yield "["
        for begin in range(0, len(value), _ROWS):
            deadline.check()
            yield (", " if begin else "") + json.dumps(value[begin : begin + _ROWS])[1:-1]
        yield "]"
    yield "}"


def unpack(data: object) -> PathSolution:
    """An answer from its fields; JSON turned its tuples into lists and its status into text.

    Raises:
        BackendError: If it is something else.
    """
    try:
        assert isinstance(data, Mapping)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return PathSolution(**(values | {"status": Status(data["status"])}))
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise BackendError(f"the worker process answered with something that is no answer: {data!r:.200}") from error


def read_reply(line: bytes) -> dict[str, Any]:
    """A line of a worker: `ready`, `answer`, or `error`, a message.

    Raises:
        BackendError: If it is something else.
    """
    reply = parse_json(line, "the reply of the worker process", BackendError)
    if not isinstance(reply, dict) or not reply.keys() & {"ready", "answer", "error"}:
        raise BackendError(f"the reply of the worker process is none: {reply!r:.200}")
    return reply
