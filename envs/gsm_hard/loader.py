"""Problems from a file in the public GSM-Hard format: JSON Lines with ``input``, ``code`` and ``target``."""

from __future__ import annotations

import ast
import json
import math
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from envs.gsm_hard.errors import DataError
from envs.gsm_hard.problem import Problem

DEFAULT_OPERATIONS = 4
"""Assumed where the code of a problem cannot be parsed: about the mean of the public data."""
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


def load(path: str | PathLike[str]) -> list[Problem]:
    """Read a file of problems; blank lines are skipped, and a problem's id is the file's stem and the line number.

    Raises:
        DataError: The file cannot be read or has no problems, or a line is not as described; says where.
    """
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(file, None, "", f"cannot be read ({error.strerror}); give a file in GSM-Hard format") from None
    except UnicodeDecodeError:
        raise DataError(file, None, "", "is not UTF-8; save it as UTF-8") from None
    # Not splitlines(): that also splits at separators which JSON allows inside strings.
    lines = text.split("\n")
    problems = [_problem(file, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not problems:
        raise DataError(file, None, "", "has no problems; give one JSON object a line with input, code and target")
    return problems


def _problem(file: str, number: int, line: str) -> Problem:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(file, number, "", f"is not JSON ({error}); give one JSON object a line") from None
    if not isinstance(fields, dict):
        raise DataError(file, number, "", "is not a JSON object; give {'input': ..., 'code': ..., 'target': ...}")
    text, code = _string(file, number, fields, "input"), _string(file, number, fields, "code")
    if not text.strip():
        raise DataError(file, number, "input", "is empty; give the problem's text")
    return Problem(f"{Path(file).stem}-{number}", text, _target(file, number, fields), None, operations_of(code))


def _string(file: str, number: int, fields: dict[str, Any], field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str):
        found = f"is {value!r:.40}" if field in fields else "is missing"
        raise DataError(file, number, field, f"{found}; give a string")
    return value


def _target(file: str, number: int, fields: dict[str, Any]) -> float:
    value = fields.get("target")
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = f"is {value!r:.40}" if "target" in fields else "is missing"
        raise DataError(file, number, "target", f"{found}; give a number")
    try:
        target = float(value)
    except OverflowError:
        target = math.inf
    if not math.isfinite(target):
        raise DataError(file, number, "target", "is not finite; give a number that a float can hold")
    return target


def operations_of(code: str) -> int:
    """How many arithmetic operations a solution in Python writes down, at least 1. The code is never run.

    Args:
        code: Source text; where it does not parse, :data:`DEFAULT_OPERATIONS` is returned.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the style of the code, which is not ours
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return DEFAULT_OPERATIONS
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.BinOp | ast.AugAssign))
    return max(1, sum(isinstance(node.op, _ARITHMETIC) for node in nodes))
