"""Proofs of choices: of random problems they are accepted, and no corrupted one shows what is not so."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from solvers import PathProblem, Risk, Status, solve
from solvers import check_proof as checker
from solvers.check_proof import ProofError, check
from solvers.proof import NoProofError, prove
from solvers.testing.brute_force import best
from solvers.testing.instances import risky, small, tight
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.cli.solve import main
from tests.figures import record
from tests.places import ROOT

CHECKER = ROOT / "solvers" / "check_proof.py"
CHAIN = PathProblem(
    n_nodes=4, edges=[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)], rewards=[0, 3, 2, 1], costs=[[4], [2], [4], [3], [1]],
    budgets=[6], start=0, terminals=[3], objective="visit", resources=["usd"],
)  # fmt: skip


def problems(seed: int) -> list[PathProblem]:
    """Both objectives of two problems."""
    made = (small(seed), tight(seed))
    return [replace(problem, objective=objective) for problem in made for objective in ("visit", "stay")]


def said(problem: PathProblem) -> str:
    """What a right proof says."""
    true = best(problem)
    return "nothing fits" if true is None else f"best, worth {true.objective}"


def corrupted(rng: random.Random, proof: dict[str, Any], problem: PathProblem) -> dict[str, Any]:
    """A proof with something in it changed."""
    made = json.loads(json.dumps(proof))
    tree, rows, edge = made["tree"], made["rows"], rng.randrange(len(problem.edges) or 1)
    kind = rng.randrange(10)
    if kind == 0 and rows:
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice([0, 1, -1, 10**30, 0.5, True, "1", None])
    elif kind == 1:
        del tree[rng.randrange(len(tree))]
    elif kind == 2:
        tree[rng.randrange(len(tree))] = rng.choice([0, 1, len(rows), -1, -len(tree), len(rows) + 1, 10**40, 0.0])
    elif kind == 3:
        made |= {"claim": "nothing fits"}
    elif kind == 4:
        made |= {"claim": "best", "path": [edge]}
    elif kind == 5 and made.get("path"):
        made["path"][rng.randrange(len(made["path"]))] = edge
    elif kind == 6 and problem.budgets:
        made["asked"]["budgets"][rng.choice(problem.resources)] = rng.choice([0, 1, 3, 10**9, -1, 2.0])
    elif kind == 7:
        rng.shuffle(rows)
    elif kind == 8:
        made["asked"]["layers"] = not made["asked"].get("layers", False)
    else:
        made["tree"] = [0] * rng.randrange(9)
    return dict(made)


def trial(seed: int) -> int:
    """Check the proofs of some problems, and corrupted ones; returns how many of these were accepted."""
    rng, accepted = random.Random(seed), 0
    for problem in problems(seed):
        answer = solve(problem, proof=True)
        assert answer.proof is not None, answer.message
        assert answer.proof.check() == f"proven: {said(problem)} (budgets: {caps(problem)})"
        for _ in range(5):
            proof = corrupted(rng, json.loads(answer.proof.text), problem)
            try:
                shown = check(problem.to_json(), json.dumps(proof))
            except ProofError:
                continue
            other = replace(problem, budgets=[proof["asked"]["budgets"][name] for name in problem.resources])
            assert shown == f"proven: {said(other)} (budgets: {caps(other)})", (seed, proof)
            accepted += 1
    return accepted


def caps(problem: PathProblem) -> str:
    """The budgets, as the checker names them."""
    return ", ".join(f"{name} {cap}" for name, cap in problem.named(problem.budgets).items()) or "as in the file"


def test_proofs_are_accepted_and_corrupted_ones_show_nothing_that_is_not_so() -> None:
    accepted = sum(map(trial, range(60)))
    assert accepted < 600  # of 1,200: some changes leave a proof


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_many_proofs_are_accepted_and_corrupted_ones_show_nothing_that_is_not_so(part: int) -> None:
    seeds = range(100 + 2_500 * part, 2_600 + 2_500 * part)
    still = sum(map(trial, seeds))
    count = 4 * len(seeds)
    record("proofs", f"paths, part {part}", problems=count, proven=count, changed=5 * count, false=0, still=still)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tree": []}, "the tree leaves out beginnings"),
        ({"tree": [0]}, "the tree leaves out beginnings"),
        ({"tree": [0, 0, 0, 0, 0, 0, 0, 0, 0]}, "too many beginnings, or too few"),
        ({"tree": [-1]}, "a beginning is better than said"),
        ({"tree": [9]}, "9 is out of range"),
        ({"tree": [2.0]}, "is no integer"),
        ({"tree": [True]}, "is no integer"),
        ({"rows": [[0, 1]], "tree": [1]}, "beginning 1 of the tree is not bounded by row 1"),
        ({"rows": [[-1, 1]]}, "-1 is out of range"),
        ({"rows": [[1]]}, "a row is malformed"),
        ({"path": [0, 2]}, "the path breaks a limit"),
        ({"path": [2]}, "do not follow each other"),
        ({"path": [0]}, "ends where none may end"),
        ({"path": [4]}, "is not bounded|is a better path"),
        ({"path": [-1]}, "-1 is out of range"),
        ({"claim": "nothing fits"}, "is not bounded|is a better path"),
        ({"claim": "worst"}, "no proof that is known here"),
        ({"schema": "other"}, "no proof that is known here"),
        ({"asked": {"budgets": {"eur": 1}}}, "a budget is of no resource"),
        ({"asked": {"budgets": {"usd": 6}, "layers": True}}, "None' is no integer"),
        ({"rows": None}, "malformed"),
        ({"path": {"a": 1}}, "malformed|is no integer"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], why: str) -> None:
    proof = solve(CHAIN, proof=True).proof
    assert proof is not None
    assert proof.check() == "proven: best, worth 3 (budgets: usd 6)"
    with pytest.raises(ProofError, match=why):
        check(proof.problem, json.dumps(json.loads(proof.text) | change))


@pytest.mark.parametrize(
    ("problem", "proof"),
    [
        ("{" * 100_000, "{}"), ("{}", "[" * 100_000), ("{}", ""), ("", "{}"), ("3 1", "{}"), ("1e99999999 1 1", "{}"),
        ("x", "[]"), ("{}", '{"schema": "tape.proof/1", "claim": "best", "asked": []}'),
    ],
)  # fmt: skip
def test_hostile_files_are_refused(problem: str, proof: str) -> None:
    with pytest.raises(ProofError):
        check(problem, proof)


def test_a_check_ends_in_time_whatever_a_file_says() -> None:
    known = {"schema": checker.SCHEMA, "asked": {"budgets": {}}, "claim": "nothing fits", "rows": [], "tree": [0]}
    circle = replace(CHAIN, edges=[(0, 1), (1, 0), (0, 3), (0, 3), (0, 3)], horizon=10**15)
    for more in ({}, {"layers": True}):
        asked = {"asked": {"budgets": {}, **more}}
        proof = known | asked | {"claim": "best", "path": [2], "rows": [[1, 0]], "tree": [1]}
        with pytest.raises(ProofError, match=r"too long|out of range"):
            check(circle.to_json(), json.dumps(proof))
    for number in ("1e999999999", "1" * 5_000, "NaN"):
        with pytest.raises(ProofError):
            check(CHAIN.to_json().replace("[0.0, 3.0", f"[0.0, {number}"), json.dumps(known))


def test_a_worse_path_has_no_proof_and_nor_has_a_fit_that_is_denied() -> None:
    for path in ([4], None):
        with pytest.raises(NoProofError, match="better path"):
            prove(CHAIN.to_json(), {"budgets": {}}, path)


def test_what_cannot_be_proven_is_said() -> None:
    answer = solve(replace(risky(3), risk=Risk(0.1)), proof=True)
    assert answer.proof is None
    assert "no proof: limits on chances cannot be proven" in answer.message
    late = solve(replace(CHAIN, rewards=[0, 0, 0, 0]), "labelling", time_limit=1e-9, proof=True)
    assert late.proof is None or late.status is Status.OPTIMAL


def test_the_decimals_of_the_file_count() -> None:
    tie = replace(CHAIN, rewards=[0, 0, 0, 0], edge_rewards=[0.1, 0.3, 0.2, 0, 0], budgets=[9])
    proof = prove(tie.to_json(), {"budgets": {}}, [1, 3])  # 0.1 + 0.2 is no more than 0.3 here
    assert proof.check().startswith(f"proven: best, worth {Fraction(3, 10)}")


def test_a_copy_checks_a_plan_graph_with_the_standard_library_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = PlanGraph()
    graph.fold(["home", "shop", "goal"], ["walk", "buy"])
    graph.fold(["home", "goal", "home"], ["fly", "return"])
    graph.contradict("home", "swim", "goal")
    graph.set_reward("goal", 1.5)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"usd": 9_000_000 if edge.action == "fly" else 1_000_000}))
        graph.set_edge_reward(edge.id, 0.1 if edge.action == "return" else 0.0)
    graph.save(tmp_path / "graph.json", start="home")
    shutil.copy(CHECKER, tmp_path / "check_proof.py")
    command = [sys.executable, "-I", "-S", "check_proof.py", "graph.json", "proof.json"]

    def checked() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    wanted = {"9": "best, worth 0", "10": "best, worth 8/5", "2.5": "best, worth 3/2", "1": "nothing fits"}
    for (cap, shown), goal in zip(wanted.items(), ("home", "", "goal", ""), strict=True):
        more = ["--goal", goal] if goal else []
        arguments = [str(tmp_path / "graph.json"), "--budget", f"usd={cap}", "--horizon", "2", *more]
        main([*arguments, "--proof", str(tmp_path / "proof.json")])
        assert f"proven: {shown}" in capsys.readouterr().out
        assert checked().stdout.startswith(f"proven: {shown} (budgets: usd ")
    (tmp_path / "proof.json").write_text("{}")
    assert (checked().returncode, checked().stderr) == (1, "not proven: malformed: KeyError: 'schema'\n")
