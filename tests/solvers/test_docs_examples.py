"""The examples in the pages on solvers, on risk and on explanations run as they stand."""

from __future__ import annotations

import re

import pytest

from tests.places import ROOT

DOCS = ROOT / "docs"
EXAMPLES = [
    pytest.param(code, id=f"{page}-{number}")
    for page in ("solvers", "risk", "explain")
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL), 1
    )
    if not code.startswith("# ")  # a file with a name, which test_docs.py puts to use
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_runs(code: str) -> None:
    exec(compile(code, "example", "exec"), {})


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 6


def test_the_pages_are_linked_from_the_first() -> None:
    first = (DOCS / "solvers.md").read_text(encoding="utf-8")
    assert {f"{page}.md" for page in re.findall(r"\]\((\w+)\.md\)", first)} == {"risk.md", "explain.md", "labelling.md"}
