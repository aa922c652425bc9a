"""The exact choice of the next search on the plan graph of a search (``select="solver"``).

Nodes are sets of resolved predicates; an edge resolves one open predicate by one option, a retriever with a depth. The
reward of an edge is its expected value: the predicate's value in tokens times the calibrated chance of success, less
the expected tokens of the round. Its cost is these tokens, its calls and the declared cost of the search. Options whose
worst case exceeds the window have no edges, because a prompt's length is a peak, not a sum. The solver finds the path
of highest value within the rest of every budget, its first search is made, and then the next path is selected. If no
path has a positive value, the agent answers.

New predicates appear during a search. So a plan reserves searches for as many as such questions usually need
(:attr:`tape.protocols.search.SearchTask.hops`); otherwise the first search would spend what later ones need.

Costs are expected costs, because every call and every search reserves its worst case before it is made. Planning with
worst cases would leave most of a budget unspent; only the reservation of the last reading has to be free. If not even
the cheapest searches for all predicates are expected to fit, the cheapest search for the first one is made, since
unspent budget has no value.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import solvers
from solvers.errors import BackendError
from tape.choice.graph import PlanGraph
from tape.methods.cgdp.search import CorpusSearch
from tape.protocols.search import SearchOption
from tape.trace import SEARCH_SOLVER, GraphFoldedEvent, PathSelectedEvent
from tape.trace.shapes import Problem

MOST_OPEN = 5
"""Most predicates of a graph; later ones wait."""


@dataclass(frozen=True)
class SearchSelection:
    """The search that comes next."""

    target: str
    option: SearchOption


def select(search: CorpusSearch) -> SearchSelection | None:
    """The next search; None if no affordable search has a higher value than answering now.

    Args:
        search: A search with a belief.

    Raises:
        BackendError: The solver has failed.
    """
    assert search.belief is not None
    episode = search.episode
    known = tuple(dict.fromkeys(search.belief.questions))[:MOST_OPEN] or (search.first_open(),)
    targets = (*known, *_to_come(search, known))
    options = [option for option in search.options if search.prices.fits(option)]
    rounds = min(len(targets), _rounds_left(search))
    if not rounds:
        return None
    kept = search.prices.kept_free()
    left = {kind: max(0, count - (kept[kind] or 0)) for kind, count in episode.remaining().items()}
    graph, made = _graph(search, known, targets, options)
    start = _key(frozenset())
    problem, ids = graph.path_problem(start, left, rounds)
    answer = solvers.solve(problem, episode.config.solver)
    episode.result.solver_seconds += answer.seconds
    if not answer.has_path:  # every node is terminal, so the empty path always exists
        raise BackendError(f"no search was selected ({answer.status.value}): {answer.message}")
    path = [graph.edge(ids[edge]) for edge in answer.edges]
    size: Problem = {"nodes": problem.n_nodes, "edges": len(problem.edges), "horizon": problem.horizon, "budget": left}
    size["objective"] = problem.objective
    cheapest = min(options, key=lambda option: search.prices.expected(option)["tokens"] or 0)
    saves = len(path) < rounds and _binds(search, left, cheapest, rounds)
    saves = saves and search.prices.expected_value(known[0], cheapest, len(targets)) > 0
    episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
    episode.trace.write(
        PathSelectedEvent(
            selector=SEARCH_SOLVER,
            status=str(answer.status.value),
            partial=False,
            actions=[edge.action for edge in path],
            nodes=[start, *(edge.target for edge in path)],
            objective=answer.objective,
            bound=answer.bound,
            consumption=problem.named(answer.consumption),
            problem=size,
            seconds=answer.seconds,
            note="not all fits, so the cheapest search goes first" if saves else "",
        )
    )
    if saves:
        return SearchSelection(known[0], cheapest)
    # The path's value does not depend on its order, so the first open predicate goes first.
    chosen = [selected for edge in path if (selected := made[edge.id]).target in known]
    return min(chosen, key=lambda selected: known.index(selected.target), default=None)


def _rounds_left(search: CorpusSearch) -> int:
    """Most further searches, by the harness, the horizon and the budgets of calls and steps."""
    episode = search.episode
    assert search.settings.rounds is not None
    most = [search.settings.rounds - len(search.rounds)]
    if episode.config.horizon is not None:
        most.append(episode.config.horizon - episode.result.steps - 1)
    sure = search.prices.expected(search.options[0])
    most += [left // (sure[kind] or 1) for kind, left in episode.remaining().items() if kind in ("calls", "steps")]
    return max(0, min(most))


def _binds(search: CorpusSearch, left: Mapping[str, int], cheapest: SearchOption, rounds: int) -> bool:
    """Whether this many of the cheapest searches are expected to exceed the budget."""
    costs = [search.prices.expected(cheapest) + search.prices.grown(ahead) for ahead in range(rounds)]
    return any(sum(cost[kind] or 0 for cost in costs) > most for kind, most in left.items())


def _to_come(search: CorpusSearch, known: Sequence[str]) -> list[str]:
    """Names for predicates that are not known yet; none if gold sub-questions name them all."""
    assert search.belief is not None
    if search.domain.sub_questions:
        return []
    usual = min(search.domain.hops - len(search.belief.resolved), MOST_OPEN)
    names = (f"predicate {number}, not known yet" for number in range(len(known) + 1, usual + 1))
    return [name for name in names if name not in known]


def _graph(
    search: CorpusSearch, known: Sequence[str], targets: Sequence[str], options: Sequence[SearchOption]
) -> tuple[PlanGraph, dict[int, SearchSelection]]:
    """The plan graph and the search of each edge; every node is terminal, because the agent can always answer.

    Unknown predicates appear only after a known one is resolved.
    """
    graph = PlanGraph(key=_key)
    made: dict[int, SearchSelection] = {}
    costs = {option: search.prices.expected(option) for option in options}
    values = {
        (target, option): search.prices.expected_value(target, option, len(targets))
        for target in targets
        for option in options
    }
    for size in range(len(targets) + 1):
        more = search.prices.grown(size)
        for here in map(frozenset, combinations(targets, size)):
            if here and not here & {*known}:
                continue
            graph.set_goal(graph.add_state(here))
            for target in (target for target in targets if target not in here and (target in known or here)):
                after = here | {target}
                graph.add_state(after)
                for option in options:
                    action = f"{option.name}: {target}"
                    graph.add_variant(here, action, after)
                    edge = graph.find(_key(here), action, _key(after))
                    graph.set_cost(edge, costs[option] + more)
                    graph.set_edge_reward(edge, values[target, option])
                    made[edge] = SearchSelection(target, option)
    return graph, made


def _key(resolved: Hashable) -> str:
    """The name of a node."""
    assert isinstance(resolved, frozenset)
    return json.dumps(sorted(resolved), ensure_ascii=False) if resolved else "nothing resolved yet"
