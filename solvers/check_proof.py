"""Checks a proof of a choice: ``python check_proof.py PROBLEM PROOF``. It needs the standard library alone.

PROBLEM is a file of a path problem, of a plan graph, or of the OR-Library. PROOF says which path is best under which
budgets, or that nothing fits; with rows of multipliers ``[w, m1, ..., mK]`` and a tree of beginnings of paths, each
before those that go on from it. A path within the limits is worth at most ``(w * value - m * use + m * limits) / w``;
the checker finds the greatest such number behind each node itself. A beginning is expanded by every edge (0), bounded
by row r (r), or no better than the expanded beginning at place p of the tree, counted from 1 (-p). All numbers are
integers and fractions; nothing is rounded.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = "tape.proof/1"
WORK = 200
"""Steps for each byte of both files: what a check may take."""


class ProofError(ValueError):
    """A file is no problem, or no proof of it."""


class PathGraph(NamedTuple):
    """What edges earn, in units of 1 / `unit`, and use; limits of the use; where paths begin, and what an end adds.

    With `layers` its nodes and edges are those of the file once for each move, in order.
    """

    n: int
    edges: list[tuple[int, int]]
    gains: list[int]
    uses: list[tuple[int, ...]]
    lower: list[int]
    upper: list[int]
    start: int
    ends: Mapping[int, int]
    unit: int
    horizon: int | None
    layers: int


def need(holds: Any, why: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise ProofError(why)


class WorkLeft:
    """What a check may take: so many steps."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        """Take steps."""
        self.left -= steps
        need(self.left >= 0, "to check it takes too long for its size")


def whole(value: Any, least: int | None = None, most: int | None = None) -> int:
    """An integer within bounds; neither a truth value nor a number with a point."""
    if type(value) is not int:
        raise ProofError(f"{str(value)[:40]!r} is no integer")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ProofError(f"{str(value)[:40]} is out of range")
    return int(value)


def decimal(value: Any) -> Fraction:
    """A number as it is written."""
    if isinstance(value, str):
        need(re.fullmatch(r"-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?", value), f"{value[:40]!r} is no number")
    return Fraction(value) if isinstance(value, str | Fraction) else Fraction(whole(value))


def parsed(text: str) -> Any:
    """JSON, its decimals as fractions."""
    return json.loads(text, parse_float=decimal, parse_constant=decimal)


def path_problem(data: Any, asked: Any, meter: WorkLeft) -> PathGraph:
    """A problem of schema `tape.path_problem/1`."""
    need(asked.keys() <= {"budgets", "layers"}, "a path problem is asked for budgets and layers alone")
    need(data["schema"] == "tape.path_problem/1" and not data.get("risk"), "no path problem without a risk")
    names, stays = data["resources"], data.get("objective", "stay") == "stay"
    rewards = [decimal(reward) for reward in data["rewards"]]
    own = [decimal(reward) for reward in data.get("edge_rewards") or [0] * len(data["edges"])]
    gains = [rewards[whole(head, 0)] + more for (_, head), more in zip(data["edges"], own, strict=True)]
    caps = {**dict(zip(names, data["budgets"], strict=True)), **asked["budgets"]}
    need(caps.keys() == set(names), "a budget is of no resource")
    limits, uses = [(0, caps[name]) for name in names], data["costs"] or [()] * len(own)
    ends = {whole(end, 0): rewards[end] if stays else Fraction(0) for end in data["terminals"]}
    given = (data["n_nodes"], data["edges"], gains, uses, limits, data["start"], ends)
    return problem_of((*given, (data.get("horizon"), decimal(data["discount"]), stays)), asked, meter)


def plan_graph(data: Any, asked: Any, meter: WorkLeft) -> PathGraph:
    """A plan graph, as `tape solve` takes it: each reward counts once a visit."""
    known = {"budgets", "start", "goals", "horizon", "discount", "layers"}
    need(asked.keys() <= known, "a plan graph is asked for what is not known here")
    need("goals" not in asked or (type(asked["goals"]) is list and asked["goals"]), "goals are a list")
    nodes, start, names = {node["id"]: node for node in data["nodes"]}, asked["start"], sorted(asked["budgets"])
    index = {name: number for number, name in enumerate(nodes)}
    links = [link for link in data["links"] if not link.get("refuted")]
    links.sort(key=lambda link: (link.get("id", link.get("key", 0)), index[link["source"]]))
    goals = asked.get("goals") or [name for name, node in nodes.items() if node.get("goal")]
    back = not goals and nodes[start].get("plan_end")  # a node of its own, for paths that come back to end there
    goals = goals or [name for name, node in nodes.items() if node.get("plan_end") and name != start]
    moves, gains, uses = [], [], []
    for link in links:
        for head in [index[link["target"]], *([len(index)] if back and link["target"] == start else [])]:
            moves.append((index[link["source"]], head))
            gains.append(decimal(nodes[link["target"]].get("reward", 0)) + decimal(link.get("reward", 0)))
            uses.append([link.get("cost", {}).get(name, 0) for name in names])
    ends = dict.fromkeys([*map(index.__getitem__, goals), *([len(index)] if back else [])], Fraction(0))
    limits = [(0, asked["budgets"][name]) for name in names]
    clock = (asked.get("horizon"), decimal(asked["discount"]), False)
    given = (len(index) + bool(back), moves, gains, uses, limits, index[start], ends, clock)
    return problem_of(given, asked, meter)


def or_library(text: str, asked: Any, meter: WorkLeft) -> PathGraph:
    """A cost is a gain below 0. What a node uses is added to all edges to it, and taken off the limits at the start."""
    numbers = [int(word) for word in text.split()]
    n, m, k = numbers[:3]
    at, width = 3 + 2 * k + n * k, 3 + k
    need(min(n, m, k) >= 0 and len(numbers) == at + m * width, "numbers are missing")
    visits = [numbers[place : place + k] for place in range(at - n * k, at, k)] if k else [[]] * n
    rows = [numbers[place : place + width] for place in range(at, len(numbers), width)]
    need(asked.keys() == {"budgets"} and asked["budgets"].keys() <= {f"r{i}" for i in range(k)}, "no such budget")
    upper = [whole(asked["budgets"].get(f"r{i}", numbers[3 + k + i])) for i in range(k)]
    limits = [(numbers[3 + i] - visits[0][i], upper[i] - visits[0][i]) for i in range(k)]
    uses = [[a + b for a, b in zip(row[3:], visits[row[1] - 1], strict=True)] for row in rows]
    moves, costs = [(row[0] - 1, row[1] - 1) for row in rows], [Fraction(-row[2]) for row in rows]
    clock = (None, Fraction(1), False)
    return problem_of((n, moves, costs, uses, limits, 0, {n - 1: Fraction(0)}, clock), asked, meter)


def problem_of(given: tuple[Any, ...], asked: Any, meter: WorkLeft) -> PathGraph:
    """A problem in whole numbers; last in `given`: the horizon, the discount, and whether a path stays at its end."""
    n, edges, gains, uses, limits, start, ends, (horizon, discount, stays) = given
    need(horizon is None or whole(horizon, 1), "no horizon")
    meter.spend(whole(n, 0) + len(edges) * (1 + len(limits)))
    edges = [(whole(tail, 0, n - 1), whole(head, 0, n - 1)) for tail, head in edges]
    uses = [tuple(whole(amount, 0) for amount in row) for row in uses]
    need(len(gains) == len(edges) == len(uses) and all(len(row) == len(limits) for row in uses), "rows are missing")
    layers = 0 if asked.get("layers") is not True else whole(horizon, 1, 10_000)
    need(0 < discount <= 1 and (layers or (discount == 1 and not stays)), "this needs layers")
    if layers:  # everything once for each number of moves; an end adds what staying there earns
        digits = 1 if discount == 1 else layers * discount.denominator.bit_length()
        meter.spend(layers * (len(edges) + n) * (1 + digits // 64) + layers * digits)
        weights = [discount**move for move in range(layers)]
        after = [*accumulate(reversed(weights), initial=Fraction(0))][::-1]
        gains = [gain * weight for weight in weights for gain in gains]
        edges = [(tail + n * move, head + n * move + n) for move in range(layers) for tail, head in edges]
        uses = uses * layers
        ends = {end + n * move: value * after[move] for move in range(layers + 1) for end, value in ends.items()}
    unit = math.lcm(*(gain.denominator for gain in (*gains, *ends.values())))
    final = {whole(end, 0, n * (layers + 1) - 1): int(value * unit) for end, value in ends.items()}
    lower, upper = [whole(least) for least, _ in limits], [whole(most) for _, most in limits]
    whole_gains, start = [int(gain * unit) for gain in gains], whole(start, 0, n - 1)
    return PathGraph(n * (layers + 1), edges, whole_gains, uses, lower, upper, start, final, unit, horizon, layers)


def farthest(problem: PathGraph, row: Sequence[int], meter: WorkLeft) -> list[int | None]:
    """The most that a row gives from each node to an end; None where no end can be reached."""
    meter.spend(len(problem.edges) * len(row))
    best: list[int | None] = [None] * problem.n
    for end, more in problem.ends.items():
        best[end] = row[0] * more
    parts = zip(problem.edges, problem.gains, problem.uses, strict=True)
    moves = [(*ends, row[0] * gain - sum(map(int.__mul__, row[1:], use))) for ends, gain, use in parts]
    moves.reverse()  # edges are mostly in the order of travel
    changed = True
    while changed:
        changed = False
        meter.spend(len(moves))
        for tail, head, gain in moves:
            far, known = best[head], best[tail]
            if far is not None and (known is None or far + gain > known):
                best[tail], changed = far + gain, True
    return best


class Prefix(NamedTuple):
    """The beginning of paths."""

    node: int
    value: int
    use: tuple[int, ...]


def along(problem: PathGraph, prefix: Prefix, edge: int) -> Prefix:
    """One move more."""
    use = tuple(map(int.__add__, prefix.use, problem.uses[edge]))
    return Prefix(problem.edges[edge][1], prefix.value + problem.gains[edge], use)


def final(problem: PathGraph, prefix: Prefix) -> int | None:
    """What a path is worth that ends here; None where it may not."""
    limits = zip(prefix.use, problem.lower, problem.upper, strict=True)
    kept = prefix.node in problem.ends and all(least <= amount <= most for amount, least, most in limits)
    return prefix.value + problem.ends[prefix.node] if kept else None


def covered(
    problem: PathGraph, rows: Sequence[Sequence[int]], tree: Sequence[int], best: int | None, meter: WorkLeft
) -> None:
    """Check that the tree has all paths, and none that is better; without a best one, none that keeps the limits."""
    bounds = []
    for row in rows:
        need(len(row) == 1 + len(problem.lower) and whole(row[0], 0) >= 0, "a row is malformed")
        limits = zip(row[1:], problem.upper, problem.lower, strict=True)
        bounds.append(sum(whole(part) * (most if part > 0 else least) for part, most, least in limits))
    tables = [farthest(problem, row, meter) for row in rows]
    leaving: list[list[int]] = [[] for _ in range(problem.n)]
    for edge in reversed(range(len(problem.edges))):
        leaving[problem.edges[edge][0]].append(edge)
    stack, seen = [Prefix(problem.start, 0, (0,) * len(problem.lower))], list[Prefix]()
    each = 1 + len(problem.lower)
    for place, code in enumerate(tree, 1):
        meter.spend(each)
        need(0 < len(stack) <= len(tree) - len(seen), "the tree has too many beginnings, or too few")
        prefix = stack.pop()
        seen.append(prefix)
        if whole(code, -len(tree), len(rows)) > 0:
            row, far = rows[code - 1], tables[code - 1][prefix.node]
            most = row[0] * prefix.value - sum(map(int.__mul__, row[1:], prefix.use)) + bounds[code - 1] + (far or 0)
            inside = most < 0 if row[0] == 0 else best is not None and most <= row[0] * best
            need(far is None or inside, f"beginning {place} of the tree is not bounded by row {code}")
        elif code == 0:
            worth = final(problem, prefix)
            need(
                worth is None or (best is not None and worth <= best), f"beginning {place} of the tree is a better path"
            )
            meter.spend(len(leaving[prefix.node]) * each)
            for edge in leaving[prefix.node]:
                longer = along(problem, prefix, edge)
                if all(map(int.__le__, longer.use, problem.upper)):
                    stack.append(longer)
    need(not stack, "the tree leaves out beginnings")
    for prefix, code in zip(seen, tree, strict=True):
        if code < 0:
            meter.spend(each)
            need(
                tree[-code - 1] == 0 and no_better(problem, prefix, seen[-code - 1]), "a beginning is better than said"
            )


def no_better(problem: PathGraph, prefix: Prefix, other: Prefix) -> bool:
    """Whether all that may follow one beginning may follow the other, and is worth as much there."""
    amounts = zip(prefix.use, other.use, problem.lower, strict=True)
    use = all(mine >= its and (mine == its or its >= least) for mine, its, least in amounts)
    return prefix.node == other.node and prefix.value <= other.value and use


def walked(problem: PathGraph, path: Sequence[int], meter: WorkLeft) -> Prefix:
    """What the path of a proof is worth and uses, by the file's edges."""
    meter.spend(len(path) * (1 + len(problem.lower)))
    count, at = len(problem.edges) // (problem.layers or 1), Prefix(problem.start, 0, (0,) * len(problem.lower))
    need(problem.horizon is None or len(path) <= problem.horizon, "the path is longer than the horizon")
    for move, edge in enumerate(path):
        own = whole(edge, 0, count - 1) + (count * move if problem.layers else 0)
        need(problem.edges[own][0] == at.node, "the path's edges do not follow each other")
        at = along(problem, at, own)
    worth = final(problem, at)
    need(worth is not None, "the path breaks a limit, or ends where none may end")
    return at._replace(value=whole(worth))


def valued(problem: PathGraph, criteria: Sequence[str]) -> PathGraph:
    """The problem as a frontier sees it: paths are worth nothing where their value is no criterion."""
    if "objective" in criteria:
        return problem
    return problem._replace(gains=[0] * len(problem.edges), ends=dict.fromkeys(problem.ends, 0))


def within(amounts: Sequence[int], caps: Sequence[int]) -> bool:
    """Whether no amount is above its cap."""
    return all(amount <= cap for amount, cap in zip(amounts, caps, strict=True))


def corners(points: Sequence[Prefix], axes: Sequence[int], upper: Sequence[int]) -> Iterator[list[int]]:
    """The largest caps of each cell in which the same points fit, the largest cells first."""
    marks = [sorted({point.use[axis] for point in points}) for axis in axes]
    for cell in product(*(range(len(mark), -1, -1) for mark in marks)):
        places = zip(cell, marks, axes, strict=True)
        yield [mark[place] - 1 if place < len(mark) else upper[axis] for place, mark, axis in places]


def whole_frontier(problem: PathGraph, proof: Any, names: Sequence[str], meter: WorkLeft) -> str:
    """Check that no path is missing: under any caps one of the points is worth as much as all that fits them.

    And that none of the points is as good as another in all criteria.
    """
    criteria = proof["criteria"]
    need(type(criteria) is list and set(criteria) <= {*names, "objective"}, "criteria are a list of names")
    need(len(set(criteria)) == len(criteria), "a criterion is named twice")
    problem, axes = valued(problem, criteria), [names.index(name) for name in criteria if name != "objective"]
    points, boxes = [walked(problem, path, meter) for path in proof["points"]], []
    meter.spend(len(points) * (1 + len(points)) * (1 + len(axes)))
    used = [[point.use[axis] for axis in axes] for point in points]
    for place, own in enumerate(used):
        others = [n for n in range(len(used)) if n != place and within(used[n], own)]
        need(all(points[n].value < points[place].value for n in others), f"point {place} is no better than another")
    for box in proof["boxes"]:
        upper = list(problem.upper)
        for axis, cap in zip(axes, box["caps"], strict=True):
            upper[axis] = min(upper[axis], whole(cap))
        best = None if box["best"] is None else points[whole(box["best"], 0, len(points) - 1)].value
        covered(problem._replace(upper=upper), box["rows"], box["tree"], best, meter)
        boxes.append(([upper[axis] for axis in axes], best))
    for corner in corners(points, axes, problem.upper):
        meter.spend((1 + len(points) + len(boxes)) * (1 + len(axes)))
        worth = max((p.value for p in points if within([p.use[a] for a in axes], corner)), default=None)
        known = (best is None or (worth is not None and best <= worth) for caps, best in boxes if within(corner, caps))
        need(min(corner) < 0 or any(known), f"a path may be missing that keeps {corner}")
    return f"a frontier of {len(points)} paths in {' and '.join(criteria)}"


def problem_in(text: str, asked: Any, meter: WorkLeft) -> PathGraph:
    """The problem of a file, under what a proof asks for."""
    if not text.lstrip().startswith("{"):
        return or_library(text, asked, meter)
    data = parsed(text)
    return (plan_graph if data.get("kind") == "plan_graph" else path_problem)(data, asked, meter)


def shown(value: Any) -> str:
    """What was asked, on one line; texts are quoted where they could be taken for something else."""
    plain = isinstance(value, int | Fraction) or (isinstance(value, str) and re.fullmatch(r"[\w.-]+", value))
    return str(value) if plain else json.dumps(value)


def check(problem_text: str, proof_text: str) -> str:
    """What a proof has shown, in words.

    Raises:
        ProofError: It shows nothing, or a file cannot be read.
    """
    meter = WorkLeft(WORK * (len(problem_text) + len(proof_text)))
    try:
        proof = parsed(proof_text)
        need(proof["schema"] == SCHEMA, "no proof that is known here")
        claim, asked = proof["claim"], proof["asked"]
        need(claim in ("best", "nothing fits", "frontier"), "no proof that is known here")
        problem = problem_in(problem_text, asked, meter)
        if claim == "frontier":
            data = json.loads(problem_text)
            need(data.get("schema") == "tape.path_problem/1", "a frontier is of a path problem")
            claim = whole_frontier(problem, proof, data["resources"], meter)
        else:
            best = walked(problem, proof["path"], meter).value if claim == "best" else None
            covered(problem, proof["rows"], proof["tree"], best, meter)
            claim = claim if best is None else f"best, worth {Fraction(best, problem.unit)}"
        need(not any(re.search(r"[\x00-\x1f,;()]", name) for name in asked["budgets"]), "a name cannot be shown")
        caps = ", ".join(f"{name} {cap}" for name, cap in asked["budgets"].items())
        caps = caps or ("none" if "start" in asked else "as in the file")
        more = "".join(
            f"; {name} {shown(asked[name])}" for name in ("start", "goals", "horizon", "discount") if name in asked
        )
    except ProofError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError, ArithmeticError, MemoryError) as error:
        raise ProofError(f"malformed: {type(error).__name__}: {str(error)[:80]}") from None
    return f"proven: {claim} (budgets: {caps}{more})"


if __name__ == "__main__":
    try:
        print(check(*[Path(name).read_text(encoding="utf-8") for name in sys.argv[1:3]]))
    except (ProofError, OSError, UnicodeError, TypeError) as wrong:
        sys.exit(f"not proven: {wrong}")
