"""Expressions of unified-planning, evaluated on states of our own: exact numbers, and only what is true is kept."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from envs.pddl.errors import PddlError

if TYPE_CHECKING:
    from unified_planning.model import FNode

Atom: TypeAlias = tuple[str, ...]
"""A fluent's name and the names of its objects."""

Binding: TypeAlias = Mapping[str, str]
"""The object of each parameter and variable, by name."""


@dataclass(frozen=True)
class Values:
    """What an expression is evaluated on.

    Attributes:
        facts: The atoms that are true, those that never change included.
        numbers: The value of each number that is defined.
    """

    facts: frozenset[Atom]
    numbers: Mapping[Atom, Fraction]


Evaluated: TypeAlias = Callable[[Values, Binding], Any]
"""Gives a bool, a Fraction or an object's name."""


class UndefinedError(PddlError):
    """A number is read that has no value, or a number is divided by 0."""


class Expressions:
    """Makes functions of expressions.

    Args:
        objects: The names of the objects of a type, by the type's name, those of its subtypes included.
    """

    def __init__(self, objects: Callable[[Any], Sequence[str]]) -> None:
        self._objects = objects

    def of(self, node: FNode) -> Evaluated:
        """The function of an expression.

        Raises:
            PddlError: It has an operator that is not supported.
        """
        name = node.node_type.name
        if name in ("BOOL_CONSTANT", "INT_CONSTANT", "REAL_CONSTANT", "OBJECT_EXP", "PARAM_EXP", "VARIABLE_EXP"):
            return _leaf(node, name)
        if name == "FLUENT_EXP":
            return self._fluent(node)
        if name in ("EXISTS", "FORALL"):
            return self._quantified(node, name == "FORALL")
        parts = [self.of(argument) for argument in node.args]
        if name in ("AND", "OR"):
            some = all if name == "AND" else any
            return lambda values, bound: some(part(values, bound) for part in parts)
        if name not in _OPERATORS:
            raise PddlError(f"expressions with {name.lower().replace('_', ' ')} are not supported: {node}")
        return _operation(_OPERATORS[name], parts)

    def _fluent(self, node: FNode) -> Evaluated:
        fluent, arguments = node.fluent(), [self.of(argument) for argument in node.args]
        name = fluent.name
        if fluent.type.is_bool_type():
            return lambda values, bound: (name, *(part(values, bound) for part in arguments)) in values.facts

        def number(values: Values, bound: Binding) -> Fraction:
            atom = (name, *(part(values, bound) for part in arguments))
            if atom not in values.numbers:
                raise UndefinedError(f"{written(atom)} has no value")
            return values.numbers[atom]

        return number

    def _quantified(self, node: FNode, every: bool) -> Evaluated:
        names = [variable.name for variable in node.variables()]
        ranges = [self._objects(variable.type) for variable in node.variables()]
        inner, some = self.of(node.arg(0)), all if every else any
        return lambda values, bound: some(
            inner(values, {**bound, **dict(zip(names, chosen, strict=True))}) for chosen in product(*ranges)
        )

    def bindings(self, variables: Sequence[Any], bound: Binding) -> Iterator[Binding]:
        """Every way to bind variables, beside what is bound."""
        for chosen in product(*(self._objects(variable.type) for variable in variables)):
            yield {**bound, **{v.name: value for v, value in zip(variables, chosen, strict=True)}}


def _leaf(node: FNode, name: str) -> Evaluated:
    if name == "PARAM_EXP":
        parameter = node.parameter().name
        return lambda _, bound: bound[parameter]
    if name == "VARIABLE_EXP":
        variable = node.variable().name
        return lambda _, bound: bound[variable]
    value: Any = node.object().name if name == "OBJECT_EXP" else node.constant_value()
    constant = Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else value
    return lambda *_: constant


def _quotient(first: Fraction, second: Fraction) -> Fraction:
    if second == 0:
        raise UndefinedError(f"{first} is divided by 0")
    return first / second


_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "NOT": operator.not_,
    "IMPLIES": lambda first, second: not first or second,
    "IFF": operator.eq,
    "PLUS": lambda *terms: sum(terms),
    "MINUS": operator.sub,
    "TIMES": lambda first, *others: _product(first, others),
    "DIV": _quotient,
    "LE": operator.le,
    "LT": operator.lt,
    "EQUALS": operator.eq,
}


def _product(first: Fraction, others: Sequence[Fraction]) -> Fraction:
    for other in others:
        first *= other
    return first


def _operation(function: Callable[..., Any], parts: Sequence[Evaluated]) -> Evaluated:
    return lambda values, bound: function(*(part(values, bound) for part in parts))


def written(atom: Sequence[str]) -> str:
    """An atom or an action as PDDL: ``(on a b)``."""
    return f"({' '.join(atom)})"


def reads(nodes: Sequence[FNode]) -> set[str]:
    """The names of the fluents in expressions."""
    names, waiting = set[str](), list(nodes)
    while waiting:
        node = waiting.pop()
        if node.is_fluent_exp():
            names.add(node.fluent().name)
        waiting += node.args
    return names
