"""Problems from a file in the public GSM-Hard format: JSON Lines with ``input``, ``code`` and ``target``."""

from __future__ import annotations

import ast
import warnings
from os import PathLike
from pathlib import Path

from envs.data_files import DataFileError, JsonRecord, records_of_lines
from envs.gsm_hard.problem import Problem

DEFAULT_OPERATIONS = 4
"""Assumed where the code of a problem cannot be parsed: about the mean of the public data."""
MOST_CODE = 20_000
"""Characters of code that are parsed; the longest of the public data has 1,500."""
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


def load(path: str | PathLike[str]) -> list[Problem]:
    """Read a file of problems; blank lines are skipped, and a problem's id is the file's stem and the line number.

    Raises:
        DataError: The file cannot be read or has no problems, or a line is malformed; names the place.
    """
    problems = [_problem(record) for record in records_of_lines(Path(path))]
    if not problems:
        raise DataFileError(
            str(path), None, "", "has no problems; give one JSON object a line with input, code and target"
        )
    return problems


def _problem(record: JsonRecord) -> Problem:
    text, target, code = record.text("input"), record.fields.get("target"), record.fields.get("code")
    if not isinstance(code, str):
        raise record.wrong("code", f"{record.got('code')}; give a text")
    if isinstance(target, bool) or not isinstance(target, int | float):
        raise record.wrong("target", f"{record.got('target')}; give a number")
    # A number that was read is never too large for a float.
    id_ = f"{Path(record.file).stem}-{record.place}"
    return Problem(id_, text, float(target), None, operations_of(code))


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
