"""No two files need each other, for types alone neither, so that each can be read after those that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from tests.places import ROOT

PACKAGES = ("solvers", "tape", "envs", "experiments")


def modules() -> dict[str, Path]:
    """Every file by the name that it is imported as."""
    paths = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return paths


def imported(name: str, file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The files that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (full if (full := f"{base}.{alias.name}") in known else base for alias in node.names)


def test_no_files_import_each_other() -> None:
    known = modules()
    assert len(known) > 500
    graph = {name: {*imported(name, file, known)} & {*known} - {name} for name, file in known.items()}
    TopologicalSorter(graph).prepare()  # its error names the files of a circle
