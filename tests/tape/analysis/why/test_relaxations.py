"""Which budget decided, and what a little more of it buys: exactly what enumeration of all paths and budgets says."""

from collections import Counter
from itertools import combinations

from tape.analysis.why.relaxations import Relaxations
from tape.analysis.why.selections import Selections
from tape.choice.graph import PlanGraph
from tests.tape.analysis.why.enumeration import KINDS, Enumeration, Found, random_case

CASES = 100


def check(seed: int) -> str:
    """Compare one random case; returns what kind of case it was."""
    graph, rule = random_case(seed)
    selections, all_paths = Selections(graph, rule), Enumeration(graph, rule)
    pick, truth = selections.pick(), all_paths.pick(rule.left)
    assert selections.horizon(rule.left) == all_paths.horizon(rule.left)
    if pick is None or truth is None:
        assert (pick, truth) == (None, None), seed
        return "infeasible"
    assert (pick.stage, pick.path, pick.objective) == (truth.stage, truth.path, truth.worth), seed
    relaxations = Relaxations(selections, pick)
    ample, alone = all_paths.ample(), []
    for kind in KINDS:
        counts = range(rule.left[kind] + 1, ample + 1)
        least = next((count for count in counts if all_paths.improves(truth, {kind: count})), None)
        better = relaxations.alone(kind)
        assert (None if better is None else better.counts) == (None if least is None else {kind: least}), (seed, kind)
        if better is not None:
            alone.append(kind)
            expected = all_paths.pick({**rule.left, **better.counts})
            assert (better.pick.stage, better.pick.path) == (expected.stage, expected.path), (seed, kind)
    longer = relaxations.longer()
    assert (longer and longer.counts["horizon"]) == least_horizon(all_paths, truth), seed
    joint = list(relaxations.together(alone))
    rest = [kind for kind in KINDS if kind not in alone]
    minimal = [set(kinds) for kinds in combinations(rest, 2) if all_paths.improves(truth, dict.fromkeys(kinds, ample))]
    assert [set(better.counts) for better in joint] == minimal, seed
    for better in joint:
        counts = better.counts
        assert all_paths.improves(truth, counts), seed
        expected = all_paths.pick({**rule.left, **counts})
        assert better.pick.path == expected.path, seed
        for kind, count in counts.items():
            assert count > rule.left[kind], seed
            assert not all_paths.improves(truth, {**counts, kind: count - 1}), (seed, kind)
    return "together" if joint else f"alone {len(alone)}"


def least_horizon(all_paths: Enumeration, than: Found) -> int | None:
    """The smallest longer horizon that gives a better path, where it is fixed."""
    rule = all_paths.rule
    if rule.patience is not None:
        return None
    for horizon in range(rule.horizon + 1, rule.horizon + len(all_paths.graph.nodes) + 1):
        result = all_paths.pick(rule.left, horizon)
        if result is not None and (
            result.stage < than.stage
            or (result.stage == than.stage and result.worth > all_paths.worth(than.path, horizon))
        ):
            return horizon
    return None


def test_relaxations_are_those_of_enumeration() -> None:
    seen = Counter(check(seed) for seed in range(CASES))
    assert min(seen[kind] for kind in ("infeasible", "together", "alone 0", "alone 1", "alone 2")) > 0, seen


def test_budgets_that_are_unlimited_rule_nothing_out() -> None:
    for seed in range(CASES):
        graph, rule = random_case(seed)
        selections, all_paths = Selections(graph, rule), Enumeration(graph, rule)
        without = selections.unlimited(*KINDS)
        pick, truth = selections.pick(without), all_paths.pick(dict.fromkeys(KINDS, all_paths.ample()))
        assert (pick and pick.path) == (truth and truth.path), seed


def passes_once(graph: PlanGraph, path: tuple[int, ...]) -> bool:
    """Whether a path comes to no state twice."""
    nodes = [graph.edge(path[0]).source, *(graph.edge(number).target for number in path)]
    return len(set(nodes)) == len(nodes)


def weighed(graph: PlanGraph, path: tuple[int, ...]) -> tuple[float, ...]:
    """What people weigh: the score of the end, the cost, the moves."""
    costs = [sum(graph.edge(number).cost[kind] or 0 for number in path) for kind in KINDS]
    return (graph.attributes(graph.edge(path[-1]).target)["reward"], *costs, len(path))


def test_alternatives_are_the_best_that_fit() -> None:
    for seed in range(CASES):
        graph, rule = random_case(seed)
        selections, all_paths = Selections(graph, rule), Enumeration(graph, rule)
        pick = selections.pick()
        if pick is None:
            continue
        fitting = [
            path
            for path in all_paths.paths(pick.stage, rule.horizon)
            if path and path != pick.path and all(all_paths.cost(path, kind) <= rule.left[kind] for kind in KINDS)
        ]
        straight = [path for path in fitting if passes_once(graph, path)]
        others, alike = selections.others(pick, 3)
        assert len(others) == min(3, len(straight)), seed
        assert {other.path for other in others} <= set(straight), seed
        worths = [all_paths.worth(other.path, rule.horizon) for other in others]
        assert worths == sorted(worths, reverse=True), seed
        same = [path for path in straight if weighed(graph, path) == weighed(graph, pick.path)] if pick.path else []
        assert alike == len(same) or not pick.path, seed
        # What is told differs in something, as far as there are such paths.
        told = {weighed(graph, other.path) for other in others}
        assert len(told) == min(len(others), len({weighed(graph, path) for path in straight})) or same, seed
