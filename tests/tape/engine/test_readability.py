"""The engine stays readable: imports go one way, type-only ones too, and files and functions are short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tape

ROOT = Path(tape.__file__).parent.parent
FILES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for folder in ("tape/engine", "tape/agents")
    for path in (ROOT / folder).rglob("*.py")
}


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_no_file_is_part_of_a_circle() -> None:
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
    assert len(trees) > 30
    below = {name: {one for one in imported(tree) if one in FILES} for name, tree in trees.items()}
    order = list(TopologicalSorter(below).static_order())  # raises CycleError
    assert order.index("tape.engine.episode") < order.index("tape.engine.loop") < order.index("tape.agents.tape")


@pytest.mark.parametrize("name", FILES)
def test_files_and_functions_are_short(name: str) -> None:
    text = FILES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 70, node.name
