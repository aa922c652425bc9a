"""What the engine knows of a domain: declared parts, and no guess at its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tape
from tape.errors import ConfigError
from tape.protocols.domain import PARTS, require_known_parts
from tape.protocols.parts import GoalTest
from tape.protocols.types import State
from tape.testing.line import LineDomain


class Known(LineDomain, GoalTest):
    """A line that knows its goal."""

    def satisfied(self, state: State) -> bool:
        return state == self.last

    @property
    def goal_test(self) -> GoalTest:
        return self


class Misspelled(Known):
    """It has the same part once more, by a name that nothing asks for."""

    @property
    def goals_test(self) -> GoalTest:
        return self


def test_a_part_that_no_step_asks_for_is_refused_by_name() -> None:
    require_known_parts(Known(2))
    with pytest.raises(ConfigError, match=r"Misspelled\.goals_test: no step of the engine asks .* goal_test"):
        require_known_parts(Misspelled(2))
    domain = Known(2)
    domain.end_test = Known(3)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"Known\.end_test"):
        require_known_parts(domain)


def guesses(tree: ast.AST) -> Iterator[str]:
    """Tests of what a domain is, or whether it has an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            asked = ast.unparse(node.args[0])
            guessing = node.func.id in ("isinstance", "hasattr") or (node.func.id == "getattr" and len(node.args) == 3)
            if guessing and asked.rpartition(".")[2] in ("domain", "_domain"):
                yield ast.unparse(node)
        if isinstance(node, ast.Match) and ast.unparse(node.subject).rpartition(".")[2] in ("domain", "_domain"):
            yield ast.unparse(node.subject)


@pytest.mark.parametrize("package", ["engine", "agents", "runner"])
def test_no_structure_of_a_domain_is_guessed(package: str) -> None:
    for file in sorted((Path(tape.__file__).parent / package).glob("*.py")):
        assert not list(guesses(ast.parse(file.read_text()))), file.name


def test_the_engine_asks_for_every_part() -> None:
    sources = [file.read_text() for file in Path(tape.__file__).parent.rglob("*.py") if "protocols" not in file.parts]
    for part in PARTS:
        assert any(f".{part}" in source for source in sources), part
