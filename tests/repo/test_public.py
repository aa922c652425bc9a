"""Every public name has a page of the reference, a docstring, and an example in it that runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest

import tape
from tools.site.public import PUBLIC

NAMES = [(module, name) for page in PUBLIC.values() for module, names in page.names.items() for name in names]
NEEDS = {
    "langchain": "langchain", "pydantic_ai": "pydantic_ai", "openai_agents": "agents", "smolagents": "smolagents",
    "dspy": "dspy", "dbos": "dbos", "inspect_agent": "inspect_ai", "otel": "opentelemetry",
}  # fmt: skip
"""Adapter -> the package that it needs."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def value_of(module: str, name: str) -> Any:
    needed = NEEDS.get(module.rpartition(".")[2])
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    "module",
    [
        "tape",
        "tape.tools",
        "envs.tool_chains.typed",
        "tape.tools.copies",
        "tape.world",
        "tape.choice",
        "tape.testing",
        "solvers",
    ],
)
def test_every_exported_name_has_a_page(module: str) -> None:
    exported = tape._WHERE if module == "tape" else importlib.import_module(module).__all__
    listed = {name for _, name in NAMES}
    assert set(exported) <= listed


def test_no_name_has_two_pages() -> None:
    assert len(NAMES) == len(set(NAMES)) > 200


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{module}.{name}" for module, name in NAMES])
def test_its_example_runs(module: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    value = value_of(module, name)
    if not callable(value) or getattr(value, "__name__", None) != name:
        pytest.skip("a constant or an alias: what it is stands at its declaration")
    text = inspect.getdoc(value)
    assert text, "it has no docstring"
    assert value.__doc__ or not inspect.isclass(value), "its docstring is that of its base class"
    doc_test = doctest.DocTestParser().get_doctest(text, {}, f"{module}.{name}", None, None)
    assert doc_test.examples, "its docstring has no example"
    assert doctest.DocTestRunner(optionflags=FLAGS).run(doc_test).failed == 0
