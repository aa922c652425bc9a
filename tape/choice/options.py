"""What there is to choose from, as one graph: plans as lists of steps, a plan graph, or a networkx graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tape.budget import kind_of, kinds
from tape.choice.amounts import amounts_of, cost_reader, number, plain, value_reader
from tape.errors import ConfigError, GraphError


@dataclass(frozen=True)
class EdgeOption:
    """An edge: a step that may be taken.

    Attributes:
        tail: Number of the node before.
        head: Number of the node after.
        step: The step.
        gain: The value of taking it, with that of the node that it leads to.
        cost: What it takes; an amount is None where it is unknown and nothing caps it.
        listed: It is a step of the plan that comes back; else it only chooses between plans.
        stands_for: The step that was given, where this is one of its variants.
    """

    tail: int
    head: int
    step: Any
    gain: Fraction
    cost: Mapping[str, Decimal | None]
    listed: bool = True
    stands_for: Any = None

    @property
    def names(self) -> tuple[Any, ...]:
        """What rules call it; none where it is no step."""
        return (self.step, *([] if self.stands_for is None else [self.stands_for])) if self.listed else ()


@dataclass(frozen=True)
class PlanSpace:
    """The graph that a plan is a path of.

    Attributes:
        names: The nodes, for people.
        options: The edges.
        start: Number of the node where plans begin.
        ends: Numbers of the nodes where plans may end.
        moves: The most edges of a path; None if that follows from the graph.
        describe: Writes an option, for people.
        lists: The plans were given as lists of steps.
        again: Number of the node that stands for ending at the start after having left it; None if there is none.
    """

    names: Sequence[str]
    options: Sequence[EdgeOption]
    start: int
    ends: Sequence[int]
    moves: int | None
    describe: Callable[[EdgeOption], str]
    lists: bool = False
    again: int | None = None

    @property
    def enough(self) -> bool:
        """Whether the moves have no limit."""
        return self.lists or self.moves is None


@dataclass(frozen=True)
class SelectRequest:
    """What `select` was given beside the plans."""

    cost: object
    value: object
    caps: Mapping[str, Decimal]
    start: Any = None
    goals: Any = None
    horizon: int | None = None
    variants: Mapping[Any, Sequence[Any]] | None = None


def is_graph(given: object) -> bool:
    """Whether something is a plan graph, or one of networkx."""
    return _is_plan_graph(given) or all(hasattr(given, name) for name in ("is_directed", "nodes", "edges"))


def _is_plan_graph(given: object) -> bool:
    return hasattr(given, "usable_edges") and hasattr(given, "path_problem")


def options_of(plans: Any, asked: SelectRequest) -> PlanSpace:
    """The graph of whatever was given."""
    if not is_graph(plans):
        return _of_lists(plans, asked)
    if asked.start is None:
        raise ConfigError("start= is needed for a graph: the node where plans begin")
    return _of_plan_graph(plans, asked) if _is_plan_graph(plans) else _of_networkx(plans, asked)


# --- lists of steps -----------------------------------------------------------------------------


def _of_lists(plans: Any, asked: SelectRequest) -> PlanSpace:
    """Each plan is a chain of its own behind a first edge that chooses it and earns the value of the plan itself."""
    lists = _lists(plans)
    gains, value = _plan_values(asked.value, len(lists))
    read_cost, read_value = cost_reader(asked.cost, asked.caps), value_reader(value)
    if asked.cost is None and asked.caps:
        raise ConfigError("cost= is needed: what each step takes of what is capped, as a dict by step or a function")
    variants = _variants(asked.variants)
    options: list[EdgeOption] = []
    names = ["the start"]
    ends = []
    for i, plan in enumerate(lists):
        names.append(f"plan {i}")
        options.append(EdgeOption(0, len(names) - 1, None, gains[i], {}, listed=False))
        for step in plan:
            names.append(f"after {step!r}")
            for variant in variants(step):
                cost = read_cost(variant)
                if cost is None and asked.cost is not None:
                    raise ConfigError(
                        f"step {variant!r} has no cost; an unknown cost is not 0, so declare one ({{}} if it is free)"
                    )
                ends_here, gain = (len(names) - 2, len(names) - 1), read_value(variant)
                options.append(EdgeOption(*ends_here, variant, gain, cost or {}, stands_for=step))
        ends.append(len(names) - 1)
    longest = 1 + max(map(len, lists))
    return PlanSpace(names, options, 0, ends, longest, lambda option: repr(option.step), lists=True)


def _lists(plans: Any) -> list[list[Any]]:
    if isinstance(plans, str | bytes | Mapping) or not isinstance(plans, Iterable):
        raise ConfigError(f"plans={plans!r}: expected plans, each a list of steps, or a directed graph")
    lists = []
    for plan in plans:
        if isinstance(plan, str | bytes | Mapping | set) or not isinstance(plan, Iterable):
            raise ConfigError(f"a plan is a list of steps, got {plan!r}; a single plan is given as [[step, ...]]")
        lists.append(list(plan))
    if not lists:
        raise ConfigError("there are no plans to choose from")
    return lists


def _plan_values(value: object, count: int) -> tuple[list[Fraction], object]:
    """The value of each plan as a whole, and the values of its steps."""
    if isinstance(value, str | bytes | Mapping) or callable(value) or not isinstance(value, Iterable):
        return [Fraction(0)] * count, value
    values = [number(item, f"the value of plan {i}") for i, item in enumerate(value)]
    if len(values) != count:
        raise ConfigError(f"value= lists {len(values)} values for {count} plans")
    return values, None


def _variants(variants: Mapping[Any, Sequence[Any]] | None) -> Callable[[Any], Sequence[Any]]:
    """What may stand in the place of a step."""
    if variants is None:
        return lambda step: (step,)
    if not isinstance(variants, Mapping):
        raise ConfigError(f"variants={variants!r}: expected lists of steps by the step that they may replace")
    table: dict[Any, list[Any]] = {}
    for step, several in variants.items():
        if not isinstance(several, str | bytes | Mapping) and isinstance(several, Iterable):
            table[step] = list(several)  # read once: it may be a generator
        if not table.get(step):
            raise ConfigError(f"variants of {step!r}: expected a list of steps, got {several!r}")
    return lambda step: table[step] if isinstance(step, Hashable) and step in table else (step,)


# --- graphs -------------------------------------------------------------------------------------


def _of_plan_graph(graph: Any, asked: SelectRequest) -> PlanSpace:
    """A `tape.PlanGraph`, read as its own `path_problem` reads it."""
    goals = _goals(asked.goals, graph.nodes)
    problem, ids = graph.path_problem(asked.start, {}, 1, goals=goals)
    edges = [graph.edge(number) for number in ids]
    read_cost, read_value = cost_reader(asked.cost, asked.caps), value_reader(asked.value)
    options = []
    for i, ((tail, head), edge) in enumerate(zip(problem.edges, edges, strict=True)):
        own = problem.edge_rewards[i] if problem.edge_rewards else 0.0
        gain = number(own, "a reward") if asked.value is None else read_value(edge.action)
        cost: Mapping[str, Decimal | None] | None = read_cost(edge.action)
        if cost is None:
            cost = {name: _units(name, count) for name, count in edge.cost.items()}
        for name in asked.caps:
            if cost.get(name, 0) is None:
                raise GraphError(f"edge {edge.id} ({edge.action}): its cost in {name} is unknown under a hard cap")
        gain += number(problem.rewards[head], "a reward")
        options.append(EdgeOption(tail, head, edge.action, gain, cost))
    names = [repr(node) for node in graph.nodes]
    again = len(names) if problem.n_nodes > len(names) else None
    names += [repr(asked.start)] * (again is not None)
    return PlanSpace(names, options, problem.start, problem.terminals, asked.horizon, _between(names), again=again)


def _units(name: str, count: int | None) -> Decimal | None:
    if count is None:
        return None
    return plain(kind_of(name).amount(count)) if name in kinds() else Decimal(count)


def _of_networkx(graph: Any, asked: SelectRequest) -> PlanSpace:
    """A directed networkx graph with what `select` reads as attributes."""
    if not graph.is_directed():
        raise GraphError("the graph is undirected; steps lead one way, so give a DiGraph or a MultiDiGraph")
    number_of = {node: i for i, node in enumerate(graph.nodes)}
    if asked.start not in number_of:
        raise GraphError(f"start={asked.start!r} is no node of the graph")
    if (priced := next((node for node, data in graph.nodes(data=True) if "cost" in data), None)) is not None:
        raise GraphError(
            f"node {priced!r} has a cost, and steps are edges here: give the cost to the edges. Where an edge says "
            "that a step waits for another one, give tape.schedule a dict of steps, each with its variants, and after="
        )
    rewards = {node: _reward(data, f"node {node!r}") for node, data in graph.nodes(data=True)}
    ends = _ends(graph, asked.goals, number_of)
    read_cost, read_value = cost_reader(asked.cost, asked.caps), value_reader(asked.value)
    options = []
    for tail, head, data in graph.edges(data=True):
        step = data.get("action", head)
        what = f"edge {tail!r} -> {head!r} ({step!r})"
        cost = read_cost(step)
        if cost is None and "cost" in data:
            cost = amounts_of(data["cost"], asked.caps, f"the cost of {what}")
        if cost is None and (asked.caps or asked.cost is not None):
            raise GraphError(f"{what} has no cost; an unknown cost is not 0, so set its attribute `cost` or give cost=")
        gain = (_reward(data, what) if asked.value is None else read_value(step)) + rewards[head]
        options.append(EdgeOption(number_of[tail], number_of[head], step, gain, cost or {}))
    names = [repr(node) for node in number_of]
    return PlanSpace(names, options, number_of[asked.start], ends, asked.horizon, _between(names))


def _ends(graph: Any, goals: Any, number_of: Mapping[Any, int]) -> list[int]:
    named = _goals(goals, number_of)
    if named is None:
        named = [node for node, data in graph.nodes(data=True) if data.get("goal", False)]
        if not named:
            raise GraphError(
                "no path can end anywhere: declare a goal by goals=[node] or by a node's attribute goal=True"
            )
    for goal in named:
        if goal not in number_of:
            raise GraphError(f"goal {goal!r} is no node of the graph")
    return [number_of[goal] for goal in named]


def _goals(goals: Any, nodes: Any) -> list[Any] | None:
    """The goals as a list; a single node may be given as it is."""
    if goals is None:
        return None
    if (
        isinstance(goals, str | bytes)
        or not isinstance(goals, Iterable)
        or (isinstance(goals, Hashable) and goals in nodes)
    ):
        return [goals]
    named = list(goals)
    if not named:
        raise GraphError("goals= names no node; name at least one")
    return named


def _reward(data: Mapping[str, Any], what: str) -> Fraction:
    matching_datums = [data[name] for name in ("reward", "value") if name in data]
    if len(matching_datums) > 1:
        raise GraphError(f"{what} has both `reward` and `value`; give one of them")
    return number(matching_datums[0], f"the reward of {what}") if matching_datums else Fraction(0)


def _between(names: Sequence[str]) -> Callable[[EdgeOption], str]:
    return lambda option: f"{option.step!r} from {names[option.tail]} to {names[option.head]}"
