"""``tape solve GRAPH.json``: the solver alone, on a plan graph from a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0 with a walk, 1 without."""
    parser = argparse.ArgumentParser(
        prog="tape solve", description="Pick the best walk of a plan graph under a budget."
    )
    parser.add_argument("graph", type=Path, metavar="GRAPH.json")
    parser.add_argument("--budget", default="", help="hard caps, for instance steps=8,usd=0.05")
    parser.add_argument("--start", help="key of the start node (default: the graph's own)")
    parser.add_argument("--horizon", type=int, help="L (default: the number of nodes)")
    parser.add_argument("--discount", type=float, default=1.0)
    parser.add_argument("--solver", default="labelling", help="see `tape solvers`")
    parser.add_argument("--time-limit", type=float, help="seconds")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--draw", type=Path, help="write a picture with the walk (.svg or .png)")
    args = parser.parse_args(argv)
    import solvers
    from tape.budget import Budget, kind_of
    from tape.errors import GraphError
    from tape.graph import PlanGraph

    graph = PlanGraph.load(args.graph)
    start = args.start or json.loads(args.graph.read_text(encoding="utf-8")).get("start")
    if start is None or start not in graph.nodes:
        known = ", ".join(repr(node) for node in graph.nodes[:10])
        raise GraphError(
            f"{args.graph}: --start names no node; nodes: {known}" + (" ..." if len(graph.nodes) > 10 else "")
        )
    caps = dict(Budget.parse(args.budget))
    horizon = len(graph.nodes) if args.horizon is None else args.horizon
    problem, ids = graph.path_problem(start, caps, horizon, args.discount)
    solution = solvers.solve(problem, args.solver, args.time_limit)
    walk = [graph.edge(ids[e]) for e in solution.edges]
    used = dict(zip(sorted(caps), solution.consumption, strict=False))
    if args.json:
        answer = {
            "status": solution.status.value,
            "walk": [{"action": e.action, "target": e.target} for e in walk],
            "objective": solution.objective,
            "bound": solution.bound,
            "consumption": used,
            "seconds": solution.seconds,
            "solver": solution.solver,
            "message": solution.message,
        }
        print(json.dumps(answer, indent=1))
    else:
        print(f"{solution.status.value} by {solution.solver} in {1000 * solution.seconds:.2f} ms")
        if solution.message:
            print(solution.message)
        if solution.has_walk:
            print(f"objective {solution.objective}")
            for kind, count in used.items():
                unit = kind_of(kind)
                print(f"{kind}: {unit.amount(count)} of {unit.amount(caps[kind])}")
            print(start)
            for edge in walk:
                print(f"  --{edge.action}--> {edge.target}")
    if args.draw:
        from tape.show.draw import draw

        draw(
            graph,
            args.draw,
            start=start,
            walk=[e.id for e in walk],
            title=f"{args.graph.name}: {solution.status.value}",
        )
        print(f"written: {args.draw}")
    return 0 if solution.has_walk else 1
