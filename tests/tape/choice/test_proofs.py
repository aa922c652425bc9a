"""Choices with proofs: what is proven is the value, by the decimals as they were given."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest

from solvers.check_proof import check
from tape import select, select_in
from tests.figures import record
from tests.tape.commandline import Tape

COST = {"search": "$0.01", "ask": "$0.08", "write": "$0.02"}
PLANS = [["search", "write"], ["ask", "write"]]


def test_a_choice_has_its_proof_and_says_so() -> None:
    choice = select(PLANS, cost=COST, value=[0.7, 0.9], budget="usd=0.05", proof=True)
    assert choice.proof is not None
    assert choice.proof.check() == "proven: best, worth 7 (budgets: usd 5)"
    assert str(choice.why).splitlines()[0].endswith("Proven: no plan within the budgets is worth more.")
    assert "roven" not in str(select(PLANS, cost=COST, value=[0.7, 0.9], budget="usd=0.05").why)


def test_that_nothing_fits_is_proven() -> None:
    choice = select(PLANS, cost=COST, value=[0.7, 0.9], budget="usd=0.02", proof=True)
    assert choice.proof is not None
    assert choice.proof.check() == "proven: nothing fits (budgets: usd 2)"
    assert str(choice.why).endswith("Proven: nothing fits.")


def test_a_graph_whose_circles_earn_is_proven_within_what_they_cost() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", action="go", cost={"usd": 1}, reward=1)
    graph.add_edge("b", "a", action="back", cost={"usd": 1}, reward=1)
    graph.add_edge("a", "end", action="stop", cost={"usd": 1}, reward=0)
    choice = select_in(graph, start="a", goals="end", budget={"usd": 6}, proof=True)
    assert (choice.plan, choice.value) == (["go", "back", "go", "back", "stop"], 4.0)
    assert choice.proof is not None
    assert choice.proof.check() == "proven: best, worth 4 (budgets: usd 6)"


@pytest.mark.parametrize(
    "seeds", [range(6), *(pytest.param(range(n, n + 480), marks=pytest.mark.soak) for n in range(6, 3_366, 480))]
)
def test_values_of_all_magnitudes_are_compared_exactly(seeds: range) -> None:
    for seed in seeds:
        compare(random.Random(seed))
    record(
        "proofs",
        f"values from 1e-12 to 1e15, from {seeds[0]}",
        problems=30 * len(seeds),
        proven=30 * len(seeds),
        wrong=0,
    )


def compare(rng: random.Random) -> None:
    for _ in range(30):
        steps = {f"s{n}": rng.choice([0.01, 0.02, 1, 3]) for n in range(6)}
        plans = [rng.sample(sorted(steps), rng.randint(1, 4)) for _ in range(5)]
        worth = {step: rng.choice([1e-12, 1, -1, 1e15, -1e14, 0.1, 3e7]) * rng.randint(1, 9) for step in steps}
        choice = select(
            plans, cost={step: {"usd": usd} for step, usd in steps.items()}, value=worth, budget={"usd": 4}, proof=True
        )
        fitting = [plan for plan in plans if sum(Fraction(repr(steps[step])) for step in plan) <= 4]
        values = [sum(Fraction(repr(worth[step])) for step in plan) for plan in fitting]
        assert choice.proof is not None, choice.why
        if choice.plan is not None:
            assert sum(Fraction(repr(worth[step])) for step in choice.plan) == max(values)
        else:
            assert not fitting


def test_the_command_line_writes_a_proof(tmp_path: Path, tape: Tape) -> None:
    file = tmp_path / "plans.json"
    file.write_text(json.dumps({"plans": PLANS, "cost": COST, "value": [0.7, 0.9], "budget": "usd=$0.05"}))
    assert "Proven: no plan" in tape("plan", file, "--proof", tmp_path / "proof").out
    texts = [(tmp_path / "proof" / name).read_text() for name in ("problem.json", "proof.json")]
    assert check(*texts) == "proven: best, worth 7 (budgets: usd 5)"
