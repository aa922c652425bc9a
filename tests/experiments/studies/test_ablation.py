"""The ablation's rows isolate: two methods of a row differ in the one thing that the row names."""

from pathlib import Path

import pytest

from experiments.harness import methods
from experiments.harness.methods import LM_SELECTED, PAPER, TAPE, Method
from experiments.harness.standard import sections_of
from experiments.studies.tape import ablation
from experiments.studies.tape.catalogue import find
from experiments.studies.tape.levels import ADDITIONS
from tape.engine.ablations import PAPER as ABLATIONS
from tape.engine.ablations import Ablations, changed
from tape.engine.settings import TapeConfig
from tape.show.document import markdown
from tests.experiments.synthetic import measured


def differing(one: Method, other: Method) -> set[str]:
    assert one.agent == other.agent
    first, second = (dict(TapeConfig.make(**method.changes).ablations) for method in (one, other))
    return {name for name in first if first[name] != second[name]}


def test_what_a_part_contributes_is_isolated() -> None:
    fields = {label: {frozenset(differing(*pair)) for pair in pairs} for label, pairs in ablation.contributions()}
    assert [*fields.values()] == [
        {frozenset({"selector"})}, {frozenset({"selector"})}, {frozenset({"selector"})}, {frozenset({"execution"})},
        {frozenset({"replan"})},
    ]  # fmt: skip
    wholes = [[one.label for one, _ in pairs] for _, pairs in ablation.contributions()]
    assert wholes[0] == wholes[1] == [PAPER.label, TAPE.label]


def test_what_an_addition_contributes_is_isolated() -> None:
    *rows, (_, together) = ablation.additions()
    for (label, off), (named, pairs) in zip(ADDITIONS, rows, strict=True):
        assert label == named
        assert [differing(*pair) for pair in pairs] == [{*off}, {*off}]
        assert [PAPER in pair for pair in pairs] == [True, False]
    assert [differing(*pair) for pair in together] == [{*PAPER.changes}] * 2


def test_the_additions_together_are_what_the_paper_does_not_have() -> None:
    assert {name: value for _, off in methods.ADDITIONS for name, value in off.items()} == changed(ABLATIONS)
    assert sum(len(off) for _, off in methods.ADDITIONS) == len(changed(ABLATIONS)), "none is named twice"
    assert all(getattr(Ablations(), name) != value for name, value in changed(ABLATIONS).items())


@pytest.mark.usefixtures("undrawn")
def test_the_report_shows_where_a_contribution_is_small(tmp_path: Path) -> None:
    found = measured("ablation", tmp_path / "run", lambda method, level, repeat: TAPE.label in method or level == 0)
    text = markdown("Ablation", sections_of(find("ablation"), found))
    assert LM_SELECTED in text
    row = next(line for line in text.splitlines() if line.startswith("| the solver selects, not the LM |"))
    assert row.count("equal in every episode") == 2 * len(found.models())
    together = next(line for line in text.splitlines() if line.startswith("| all of these |"))
    assert "+0." in together
