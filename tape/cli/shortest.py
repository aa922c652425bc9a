"""``tape solve FILE --format rcsp``: the cheapest path within limits."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvers import RcspProblem, ShortestPath

_OTHERS = ("objective", "horizon", "discount", "solver", "risk", "risk_assumption", "draw")


def solve(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Solve the problem of a file; exit code 0 with a path, 1 without."""
    for name in _OTHERS:
        if getattr(args, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} is for plan graphs, not for --format {args.format}")
    problem = _problem(parser, args)
    from solvers import Status, shortest_path

    path = shortest_path(problem, time_limit=args.time_limit)
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
        if explanation is not None:
            answer["explanation"] = explanation.to_dict()
        print(json.dumps(answer))
    else:
        _print(problem, path)
        if explanation is not None:
            print(explanation.text())
    return 0 if path.nodes else 1


def _problem(parser: argparse.ArgumentParser, args: argparse.Namespace) -> RcspProblem:
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
