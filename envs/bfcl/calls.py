"""Gold calls, which are written as Python: ``mv(source='a', destination='b')``. They are read, never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tape.errors import DataError


class ApiCall(NamedTuple):
    """A call of an API."""

    name: str
    arguments: Mapping[str, Any]


def read_call(text: str, parameters: Mapping[str, Sequence[str]]) -> ApiCall:
    """Read a call.

    Args:
        text: The call.
        parameters: The parameters of each function in their order, for arguments without a name.

    Raises:
        DataError: It is no call of one of these functions with plain values.
    """
    try:
        body = ast.parse(text, mode="eval").body
        if not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name):
            raise ValueError("no call of a function")
        name = body.func.id
        if name not in parameters:
            raise ValueError(f"there is no function {name}")
        if len(body.args) > len(parameters[name]):
            raise ValueError(f"{name} has {len(parameters[name])} parameters")
        given = dict(zip(parameters[name], map(ast.literal_eval, body.args), strict=False))
        given |= {item.arg: ast.literal_eval(item.value) for item in body.keywords if item.arg is not None}
    except (ValueError, SyntaxError) as error:
        raise DataError(f"the gold call {text[:200]!r} cannot be read: {error}") from error
    return ApiCall(name, given)
