"""Problems from a file in the public GSM-Hard format: JSON Lines with ``input``, ``code`` and ``target``."""

from __future__ import annotations

import ast
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from envs.data_files import told
from envs.gsm_hard.errors import DataError
from envs.gsm_hard.problem import Problem
from tape.errors import DataError as ReadingError
from tape.reading import json_lines, short

DEFAULT_OPERATIONS = 4
"""Assumed where the code of a problem cannot be parsed: about the mean of the public data."""
MOST_CODE = 20_000
"""Characters of code that are parsed; the longest of the public data has 1,500."""
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


def load(path: str | PathLike[str]) -> list[Problem]:
    """Read a file of problems; blank lines are skipped, and a problem's id is the file's stem and the line number.

    Raises:
        DataError: The file cannot be read or has no problems, or a line is not as described; says where.
    """
    file = str(path)
    try:
        problems = [_problem(file, number, fields) for number, fields in json_lines(Path(path))]
    except ReadingError as error:
        line, problem = told(error, file)
        raise DataError(file, line, "", f"{problem}; give one JSON object a line, in UTF-8") from None
    if not problems:
        raise DataError(file, None, "", "has no problems; give one JSON object a line with input, code and target")
    return problems


def _problem(file: str, number: int, fields: Any) -> Problem:
    if not isinstance(fields, dict):
        raise DataError(file, number, "", "is not a JSON object; give {'input': ..., 'code': ..., 'target': ...}")
    text, code = _string(file, number, fields, "input"), _string(file, number, fields, "code")
    if not text.strip():
        raise DataError(file, number, "input", "is empty; give the problem's text")
    return Problem(f"{Path(file).stem}-{number}", text, _target(file, number, fields), None, operations_of(code))


def _string(file: str, number: int, fields: dict[str, Any], field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str):
        found = f"is {short(value)}" if field in fields else "is missing"
        raise DataError(file, number, field, f"{found}; give a string")
    return value


def _target(file: str, number: int, fields: dict[str, Any]) -> float:
    value = fields.get("target")
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = f"is {short(value)}" if "target" in fields else "is missing"
        raise DataError(file, number, "target", f"{found}; give a number")
    return float(value)  # which a number that was read is never too large for


def operations_of(code: str) -> int:
    """How many arithmetic operations a solution in Python writes down, at least 1. The code is never run.

    Args:
        code: Source text; where it does not parse, :data:`DEFAULT_OPERATIONS` is returned.
    """
    if len(code) > MOST_CODE:
        return DEFAULT_OPERATIONS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the style of the code, which is not ours
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return DEFAULT_OPERATIONS
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.BinOp | ast.AugAssign))
    return max(1, sum(isinstance(node.op, _ARITHMETIC) for node in nodes))
