"""Files and functions stay of a size that is read at one sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT

FOLDERS = ("tape", "solvers", "envs", "tools")
MOST_OF_A_FILE = 400
MOST_OF_A_FUNCTION = 70


def files() -> Iterator[tuple[str, str]]:
    """The Python files of the product, with their text."""
    for folder in FOLDERS:
        for path in sorted(Path(ROOT, folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_no_file_is_long() -> None:
    numbers = {name: text.count("\n") for name, text in files()}
    assert len(numbers) > 300
    assert {name for name, lines in numbers.items() if lines > MOST_OF_A_FILE} == set()


def test_no_function_is_long() -> None:
    lines_by_text = {
        f"{name}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for name, text in files()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lines_by_text.items() if lines > MOST_OF_A_FUNCTION} == {}
