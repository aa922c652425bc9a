"""What a plan of a planning problem uses: numbers that actions only increase are resources, and so is the metric."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from envs.pddl.errors import PddlError
from envs.pddl.expressions import Atom, Binding, Evaluated, Expressions, Values, reads

if TYPE_CHECKING:
    from unified_planning.model import Problem

TOTAL_COST = "total-cost"
METRIC = "metric"

Price = Callable[[str, Values, Binding, Mapping[str, Fraction]], Mapping[str, Fraction]]


@dataclass(frozen=True)
class MetricTerms:
    """What a problem minimizes, as it is written.

    Attributes:
        costs: The cost of each action that has one; None without costs of actions.
        numbers: The factor and the expression of each number without parameters.
        rest: All other terms, each with its factor.
        constant: The sum of the constants.
        length: What an action adds, where plans are to be short.
    """

    costs: Mapping[str, Any] | None = None
    numbers: Mapping[str, tuple[Fraction, Any]] = field(default_factory=dict)
    rest: Sequence[tuple[Fraction, Any]] = ()
    constant: Fraction = Fraction(0)
    length: int = 0

    @property
    def subtracts(self) -> bool:
        """Whether something is taken from the sum."""
        return any(factor < 0 for factor, _ in (*self.numbers.values(), *self.rest))


def objective_of(problem: Problem) -> MetricTerms:
    """The objective of a problem.

    Raises:
        PddlError: There are several, or it is none that is supported.
    """
    metrics = problem.quality_metrics
    if len(metrics) > 1:
        raise PddlError(f"one metric is supported, and {problem.name} has {len(metrics)}")
    if not metrics or metrics[0].is_minimize_sequential_plan_length():
        return MetricTerms(length=len(metrics))
    [metric] = metrics
    if metric.is_minimize_action_costs():
        costs = {action.name: metric.get_action_cost(action) for action in problem.actions}
        return MetricTerms({name: cost for name, cost in costs.items() if cost is not None})
    if not metric.is_minimize_expression_on_final_state():
        raise PddlError(f"the metric has to minimize numbers, costs of actions or the length, and is: {metric}")
    numbers, rest, constant = dict[str, tuple[Fraction, Any]](), list[tuple[Fraction, Any]](), Fraction(0)
    for factor, node in _terms(metric.expression, Fraction(1)):
        if node is None:
            constant += factor
        elif node.is_fluent_exp() and not node.args:
            name = node.fluent().name
            numbers[name] = numbers.get(name, (Fraction(0), node))[0] + factor, node
        else:
            rest.append((factor, node))
    return MetricTerms(None, numbers, rest, constant)


def _terms(node: Any, factor: Fraction) -> Iterator[tuple[Fraction, Any]]:
    """The terms of a sum, each with its constant factor; of a constant the expression is None."""
    if node.is_plus():
        for part in node.args:
            yield from _terms(part, factor)
    elif node.is_minus():
        yield from _terms(node.arg(0), factor)
        yield from _terms(node.arg(1), -factor)
    elif node.is_int_constant() or node.is_real_constant():
        yield factor * Fraction(node.constant_value()), None
    elif node.is_div() and node.arg(1).is_constant() and node.arg(1).constant_value():
        yield from _terms(node.arg(0), factor / Fraction(node.arg(1).constant_value()))
    elif node.is_times():
        open_parts = [part for part in node.args if not part.is_constant()]
        for part in node.args:
            factor *= Fraction(part.constant_value()) if part.is_constant() else 1
        if len(open_parts) == 1:
            yield from _terms(open_parts[0], factor)
        else:
            yield factor, node.environment.expression_manager.Times(open_parts) if open_parts else None
    else:
        yield factor, node


def accumulators(problem: Problem, objective: MetricTerms, preferences: Sequence[Any] = ()) -> frozenset[str]:
    """The numbers without parameters that actions only increase and nothing reads but the metric, in a sum.

    Nothing that can be done depends on them, so they need not be told apart in a state: they are resources.

    Args:
        problem: The problem.
        objective: Its objective.
        preferences: The conditions of its preferences.
    """
    changes: dict[str, list[Any]] = {}
    read = reads([*problem.goals, *preferences, *(objective.costs or {}).values(), *(n for _, n in objective.rest)])
    if objective.subtracts:  # no part of the sum alone is sure to be no less than nothing
        read |= set(objective.numbers)
    for action in problem.actions:
        read |= reads(action.preconditions)
        for effect in action.effects:
            changes.setdefault(effect.fluent.fluent().name, []).append(effect)
            read |= reads([effect.value, effect.condition, *effect.fluent.args])
    lowest = _lowest(problem)
    return frozenset(
        fluent.name
        for fluent in problem.fluents
        if not fluent.arity and not fluent.type.is_bool_type() and fluent.name not in read
        if fluent.name in changes
        if all(e.is_increase() and _never_negative(e.value, changes, lowest) for e in changes[fluent.name])
    )


def _lowest(problem: Problem) -> Mapping[str, Fraction]:
    """The lowest value of each number at the start."""
    lowest: dict[str, Fraction] = {}
    for atom, value in initial_values(problem).items():
        if not isinstance(value, bool):
            lowest[atom[0]] = min(lowest.get(atom[0], value), value)
    return lowest


def initial_values(problem: Problem) -> Mapping[Atom, bool | Fraction]:
    """The values at the start. Atoms that are false by default are left out, since there may be very many.

    Raises:
        PddlError: A value is no constant.
    """
    given: dict[Atom, Any] = {}
    for fluent, default in problem.fluents_defaults.items():
        if not default.is_false():
            objects = (tuple(problem.objects(parameter.type)) for parameter in fluent.signature)
            given |= {_atom(fluent(*chosen)): default for chosen in product(*objects)}
    given |= {_atom(node): value for node, value in problem.explicit_initial_values.items()}
    values: dict[Atom, bool | Fraction] = {}
    for atom, node in given.items():
        value = problem.environment.simplifier.simplify(node)
        if not value.is_constant():
            raise PddlError(f"the initial value of ({' '.join(atom)}) is no constant: {node}")
        values[atom] = value.constant_value() if value.is_bool_constant() else Fraction(value.constant_value())
    return values


def _atom(node: Any) -> Atom:
    return (node.fluent().name, *(argument.object().name for argument in node.args))


def _never_negative(node: Any, changes: Collection[str], lowest: Mapping[str, Fraction]) -> bool:
    """Whether an expression is a sum or product of constants and unchanging numbers that are not negative."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.is_plus() or node.is_times():
            waiting += node.args
        elif node.is_fluent_exp():
            name = node.fluent().name
            if name in changes or lowest.get(name, Fraction(0)) < 0:
                return False
        elif not (node.is_int_constant() or node.is_real_constant()) or node.constant_value() < 0:
            return False
    return True


def _nothing(*_: Any) -> Mapping[str, Fraction]:
    return {}


@dataclass(frozen=True)
class Metric:
    """The objective as a resource.

    Attributes:
        name: Its resource; empty where plans are to be short.
        of_step: What a step adds to it, and to the costs of actions.
        final: What the last state adds to it.
        start: What it is before the first step.
        priced: The resources that :attr:`of_step` adds to, beside the numbers that are counted anyway.
    """

    name: str = ""
    of_step: Price = field(default=_nothing)
    final: Evaluated | None = None
    start: Fraction = Fraction(0)
    priced: tuple[str, ...] = ()


def metric_of(objective: MetricTerms, start: Mapping[str, Fraction], made: Expressions, preferences: bool) -> Metric:
    """The metric of an objective.

    Args:
        objective: The objective.
        start: What the :func:`accumulators` are at the start.
        made: Makes functions of expressions.
        preferences: Whether preferences add to it.
    """
    metric = _free(METRIC, start)
    if objective.costs is not None:
        return _of_costs(objective.costs, _free(TOTAL_COST, start), metric if preferences else "", made)
    if not (objective.numbers or objective.rest or objective.constant):
        if not preferences:
            return Metric()
        length = {metric: Fraction(objective.length)}
        return Metric(metric, lambda *_: length, priced=(metric,))
    factors = {name: factor for name, (factor, _) in objective.numbers.items() if name in start}
    alone = not (objective.rest or objective.constant or preferences) and objective.numbers.keys() <= start.keys()
    if alone and list(factors.values()) == [1]:
        [name] = factors
        return Metric(name, start=start[name])
    others = [pair for name, pair in objective.numbers.items() if name not in start]
    ends = [(factor, made.of(node)) for factor, node in (*objective.rest, *others)]

    at_end = objective.constant if objective.subtracts else Fraction(0)

    def final(values: Values, bound: Binding) -> Fraction:
        return sum((factor * end(values, bound) for factor, end in ends), at_end)

    def price(*given: Any) -> Mapping[str, Fraction]:
        used: Mapping[str, Fraction] = given[3]
        return {metric: sum((factor * used[name] for name, factor in factors.items()), Fraction(0))}

    begins = objective.constant - at_end + sum((factor * start[name] for name, factor in factors.items()), Fraction(0))
    return Metric(metric, price, final if ends else None, begins, (metric,))


def _of_costs(costs: Mapping[str, Any], total: str, metric: str, made: Expressions) -> Metric:
    evaluated = {name: made.of(cost) for name, cost in costs.items()}
    names = (total, metric) if metric else (total,)

    def price(action: str, values: Values, bound: Binding, _: Mapping[str, Fraction]) -> Mapping[str, Fraction]:
        amount = evaluated[action](values, bound) if action in evaluated else Fraction(0)
        if amount < 0:
            raise PddlError(f"{action} costs {amount}; a cost must not be negative")
        return dict.fromkeys(names, amount)

    return Metric(names[-1], price, priced=names)


def _free(name: str, taken: Collection[str]) -> str:
    """A name for the objective that no number has."""
    while name in taken:
        name += "-"
    return name
