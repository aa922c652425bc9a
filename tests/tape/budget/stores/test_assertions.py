"""The ledger checks itself while it runs: its functions have two assertions each, on the average."""

from __future__ import annotations

import ast
from pathlib import Path

import tape.budget.stores

LEAST = 2.0


def counted(code: str) -> tuple[int, int]:
    """The assertions of a file, and its functions that do something."""
    nodes = list(ast.walk(ast.parse(code)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    abstract = [node for node in functions if any("abstractmethod" in ast.unparse(one) for one in node.decorator_list)]
    return sum(isinstance(node, ast.Assert) for node in nodes), len(functions) - len(abstract)


def test_functions_have_two_assertions_each_on_the_average() -> None:
    files = sorted(Path(tape.budget.stores.__file__).parent.rglob("*.py"))
    found = {file.name: counted(file.read_text("utf-8")) for file in files}
    assertions, functions = (sum(counts) for counts in zip(*found.values(), strict=True))
    lacking = sorted(found.items(), key=lambda one: one[1][0] - LEAST * one[1][1])
    worst = "\n".join(f"{name}: {asserts} assertions, {count} functions" for name, (asserts, count) in lacking[:5])
    assert assertions >= LEAST * functions, f"{assertions} assertions in {functions} functions; fewest in\n{worst}"


def test_what_is_abstract_does_nothing_to_check() -> None:
    code = "class A:\n @abstractmethod\n def f(self): ...\n async def g(self):\n  assert self\n  assert 1, 'a'"
    assert counted(code) == (2, 1)
