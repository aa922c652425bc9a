"""The build knows every source of the compiled path: a change of any rebuilds it, and none is missing."""

from __future__ import annotations

import tomllib

from tests.places import ROOT


def test_every_header_is_listed() -> None:
    [extension] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    headers = sorted(f"solvers/native/{path.name}" for path in (ROOT / "solvers/native").glob("*.hpp"))
    assert extension["depends"] == headers
    assert extension["optional"] is True
