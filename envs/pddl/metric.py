"""What a plan of a planning problem uses: numbers that actions only increase are resources, and so is the metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from envs.pddl.errors import PddlError
from envs.pddl.expressions import Binding, Evaluated, Expressions, Values, reads

if TYPE_CHECKING:
    from unified_planning.model import Problem

TOTAL_COST = "total-cost"
METRIC = "metric"

Price = Callable[[str, Values, Binding, Mapping[str, Fraction]], Mapping[str, Fraction]]


def _nothing(*_: Any) -> Mapping[str, Fraction]:
    return {}


@dataclass(frozen=True)
class Metric:
    """What is minimized.

    Attributes:
        name: Its resource; empty without a metric, where plans are to be short.
        of_step: What a step adds to it, beside the numbers that are counted anyway.
        final: What the last state adds to it.
    """

    name: str = ""
    of_step: Price = field(default=_nothing)
    final: Evaluated | None = None


def accumulators(problem: Problem) -> frozenset[str]:
    """The numbers without parameters that actions only increase and nothing reads.

    Nothing that can be done depends on them, so they need not be told apart in a state: they are resources.
    """
    changes: dict[str, list[Any]] = {}
    read = set[str]()
    for action in problem.actions:
        read |= reads(action.preconditions)
        for effect in action.effects:
            name = effect.fluent.fluent().name
            changes.setdefault(name, []).append(effect)
            read |= reads([effect.value, effect.condition, *effect.fluent.args])
    read |= reads(problem.goals)
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
    for node, value in problem.explicit_initial_values.items():
        if not value.is_bool_constant():
            name, amount = node.fluent().name, Fraction(value.constant_value())
            lowest[name] = min(lowest.get(name, amount), amount)
    return lowest


def _never_negative(node: Any, changes: Mapping[str, Any], lowest: Mapping[str, Fraction]) -> bool:
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


def metric_of(problem: Problem, counted: frozenset[str], made: Expressions, preferences: bool) -> Metric:
    """The metric of a problem.

    Args:
        problem: The problem.
        counted: Its :func:`accumulators`.
        made: Makes functions of expressions.
        preferences: Whether preferences add to it.

    Raises:
        PddlError: It is maximized, or of another kind.
    """
    metrics = problem.quality_metrics
    if len(metrics) > 1:
        raise PddlError(f"one metric is supported, and {problem.name} has {len(metrics)}")
    metric = metrics[0] if metrics else None
    if metric is not None and metric.is_minimize_action_costs():
        costs = {action.name: made.of(cost) for action in problem.actions if (cost := metric.get_action_cost(action))}
        return _of_costs(METRIC if preferences else TOTAL_COST, costs)
    if metric is None or metric.is_minimize_sequential_plan_length():
        if not preferences:
            return Metric()
        length = metric is not None
        return Metric(METRIC, lambda *_: {METRIC: Fraction(length)})
    if not metric.is_minimize_expression_on_final_state():
        raise PddlError(f"the metric has to be minimized, and is: {metric}")
    return _of_expression(metric.expression, counted, made, preferences)


def _of_costs(name: str, costs: Mapping[str, Evaluated]) -> Metric:
    def price(action: str, values: Values, bound: Binding, _: Mapping[str, Fraction]) -> Mapping[str, Fraction]:
        amount = costs[action](values, bound) if action in costs else Fraction(0)
        if amount < 0:
            raise PddlError(f"{action} costs {amount}; a cost must not be negative")
        return {TOTAL_COST: amount, name: amount}

    return Metric(name, price)


def _of_expression(node: Any, counted: frozenset[str], made: Expressions, preferences: bool) -> Metric:
    """A metric over numbers: a factor for each that is counted; the rest is read in the last state."""
    factors, rest = dict[str, Fraction](), list[Any]()
    for term in node.args if node.is_plus() else (node,):
        factor, number = _factor(term)
        if number in counted and factor >= 0:
            factors[number] = factors.get(number, Fraction(0)) + factor
        else:
            rest.append(term)
    if not rest and not preferences and list(factors.values()) == [1]:
        return Metric(next(iter(factors)))
    ends = [made.of(term) for term in rest]

    def final(values: Values, bound: Binding) -> Fraction:
        return sum((end(values, bound) for end in ends), Fraction(0))

    def price(*given: Any) -> Mapping[str, Fraction]:
        used: Mapping[str, Fraction] = given[3]
        return {METRIC: sum((factor * used[name] for name, factor in factors.items()), Fraction(0))}

    return Metric(METRIC, price, final if ends or preferences else None)


def _factor(term: Any) -> tuple[Fraction, str]:
    """The factor of a term, and the number without parameters that it multiplies; of other terms an empty name."""
    if term.is_fluent_exp() and not term.args:
        return Fraction(1), str(term.fluent().name)
    if term.is_times() and len(term.args) == 2:
        for factor, number in (term.args, reversed(term.args)):
            if factor.is_constant() and number.is_fluent_exp() and not number.args:
                return Fraction(factor.constant_value()), str(number.fluent().name)
    return Fraction(0), ""
