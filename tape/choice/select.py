"""`select`: the best plan that keeps every budget, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tape.budget import Resources, kinds
from tape.budget.units import nearest
from tape.choice.amounts import as_written, caps_of, require_apart
from tape.choice.answer import Choice
from tape.choice.options import PlanSpace, SelectRequest, is_graph, options_of
from tape.choice.rules import Rule, read_floors, read_rules
from tape.choice.schedule import ScheduleLimits, select_schedule
from tape.choice.search import PlanSearch
from tape.errors import ConfigError
from tape.reading import short


def select(
    plans: Any,
    *,
    cost: Mapping[Any, Any] | Callable[[Any], Any] | None = None,
    value: Mapping[Any, Any] | Callable[[Any], Any] | Sequence[float] | None = None,
    budget: Mapping[str, Any] | str | None = None,
    k: int = 3,
    variants: Mapping[Any, Sequence[Any]] | None = None,
    frontier: Sequence[str] = (),
    epsilon: float = 0.0,
    proof: bool = False,
    rules: Sequence[Rule] = (),
    at_least: Mapping[str, float] | None = None,
    worst_at_least: Mapping[str, float] | None = None,
) -> Choice:
    """Pick the best plan that keeps every budget, by an exact search; docs/reference/select.md has every rule.

    The best is the one of greatest value; of several the one that takes least of the budgets (the sum of the shares of
    each), then the one with the fewest steps, then the one given first. Amounts are numbers or texts such as
    ``"$0.02"``, ``"250 ms"`` or ``"10k"``, read exactly. A step without any cost, or with None for one, is an error.

    Args:
        plans: Plans, each a list of steps (anything that ``==`` compares).
        cost: What each step takes: a dict by step, or a function of one.
        value: What each step is worth: a dict by step (0 where it has no entry), a function, or a list with the worth
            of each plan.
        budget: The caps, as amounts by resource, a `tape.Budget`, or a text as in ``"usd=0.05,seconds=30"``.
        k: How many plans, the best and its alternatives, at least 1.
        variants: By step, the steps one of which is taken in its place.
        frontier: Criteria, resources and ``"value"``, for `Choice.frontier`. Budgets of these are no limit there.
        epsilon: Needed for more than three criteria: how much more of each some plan there may take than the best.
        proof: Also prove the choice, for `Choice.proof`; docs/reference/proofs.md says how it is checked.
        rules: What a plan has to keep beside the budgets: `Requires`, `Excludes`, `Before`, `AtMost`, `AtLeast`.
        at_least: Floors of levels that steps have beside their costs, for instance ``{"quality": 0.8}``: that of a plan
            is the product of its steps'.
        worst_at_least: Floors of the least step.

    Returns:
        The choice, true if a plan was found.

    Raises:
        ConfigError: An argument is malformed, a cost is missing or unknown, or an amount is in a wrong unit.

    Examples:
        >>> from tape import select
        >>> cost = {"search": {"usd": "$0.01"}, "ask": {"usd": "$0.08"}, "write": {"usd": "$0.02"}}
        >>> choice = select([["search", "write"], ["ask", "write"]], cost=cost, value=[0.7, 0.9], budget="usd=0.05")
        >>> print(choice.plan, choice.left["usd"])
        ['search', 'write'] 0.02
    """
    if isinstance(plans, Mapping):
        raise ConfigError("plans= is a dict; steps that wait for each other go with tape.schedule(steps, after=...)")
    if is_graph(plans):
        raise ConfigError("plans= is a graph; its paths are chosen from by tape.select_in(graph, start=...)")
    asked = SelectRequest(cost, value, caps_of(budget), variants=variants)
    return _chosen(plans, asked, budget, k, _rules(rules, at_least, worst_at_least)).answer(
        k, frontier, epsilon, proof=proof
    )


def select_in(
    graph: Any,
    *,
    start: Any,
    goals: Any = None,
    horizon: int | None = None,
    cost: Mapping[Any, Any] | Callable[[Any], Any] | None = None,
    value: Mapping[Any, Any] | Callable[[Any], Any] | None = None,
    budget: Mapping[str, Any] | str | None = None,
    k: int = 3,
    frontier: Sequence[str] = (),
    epsilon: float = 0.0,
    proof: bool = False,
    rules: Sequence[Rule] = (),
    at_least: Mapping[str, float] | None = None,
    worst_at_least: Mapping[str, float] | None = None,
) -> Choice:
    """As `select`, of the paths of a graph.

    Args:
        graph: A directed graph whose paths from `start` to a goal are the plans: a `tape.PlanGraph`, or one of networkx
            with `cost`, `reward` (or `value`) and `action` on edges, and `reward` (or `value`) and `goal` on nodes.
        start: The node where plans begin.
        goals: The nodes where plans may end, or one of them; by default those that the graph declares.
        horizon: The most steps of a plan; needed where going round a circle earns for nothing.
        cost: See `select`; by default the edges' own.
        value: See `select`; it replaces what the edges earn.
        budget: See `select`.
        k: See `select`.
        frontier: See `select`.
        epsilon: See `select`.
        proof: See `select`.
        rules: See `select`.
        at_least: See `select`.
        worst_at_least: See `select`.

    Raises:
        ConfigError: As `select`.
        GraphError: The same of a graph; or it has no goal, or needs a horizon.

    Examples:
        >>> import networkx as nx
        >>> from tape import select_in
        >>> flow = nx.DiGraph()
        >>> flow.add_edge("draft", "done", action="review", cost={"usd": "$0.20"})
        >>> select_in(flow, start="draft", goals="done", budget={"usd": "$1"}).plan
        ['review']
    """
    if not is_graph(graph):
        raise ConfigError(f"graph={short(graph)}: expected a directed graph; lists of steps go with tape.select(plans)")
    asked = SelectRequest(cost, value, caps_of(budget), start, goals, horizon)
    return _chosen(graph, asked, budget, k, _rules(rules, at_least, worst_at_least)).answer(
        k, frontier, epsilon, proof=proof
    )


def schedule(
    steps: Mapping[Any, Any],
    *,
    budget: Mapping[str, Any] | str | None = None,
    after: Mapping[Any, Any] | None = None,
    parallel: int | None = None,
    at_once: Mapping[str, int] | None = None,
    aim: str = "value",
    rules: Sequence[Rule | Mapping[str, Any]] = (),
    worst_at_least: Mapping[str, Any] | None = None,
) -> Choice:
    """As `select`, of steps that are all done, each in one of its variants: which, and when each starts.

    Args:
        steps: By step a list of variants: dicts of amounts by resource and, if any, ``name``, ``value`` and ``tool``.
        budget: See `select`.
        after: By step, those that must have ended before it starts.
        parallel: The most at once.
        at_once: The most at once by tool.
        aim: ``"value"``, or the resource of which as little as possible is to be used.
        rules: Between variants, by their names; all but `Before`, since `after` says the order.
        worst_at_least: See `select`.

    Raises:
        ConfigError: As `select`.

    Examples:
        >>> from tape import schedule
        >>> steps = {"load": [{"name": "quick", "seconds": 5}], "join": [{"name": "hash", "seconds": 9}]}
        >>> float(schedule(steps, after={"join": ["load"]}, budget={"seconds": 60}).spent["seconds"])
        14.0
    """
    if not isinstance(steps, Mapping):
        raise ConfigError(f"steps={short(steps)}: expected a dict of steps, each with its variants")
    kept = [*read_rules(rules), *read_floors(worst_at_least or {}, worst=True)]
    limits = ScheduleLimits(after, parallel, at_once, aim, kept)
    return select_schedule(steps, limits, caps_of(budget), as_written(budget))


def _chosen(
    plans: Any, asked: SelectRequest, budget: Mapping[str, Any] | str | None, k: int, rules: Sequence[Rule]
) -> PlanSearch:
    """The problem of what was given, checked."""
    _require_counts(k, asked.horizon)
    options = options_of(plans, asked)
    _require_named(asked.caps, options, asked.cost)
    return PlanSearch(options, asked.caps, as_written(budget), rules)


def _rules(rules: Any, at_least: Any, worst_at_least: Any) -> list[Rule]:
    """Rules and floors together."""
    floors = read_floors(at_least or {}, worst=False) + read_floors(worst_at_least or {}, worst=True)
    return [*read_rules(rules), *floors]


def _require_counts(k: object, horizon: object) -> None:
    asked = (("k", k, "how many plans"), ("horizon", 1 if horizon is None else horizon, "the most steps"))
    for name, given, what in asked:
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise ConfigError(f"{name}={given!r}: {what}, at least 1")


def _require_named(caps: Mapping[str, Decimal], space: PlanSpace, cost: object) -> None:
    """Refuse a budget that no cost names: it would cap nothing; and a resource that goes by two names.

    Functions and graphs may name a declared resource another time, and `Resources` keep no zeros.
    """
    table = list(cost.values()) if isinstance(cost, Mapping) else []
    whole = bool(table) and not any(isinstance(item, Resources) for item in table)
    costs = [
        *(option.cost for option in space.options),
        *(mapping for mapping in table if isinstance(mapping, Mapping)),
    ]
    named = {name for mapping in costs for name in mapping}
    for name in caps:
        if named and name not in named and (whole or name not in kinds()):
            raise ConfigError(
                f"the budget {name!r} would cap nothing: no cost names it{nearest(name, named)}. Costs name "
                f"{', '.join(sorted(named))}; a step that takes none of it says {{{name!r}: 0}}"
            )
    require_apart({**caps, **dict.fromkeys(named)})
