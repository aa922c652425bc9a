"""A planning problem with exact semantics: what applies in a state, what it leads to, and what it uses.

The semantics are those of PDDL 2.1 (Fox and Long 2003, section 6), level 2: conditions and values are read in the state
before an action, an atom that is deleted and added is true, and increases of one number add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from envs.pddl.errors import PddlError
from envs.pddl.expressions import Atom, Binding, Evaluated, Expressions, UndefinedError, Values, reads, written
from envs.pddl.matching import Index, Pattern, indexed, matches, patterns
from envs.pddl.metric import Metric, accumulators, initial_values, metric_of, objective_of
from envs.pddl.names import FINISH
from envs.pddl.state import PddlState

if TYPE_CHECKING:
    from unified_planning.model import Problem


@dataclass(frozen=True)
class Schema:
    """An action with its parameters open.

    Attributes:
        name: Its name in PDDL.
        parameters: The name and the allowed objects of each parameter.
        conditions: What has to hold: the text, and its value.
        patterns: The conditions that are atoms, in the order in which they are matched.
        effects: The effects.
    """

    name: str
    parameters: tuple[tuple[str, tuple[str, ...]], ...]
    conditions: tuple[tuple[Any, Evaluated], ...]
    patterns: tuple[Pattern, ...]
    effects: tuple[_Effect, ...]


@dataclass(frozen=True)
class _Effect:
    fluent: str
    arguments: tuple[Evaluated, ...]
    value: Evaluated
    condition: Evaluated
    variables: tuple[Any, ...]
    change: str
    boolean: bool


@dataclass(frozen=True)
class PddlStep:
    """What comes of an action.

    Attributes:
        state: The state after it; None where it does not apply.
        used: The amount of each resource.
        refused: Why it does not apply.
    """

    state: PddlState | None
    used: Mapping[str, Fraction]
    refused: str = ""


class PddlTask:
    """A problem that can be played.

    Args:
        problem: A classical or numeric problem of unified-planning.
        preferences: The condition and the weight of each preference, by its name.
        bounds: The most that a number of the state may be, by its atom.

    Raises:
        PddlError: The problem has something that is not supported.
    """

    def __init__(
        self,
        problem: Problem,
        preferences: Sequence[tuple[str, Any, Fraction]] = (),
        bounds: Mapping[Atom, Fraction] | None = None,
    ) -> None:
        self.problem, self.bounds = problem, dict(bounds or {})
        self._of_type: dict[Any, tuple[str, ...]] = {}
        self._expressions = Expressions(self.objects)
        objective, values = objective_of(problem), initial_values(problem)
        facts = frozenset(atom for atom, value in values.items() if value is True)
        numbers = {atom: value for atom, value in values.items() if not isinstance(value, bool)}
        self.counted = accumulators(problem, objective, [node for _, node, _ in preferences])
        counts = {name: numbers.get((name,), Fraction(0)) for name in self.counted}
        self.metric: Metric = metric_of(objective, counts, self._expressions, bool(preferences))
        self.used_at_start = counts | ({self.metric.name: self.metric.start} if self.metric.name else {})
        self._preferences = [(self._expressions.of(node), weight) for _, node, weight in preferences]
        self.schemas = {action.name: self._schema(action) for action in problem.actions}
        self._goals = [(str(goal), self._expressions.of(goal)) for goal in problem.goals]
        changed = {effect.fluent for schema in self.schemas.values() for effect in schema.effects}
        self._static = frozenset(atom for atom in facts if atom[0] not in changed)
        self._constants = {atom: value for atom, value in numbers.items() if atom[0] not in changed}
        self._index: Index = indexed(self._static)
        varying = tuple(sorted((atom, v) for atom, v in numbers.items() if atom[0] in changed - self.counted))
        self.start = PddlState(facts - self._static, varying)

    def objects(self, kind: Any) -> tuple[str, ...]:
        """The names of a type's objects, those of its subtypes included."""
        if kind not in self._of_type:
            self._of_type[kind] = tuple(item.name for item in self.problem.objects(kind))
        return self._of_type[kind]

    @property
    def finishes(self) -> bool:
        """Whether a plan has to say where it ends, since the last state has a price."""
        return bool(self._preferences) or self.metric.final is not None

    def _schema(self, action: Any) -> Schema:
        made = self._expressions
        conditions = [part for node in action.preconditions for part in _conjuncts(node)]
        effects = tuple(
            _Effect(
                effect.fluent.fluent().name,
                tuple(map(made.of, effect.fluent.args)),
                made.of(effect.value),
                made.of(effect.condition),
                tuple(effect.forall),
                effect.kind.name,
                effect.fluent.fluent().type.is_bool_type(),
            )
            for effect in action.effects
        )
        parameters = tuple((p.name, self.objects(p.type)) for p in action.parameters)
        return Schema(
            action.name, parameters, tuple((n, made.of(n)) for n in conditions), patterns(conditions), effects
        )

    def constant_lines(self) -> list[str]:
        """The atoms and numbers that never change, in PDDL, sorted."""
        return PddlState(self._static, tuple(sorted(self._constants.items()))).lines()

    def values(self, state: PddlState) -> Values:
        """A state with what never changes."""
        return Values(state.facts | self._static, {**self._constants, **dict(state.numbers)})

    def reached(self, state: PddlState) -> bool:
        """Whether the goal holds, and the plan is ended where it has to say so."""
        return (state.finished or not self.finishes) and not self._missing(state)

    def _missing(self, state: PddlState) -> str:
        """A part of the goal that does not hold; empty where all of it does."""
        values = self.values(state)
        return next((text for text, goal in self._goals if not _true(goal, values)), "")

    def step(self, state: PddlState, call: Atom) -> PddlStep:
        """What comes of an action: ``("stack", "a", "b")``."""
        name, arguments = call[0], call[1:]
        if state.finished:
            return PddlStep(None, {}, "the plan has ended")
        if name == FINISH and self.finishes and not arguments:
            return self._finish(state)
        if name not in self.schemas:
            return PddlStep(None, {}, f"there is no action {name}")
        schema, values = self.schemas[name], self.values(state)
        if len(arguments) != len(schema.parameters):
            return PddlStep(None, {}, f"{name} has {len(schema.parameters)} parameters, got {len(arguments)}")
        bound = {parameter: given for (parameter, _), given in zip(schema.parameters, arguments, strict=True)}
        for (parameter, allowed), given in zip(schema.parameters, arguments, strict=True):
            if given not in allowed:
                return PddlStep(None, {}, f"{given} cannot be {parameter} of {name}")
        try:
            for node, holds in schema.conditions:
                if not holds(values, bound):
                    return PddlStep(None, {}, f"{written(call)} needs {_substituted(node, bound)}")
            return self._applied(state, schema, values, bound)
        except UndefinedError as error:
            return PddlStep(None, {}, f"{written(call)}: {error}")

    def _applied(self, state: PddlState, schema: Schema, values: Values, bound: Binding) -> PddlStep:
        added, deleted = set[Atom](), set[Atom]()
        assigned, changes = dict[Atom, Fraction](), dict[Atom, Fraction]()
        for effect in schema.effects:
            for inner in self._expressions.bindings(effect.variables, bound):
                if not effect.condition(values, inner):
                    continue
                atom = (effect.fluent, *(argument(values, inner) for argument in effect.arguments))
                value = effect.value(values, inner)
                if effect.boolean:
                    (added if value else deleted).add(atom)
                elif effect.change == "ASSIGN":
                    if assigned.setdefault(atom, value) != value:
                        return PddlStep(None, {}, f"{schema.name} would assign two values to {written(atom)}")
                else:
                    changes[atom] = changes.get(atom, Fraction(0)) + (value if effect.change == "INCREASE" else -value)
        if both := assigned.keys() & changes.keys():
            return PddlStep(None, {}, f"{schema.name} would assign and change {written(min(both))} at once")
        before = dict(state.numbers)
        numbers = before | assigned
        for atom, amount in changes.items():
            if atom[0] in self.counted:
                continue
            if atom not in numbers:
                raise UndefinedError(f"{written(atom)} has no value")
            numbers[atom] += amount
        for atom, most in self.bounds.items():
            if numbers.get(atom, most) > max(most, before.get(atom, most)):
                return PddlStep(None, {}, f"{written(atom)} would be {numbers[atom]}, and its cap is {most}")
        after = PddlState(frozenset((state.facts - deleted) | added), tuple(sorted(numbers.items())))
        used = {name: changes.get((name,), Fraction(0)) for name in self.counted}
        return PddlStep(after, {**used, **self.metric.of_step(schema.name, values, bound, used)})

    def _finish(self, state: PddlState) -> PddlStep:
        if missing := self._missing(state):
            return PddlStep(None, {}, f"the goal does not hold: {missing}")
        values = self.values(state)
        price = sum((weight for holds, weight in self._preferences if not _true(holds, values)), Fraction(0))
        price += self.metric.final(values, {}) if self.metric.final else 0
        if price < 0:
            raise PddlError(f"the metric of a last state is {price}; it must not be negative")
        ended = PddlState(state.facts, state.numbers, finished=True)
        return PddlStep(ended, {self.metric.name: price})

    def follow(self, state: PddlState, plan: Sequence[Atom]) -> PddlStep:
        """What comes of a plan to the goal, which is ended where it has to say so.

        Returns:
            The last state with all that was used; or why it is no such plan.
        """
        used: dict[str, Fraction] = {}
        for call in [*plan, *([(FINISH,)] if self.finishes else [])]:
            step = self.step(state, call)
            if step.state is None:
                return step
            state = step.state
            for name, amount in step.used.items():
                used[name] = used.get(name, Fraction(0)) + amount
        if missing := self._missing(state):
            return PddlStep(None, {}, f"the plan does not reach {missing}")
        return PddlStep(state, used)

    def applicable(self, state: PddlState) -> Iterator[Atom]:
        """The actions whose conditions hold in a state, by the order of the domain."""
        if state.finished:
            return
        values = self.values(state)
        index = indexed(state.facts)
        for schema in self.schemas.values():
            for bound in matches(schema.patterns, schema.parameters, index, self._index):
                call = (schema.name, *(bound[name] for name, _ in schema.parameters))
                try:
                    if all(holds(values, bound) for _, holds in schema.conditions):
                        yield call
                except UndefinedError:
                    continue
        if self.finishes and not self._missing(state):
            yield (FINISH,)


def _true(condition: Evaluated, values: Values) -> bool:
    """Whether a condition holds; one that reads a number without a value does not."""
    try:
        return bool(condition(values, {}))
    except UndefinedError:
        return False


def _conjuncts(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        node = waiting.pop(0)
        if node.is_and():
            waiting[:0] = node.args
        elif not node.is_true():
            yield node


def _substituted(node: Any, bound: Binding) -> str:
    """A condition with its parameters filled in."""
    if node.is_fluent_exp() and not any(argument.args for argument in node.args):
        names = (bound.get(str(argument), str(argument)) for argument in node.args)
        return written((node.fluent().name, *names))
    inner = ", ".join(f"{name} = {bound[name]}" for name in bound)
    return f"{node} with {inner}" if reads([node]) and inner else str(node)
