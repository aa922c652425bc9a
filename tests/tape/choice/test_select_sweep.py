"""`select` and `path_problem` against brute force that knows nothing of how they work."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from tape import PlanGraph, select_in, solve
from tape.cli import main
from tape.errors import GraphError
from tests.tape.choice.agreement import counts, sweep
from tests.tape.choice.instances import KINDS
from tests.tape.choice.instances import graph as random_graph

FORMS = {f"graph{kind}" for kind in ("", ": goes round", ": nothing fits", ": endless", ": no end")}
FORMS |= {"lists", "lists: nothing fits"}
"""Every kind of instance that a sweep has to meet."""


@pytest.mark.parametrize("magnitudes", [False, True], ids=["plain", "magnitudes apart"])
@pytest.mark.parametrize(
    ("seeds", "least"),
    [(range(100), 0), pytest.param(range(100_000, 110_500), 10_000, marks=pytest.mark.soak)],
    ids=["100", "10,000"],
)
def test_select_is_brute_force(
    seeds: range, least: int, magnitudes: bool, record_property: Callable[[str, object], None]
) -> None:
    result = sweep(seeds, magnitudes=magnitudes)
    for name, count in sorted(result.items()):
        record_property(name, count)
    unknown = result["graph: too many paths to try"]
    graphs = sum(count for name, count in result.items() if name.startswith("graph")) - unknown
    assert set(result) >= FORMS
    assert graphs >= least, f"{unknown} were too large for brute force"


def test_the_command_line_and_path_problem_give_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solved = 0
    for seed in range(50):
        given = random_graph(seed)
        if "gold" in given.caps:  # the command line knows declared resources only
            continue
        path, graph = tmp_path / "graph.json", given.plan_graph()
        graph.save(path, start=given.start)
        budget = ",".join(f"{kind}={amount}" for kind, amount in given.caps.items())
        code = main(["solve", str(path), "--budget", budget, "--json"])
        out = capsys.readouterr().out
        try:
            choice = select_in(PlanGraph.load(path), start=given.start, budget=given.caps)
            problem, ids = graph.path_problem(given.start, counts(given.caps))
        except GraphError:
            assert (code, out) == (2, "")
            continue
        answer, solution = json.loads(out), solve(problem)
        assert code == (0 if choice else 1)
        assert answer["objective"] == (None if choice.value is None else pytest.approx(choice.value))
        assert [step["action"] for step in answer["walk"]] == [graph.edge(ids[edge]).action for edge in solution.edges]
        used = problem.named(solution.consumption)
        assert answer["consumption"] == {kind: float(Decimal(n).scaleb(-KINDS[kind])) for kind, n in used.items()}
        if not choice and choice.why.least:
            least = {need["limit"]: need["least"] for need in answer["explanation"]["budgets"]}
            assert least == {kind: amount and float(amount) for kind, amount in choice.why.least.items()}
        solved += 1
    assert solved > 12
