"""A pipeline of eight stages, each with a small or a large model, under two budgets: every way in gives the optimum.

Every node's reward is at least 0.5, and only the last stage ends a plan. The graph API once took such nodes for goals
and answered ``run ingest with large``.
"""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

import solvers
from tape import Budget, PlanGraph, Resources, select
from tape.cli import main

STAGES = ("ingest", "clean", "split", "embed", "index", "query", "rank", "report")
QUALITY = {
    "small": (0.71, 0.66, 0.74, 0.62, 0.68, 0.59, 0.64, 0.7),
    "large": (0.91, 0.83, 0.79, 0.88, 0.81, 0.9, 0.86, 0.93),
}
USD = {"small": ("0.001",) * 8, "large": ("0.012", "0.008", "0.004", "0.015", "0.006", "0.011", "0.009", "0.014")}
SECONDS = {"small": (2, 1, 1, 2, 2, 1, 2, 2), "large": (7, 4, 2, 9, 3, 8, 5, 6)}
BUDGET = {"usd": "$0.05", "seconds": 30}


def step(stage: int, model: str) -> str:
    return f"run {STAGES[stage]} with {model}"


def pipeline() -> PlanGraph:
    """A node for each stage done with each model."""
    graph = PlanGraph()
    for stage, name in enumerate(STAGES):
        for before in ("raw",) if stage == 0 else (f"{STAGES[stage - 1]}/small", f"{STAGES[stage - 1]}/large"):
            for model in ("small", "large"):
                after = graph.add_variant(before, step(stage, model), f"{name}/{model}")
                graph.set_reward(after, QUALITY[model][stage])
                cost = Resources.of(usd=USD[model][stage], seconds=SECONDS[model][stage])
                graph.set_cost(graph.find(before, step(stage, model), after), cost)
    return graph


def optimum() -> tuple[float, list[str]]:
    """By trying all 256 choices."""
    best = (-1.0, [""])
    for models in product(("small", "large"), repeat=len(STAGES)):
        usd = sum(Decimal(USD[model][i]) for i, model in enumerate(models))
        seconds = sum(SECONDS[model][i] for i, model in enumerate(models))
        value = round(sum(QUALITY[model][i] for i, model in enumerate(models)), 9)
        if usd <= Decimal("0.05") and seconds <= 30 and value > best[0]:
            best = value, [step(i, model) for i, model in enumerate(models)]
    assert best[0] == 6.28
    assert len({"small" in one for one in best[1]}) == 2, "both models are in the optimum"
    return best


def test_the_graph_api_gives_the_optimum() -> None:
    graph = pipeline()
    for goal in ("report/small", "report/large"):
        graph.set_goal(goal)
    value, steps = optimum()
    problem, ids = graph.path_problem("raw", Budget.of(**BUDGET))
    solution = solvers.solve(problem)
    assert (solution.status, solution.objective) == ("OPTIMAL", pytest.approx(value))
    assert [graph.edge(ids[edge]).action for edge in solution.edges] == steps


def test_select_gives_the_optimum_of_the_graph_and_of_the_list() -> None:
    value, steps = optimum()
    of_graph = select(pipeline(), start="raw", goals=["report/small", "report/large"], budget=BUDGET)
    both = ("small", "large")
    of_list = select(
        [list(STAGES)],
        variants={name: [step(i, model) for model in both] for i, name in enumerate(STAGES)},
        cost={step(i, model): {"usd": USD[model][i], "seconds": SECONDS[model][i]} for i in range(8) for model in both},
        value={step(i, model): QUALITY[model][i] for i in range(8) for model in both},
        budget=BUDGET,
    )
    for choice in (of_graph, of_list):
        assert (choice.value, choice.plan) == (value, steps)
        assert choice.left["usd"] == Decimal("0.05") - choice.spent["usd"] >= 0
    assert of_graph.spent == of_list.spent
    assert [one.plan for one in of_graph.alternatives] == [one.plan for one in of_list.alternatives]


def test_the_command_line_gives_the_optimum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value, steps = optimum()
    pipeline().save(tmp_path / "pipeline.json", start="raw")
    command = ["solve", str(tmp_path / "pipeline.json"), "--budget", "usd=$0.05,seconds=30 s", "--json"]
    assert main(command) == 2  # no goal is declared, and no plan was folded
    assert "declare a goal" in capsys.readouterr().err
    assert main([*command, "--goal", "report/small", "--goal", "report/large"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["objective"]) == ("OPTIMAL", pytest.approx(value))
    assert [one["action"] for one in answer["walk"]] == steps
    choice = select(pipeline(), start="raw", goals=["report/small", "report/large"], budget=BUDGET)
    assert answer["consumption"] == {name: float(amount) for name, amount in choice.spent.items()}
