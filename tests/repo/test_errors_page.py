"""docs/reference/errors.md has every exception, every warning and every end state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from solvers import errors as of_solvers
from tape import budget, errors, tools, world
from tape.protocols.result import END_STATES
from tests.places import ROOT
from tests.repo.sources import sources

TEXT = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
BASES = frozenset(("TapeError", "SolverError", "UserWarning", "AgentsException", "UsageLimitExceeded"))
"""What is raised for users derives from one of these."""


def classes() -> Iterator[tuple[str, list[str]]]:
    """All classes of the product, with the names of their bases; packages that some of them need may be missing."""
    for source in sources("tape", "solvers", "envs"):
        for node in source.classes:
            yield node.name, [ast.unparse(base).rpartition(".")[2] for base in node.bases]


@cache
def raised() -> frozenset[str]:
    """The public exceptions and warnings."""
    known, declared = set(BASES), list(classes())
    while more := {name for name, bases in declared if known & {*bases}} - known:
        known |= more
    return frozenset(name for name in known if not name.startswith("_")) - (BASES - {"TapeError", "SolverError"})


def section(title: str) -> str:
    return re.split(rf"^## {title}$", TEXT, flags=re.MULTILINE)[1].split("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """What the first cells of tables name."""
    return set(re.findall(r"^\| `([\w:]+)` \|", text, re.MULTILINE))


def test_every_exception_and_warning_has_a_row() -> None:
    named = first_cells(TEXT) | set(re.findall(r"`(\w+)`", section("Exceptions of the environments")))
    assert raised() - named == set()
    exported = {
        name
        for module in (errors, budget, tools, world, of_solvers)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert len(exported) > 30
    assert exported - named == set()


def test_every_end_state_has_a_row_and_no_row_is_of_something_else() -> None:
    states = {"budget:KIND" if state == "budget" else state for state in END_STATES}
    assert first_cells(section("End states")) == states
    assert first_cells(TEXT) - states - raised() == {"OutsideError"}, "an OSError, which tools see"


def test_what_is_missing_is_found() -> None:
    assert {"BudgetExceededError", "LedgerError", "XsbError", "ToolWarning", "OutOfBudget"} <= raised()
    assert not {"EpisodeEnded", "UnfitError"} & raised()
