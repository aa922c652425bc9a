"""The Python files of the product, each parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.places import ROOT

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A file.

    Attributes:
        path: Where it lies, from the root of the repository.
        lines: How many it has.
        functions: All of them, without their bodies.
        classes: All of them, without their bodies.
        imports: Its imports, wherever they stand.
        named: The local names and parameters, with their lines; the fields of classes are none.
    """

    path: Path
    lines: int
    functions: tuple[Function, ...]
    classes: tuple[ast.ClassDef, ...]
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    named: tuple[tuple[str, int], ...]

    @property
    def module(self) -> str:
        """What it is imported as."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _read(path: Path) -> Source:
    text = (ROOT / path).read_text(encoding="utf-8")
    nodes = [*ast.walk(ast.parse(text))]
    fields = {id(node.target) for node in nodes if isinstance(node, ast.AnnAssign)}
    named = [(node.arg, node.lineno) for node in nodes if isinstance(node, ast.arg)]
    named += [
        (node.id, node.lineno)
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields
    ]
    functions = tuple(node for node in nodes if isinstance(node, Function))
    classes = tuple(node for node in nodes if isinstance(node, ast.ClassDef))
    for node in (*functions, *classes):
        node.body = []  # which is most of what a file holds
    imports = tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return Source(path, text.count("\n"), functions, classes, imports, tuple(named))


def sources(*folders: str) -> Iterator[Source]:
    """The files of some folders."""
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield _read(file.relative_to(ROOT))
