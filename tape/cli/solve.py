"""``tape solve FILE``: the solver alone, on a plan graph from a file, or on a shortest path problem."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tape.cli.numbers import real, whole
from tape.files import replace_file

if TYPE_CHECKING:
    from solvers import Explanation, RcspProblem, ShortestPath, Status
    from tape.choice.graph import PlanGraph
    from tape.choice.graph_problem import Edge


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0 with a path, 1 without."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.proof is not None and (args.objective == "stay" or args.risk is not None):
        parser.error("--proof: not with --objective stay, and not with --risk")
    if args.format != "graph":
        return _shortest(parser, args)
    return _plan_graph(args)


def _plan_graph(args: argparse.Namespace) -> int:
    import solvers
    from tape.budget import Budget
    from tape.choice.graph import PlanGraph

    graph = PlanGraph.load(args.graph)
    start = _start(args, graph)
    caps = dict(Budget.parse(args.budget))
    horizon = args.horizon
    if args.objective == "stay":
        horizon = len(graph.nodes) if horizon is None else horizon
        for goal in args.goal or ():
            graph.set_goal(goal)
    goals = args.goal if args.objective == "visit" else None
    problem, ids = graph.path_problem(start, caps, horizon, args.discount, objective=args.objective, goals=goals)
    if args.risk is not None:
        risk = solvers.Risk(args.risk, args.risk_assumption)
        problem = replace(problem, spreads=_spreads(graph, ids, problem.resources), risk=risk)
    solution = solvers.solve(problem, args.solver, args.time_limit)
    explanation = None
    if solution.status is solvers.Status.INFEASIBLE and not args.no_explain:
        # A horizon that follows from the budgets is no limit of its own.
        limited = problem if horizon is not None else replace(problem, horizon=None)
        explanation = solvers.explain(limited, args.time_limit)
    asked = {"budgets": dict(problem.named(problem.budgets)), "start": start, "discount": args.discount}
    asked |= ({"horizon": horizon} if horizon is not None else {}) | ({"goals": goals} if goals else {})
    said = _proof(args, asked, solution.status, solution.edges)
    path = [graph.edge(ids[e]) for e in solution.edges]
    used = problem.named(solution.consumption)
    if args.json:
        answer = {
            "status": solution.status.value,
            "walk": [{"action": e.action, "target": e.target} for e in path],
            "objective": solution.objective,
            "bound": solution.bound,
            "consumption": {kind: _number(kind, count) for kind, count in used.items()},
            "seconds": solution.seconds,
            "solver": solution.solver,
            "message": solution.message,
        }
        answer |= {"proof": said} if said else {}
        if explanation is not None:
            answer["explanation"] = explanation.to_dict(_number) | {"text": _explained(explanation, graph, start, ids)}
        print(json.dumps(answer, indent=1))
    else:
        print(f"{solution.status.value} by {solution.solver} in {1000 * solution.seconds:.2f} ms")
        if solution.message and explanation is None:
            print(solution.message)
        if args.risk is not None and not problem.is_risky:
            print("no edge has a spread in what is capped, so --risk changes nothing")
        if explanation is not None:
            print(_explained(explanation, graph, start, ids))
        if solution.has_path:
            print(f"objective {solution.objective:.12g}")
            for kind, count in used.items():
                print(f"{kind}: {_amount(kind, count)} of {_amount(kind, caps[kind])}")
            print(start)
            for edge in path:
                print(f"  --{edge.action}--> {edge.target}")
        if said:
            print(said)
    _write_files(args, graph, start, path if solution.has_path else None, caps, solution.status.value)
    return 0 if solution.has_path else 1


def _write_files(
    args: argparse.Namespace,
    graph: PlanGraph,
    start: str,
    path: Sequence[Edge] | None,
    caps: Mapping[str, int],
    status: str,
) -> None:
    """Write the graph and the path as PDDL, and draw them, where that is asked for."""
    said = sys.stderr if args.json else sys.stdout
    if args.pddl:
        from tape.choice.pddl import save_pddl

        save_pddl(graph.to_pddl(start, caps), args.pddl, path)
        print(f"written: {args.pddl}", file=said)
    if args.draw:
        from tape.show.draw import draw

        taken = [edge.id for edge in path or ()]
        draw(graph, args.draw, start=start, path=taken, title=f"{args.graph.name}: {status}", left=caps)
        print(f"written: {args.draw}", file=said)


def _start(args: argparse.Namespace, graph: PlanGraph) -> str:
    """The node that the command line or the file names as the start."""
    from tape.errors import GraphError
    from tape.reading import read_json

    start = args.start or read_json(args.graph, surrogates=True, error=GraphError).get("start")
    if start is None or start not in graph.nodes:
        known = ", ".join(repr(node) for node in graph.nodes[:10])
        raise GraphError(
            f"{args.graph}: --start names no node; nodes: {known}" + (" ..." if len(graph.nodes) > 10 else "")
        )
    return str(start)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tape solve", description="Pick the best path of a graph under a budget.")
    parser.add_argument("graph", type=Path, metavar="FILE", help="a plan graph (JSON), or in another --format")
    parser.add_argument(
        "--format",
        choices=["graph", "rcsp"],
        default="graph",
        help="rcsp: a resource-constrained shortest path problem as in the OR-Library (default: graph)",
    )
    parser.add_argument(
        "--budget",
        default="",
        help="hard caps, for instance 'steps=8,usd=$0.05,seconds=2 min,tokens=10k'; with rcsp plain numbers "
        "by resource, in the place of the file's: 'r0=73'",
    )
    parser.add_argument("--start", help="the start node (default: the graph's own, and with rcsp the first)")
    parser.add_argument(
        "--goal",
        action="append",
        metavar="NODE",
        help="a node where paths may end, in the place of the goals that the graph declares; several times for several",
    )
    parser.add_argument(
        "--objective",
        choices=["visit", "stay"],
        default="visit",
        help="visit: each reward is earned once per visit; stay: that of TAPE, where a path stays at its end and earns "
        "its reward again at every step up to the horizon (default: visit)",
    )
    parser.add_argument(
        "--horizon",
        type=whole(),
        help="most moves (default: enough for the best path; with --objective stay the number of nodes)",
    )
    parser.add_argument("--discount", type=real(0, 1, above=True), default=1.0)
    parser.add_argument("--solver", default="labelling", help="see `tape solvers`")
    parser.add_argument("--time-limit", type=real(above=True), help="seconds for the solver")
    parser.add_argument(
        "--risk",
        type=real(0, 1, above=True),
        metavar="P",
        help="allowed probability of exceeding each cap, where edges have a `spread`",
    )
    parser.add_argument(
        "--risk-assumption",
        default="normal",
        choices=["normal", "sub-gaussian", "any"],
        help="what is taken for granted about the costs (default: normal)",
    )
    parser.add_argument(
        "--no-explain", action="store_true", help="where there is no path, do not look for what would do"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument(
        "--proof",
        type=Path,
        metavar="OUT.json",
        help="write a proof, for `python solvers/check_proof.py FILE OUT.json`",
    )
    parser.add_argument(
        "--pddl",
        type=Path,
        metavar="FOLDER",
        help="write the graph as domain.pddl and problem.pddl, the path as plan.txt",
    )
    parser.add_argument("--draw", type=Path, help="write a picture with the path (.svg)")
    return parser


def _explained(explanation: Explanation, graph: PlanGraph, start: str, ids: Sequence[int]) -> str:
    """An explanation with the names and units of the graph."""

    def node(number: int) -> str:
        return repr(graph.nodes[number] if number < len(graph.nodes) else start)

    def edge(number: int) -> str:
        item = graph.edge(ids[number])
        return f"{item.action!r} from {item.source!r} to {item.target!r}"

    return explanation.text(_amount, node, edge)


def _amount(kind: str, count: float) -> str:
    """A count in units of its resource; one that need not be whole, in four digits."""
    from tape.budget import in_units, kind_of

    return in_units(kind, count) if isinstance(count, int) else f"{count * float(kind_of(kind).resolution):.4g} {kind}"


def _number(kind: str, count: int) -> int | float:
    """A count in units of its resource, as JSON has numbers."""
    from tape.budget import kind_of

    amount = kind_of(kind).amount(count)
    return int(amount) if amount == int(amount) else float(amount)


def _spreads(graph: PlanGraph, ids: Sequence[int], kinds: Sequence[str]) -> list[list[int]]:
    """The standard deviations of the edges' costs, from their `spread` in the file: counts by kind, 0 if not named."""
    from tape.budget import Resources

    rows = []
    for number in ids:
        edge = graph.edge(number)
        spread = Resources(graph.nx.edges[edge.source, edge.target, number].get("spread", {}))
        rows.append([spread[kind] or 0 for kind in kinds])
    return rows


def _proof(args: argparse.Namespace, asked: Mapping[str, Any], status: Status, path: Sequence[int]) -> str:
    """Write a proof of the answer, if one is asked for; returns what it shows, or why there is none."""
    if args.proof is None:
        return ""
    from solvers.check_proof import ProofError
    from solvers.deadline import SolveDeadline
    from solvers.proof import NoProofError, prove

    try:
        if status not in ("OPTIMAL", "INFEASIBLE"):
            raise NoProofError("only what is best, or that nothing fits, can be proven")
        text = args.graph.read_text(encoding="utf-8")
        proof = prove(text, asked, path if status == "OPTIMAL" else None, SolveDeadline(args.time_limit))
    except (NoProofError, ProofError, UnicodeError) as error:
        return f"no proof: {error}"
    replace_file(args.proof, proof.text.encode())
    return f"{proof.check()}; written: {args.proof}"


_OTHERS = ("objective", "horizon", "discount", "solver", "risk", "risk_assumption", "draw")


def _shortest(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Solve the problem of a file; exit code 0 with a path, 1 without."""
    for name in _OTHERS:
        if getattr(args, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} is for plan graphs, not for --format {args.format}")
    if args.proof is not None and (args.start or args.goal):
        parser.error("--proof: only from the first node to the last, as in the file")
    problem = _read(parser, args)
    from solvers import Status, shortest_path

    path = shortest_path(problem, time_limit=args.time_limit)
    asked = {"budgets": dict(zip(problem.resources, problem.upper, strict=True)) if args.budget else {}}
    said = _proof(args, asked, path.status, path.edges)
    explanation = path.explanation if path.status is Status.INFEASIBLE and not args.no_explain else None
    if args.json:
        answer = {
            "status": path.status.value,
            "cost": path.cost,
            "path": [node + 1 for node in path.nodes],
            "seconds": path.solve_seconds,
            "resources": path.resources,
            "bound": path.bound,
            "message": path.message,
        }
        answer |= {"proof": said} if said else {}
        if explanation is not None:
            answer["explanation"] = explanation.to_dict()
        print(json.dumps(answer))
    else:
        _print(problem, path)
        if said:
            print(said)
        if explanation is not None:
            print(explanation.text())
    return 0 if path.nodes else 1


def _read(parser: argparse.ArgumentParser, args: argparse.Namespace) -> RcspProblem:
    from solvers import read_rcsp

    problem = read_rcsp(args.graph)
    goals = args.goal or [str(problem.target + 1)]
    if len(goals) > 1:
        parser.error(f"--goal: --format {args.format} takes one")
    ends = [args.start or str(problem.source + 1), goals[0]]
    for node in ends:
        if not (node.isascii() and node.isdigit() and 1 <= int(node[:12]) <= problem.n_nodes):
            parser.error(f"{node!r} is no node of {args.graph}; they are 1 to {problem.n_nodes}")
    problem = problem.between(int(ends[0]) - 1, int(ends[1]) - 1)
    return _limited(parser, args.budget, problem) if args.budget else problem


def _limited(parser: argparse.ArgumentParser, text: str, problem: RcspProblem) -> RcspProblem:
    """The problem with upper limits from the command line."""
    upper = list(problem.upper)
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, amount = (word.strip() for word in part.partition("="))
        if name not in problem.resources:
            parser.error(f"--budget {part}: no such resource; there are: {', '.join(problem.resources) or 'none'}")
        try:
            number: int | float = int(amount) if amount.lstrip("+-").isdigit() else float(amount)
        except ValueError:
            parser.error(f"--budget {part}: expected NAME=NUMBER")
        upper[problem.resources.index(name)] = number
    return problem.with_limits(problem.lower, upper)


def _print(problem: RcspProblem, path: ShortestPath) -> None:
    print(f"{path.status.value} in {1000 * path.solve_seconds:.2f} ms")
    if path.message:
        print(path.message)
    if path.nodes:
        print(f"cost {path.cost:.12g}")
        for k, (name, amount) in enumerate(path.resources.items()):
            lower, upper = problem.lower[k], problem.upper[k]
            least = f", at least {lower:.12g}" if lower > 0 else ""
            print(f"{name}: {amount:.12g}" + ("" if upper is None else f" of {upper:.12g}") + least)
        print("path", *(node + 1 for node in path.nodes))
