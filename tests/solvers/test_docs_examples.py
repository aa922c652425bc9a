"""The examples in the pages on risk and on explanations run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from solvers import get

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    pytest.param(code, id=f"{page}-{number}")
    for page in ("risk", "explain")
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL), 1
    )
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_runs(code: str) -> None:
    if "risk=" in code and not get("labelling").handles_risk:
        pytest.skip("labelling refuses problems with a risk")
    exec(compile(code, "example", "exec"), {})


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3
