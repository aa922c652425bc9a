"""A planner in a process of its own: ``python -m envs.pddl.planner_child``, a request in JSON as the only line of input.

Each plan is a line of output as soon as it is found, so that those that were found in time are kept. The last line says
how the planner ended. Its memory is limited from the start; the parent limits the time.
"""

from __future__ import annotations

import json
import resource
import sys
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from unified_planning.model import Problem

Call: TypeAlias = tuple[str, ...]

TOP_K = ("kstar",)
"""Planners that find the best plans of one problem themselves, and are no engines of unified-planning."""

MOST_FORBIDDEN = 3
"""Actions that are forbidden at once to make a planner find another plan."""


def main() -> None:
    """Answer the request."""
    asked = json.loads(sys.stdin.readline())
    size = asked["memory"] << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    out = sys.stdout
    sys.stdout = sys.stderr  # planners print what they do

    def tell(**line: Any) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    try:
        ended = _run(asked, lambda plan: tell(plan=plan))
    except MemoryError:
        ended = {"end": "memory"}
    except Exception as error:  # noqa: BLE001 - whatever a planner raises is its answer, and is told
        ended = {"end": "failed", "said": f"{type(error).__name__}: {error}".strip()[:500]}
    tell(**ended)


def _run(asked: dict[str, Any], tell: Callable[[Sequence[Call]], None]) -> dict[str, str]:
    import unified_planning.shortcuts as up

    up.get_environment().credits_stream = None
    from envs.pddl.reading import load_problem

    problem, _ = load_problem(Path(asked["domain"]), Path(asked["problem"]))
    _start_in(problem, asked["start"])
    name, count, found = asked["planner"], asked["count"], list[Sequence[Call]]()
    solve = _top_k if name in TOP_K else _engine(name)
    queue, seen = deque([frozenset[Call]()]), {frozenset[Call]()}
    end = "unsolvable"
    while queue and len(found) < count:
        forbidden = queue.popleft()
        changed, names = _without(problem, forbidden) if forbidden else (problem, {})
        status, plans = solve(changed, count - len(found))
        if not forbidden:
            end = status
        for plan in plans:
            calls = [(names.get(call[0], call[0]), *call[1:]) for call in plan]
            if calls not in found:
                found.append(calls)
                tell(calls)
            if name not in TOP_K and len(forbidden) < MOST_FORBIDDEN:
                following = [forbidden | {call} for call in calls]
                queue.extend(item for item in following if item not in seen)
                seen.update(following)
    return {"end": "solved" if found else end}


def _start_in(problem: Problem, start: dict[str, Any] | None) -> None:
    """Let a problem begin in another state, of those that its actions lead to."""
    if start is None:
        return
    expressions, facts = problem.environment.expression_manager, {tuple(atom) for atom in start["facts"]}
    changing = {effect.fluent.fluent().name for action in problem.actions for effect in action.effects}

    def node(atom: Sequence[str]) -> Any:
        return problem.fluent(atom[0])(*(problem.object(name) for name in atom[1:]))

    for given, value in list(problem.explicit_initial_values.items()):
        atom = (given.fluent().name, *(argument.object().name for argument in given.args))
        if atom[0] in changing and value.is_bool_constant() and atom not in facts:
            problem.set_initial_value(given, expressions.FALSE())
    for atom in facts:
        problem.set_initial_value(node(atom), expressions.TRUE())
    for atom, value in start["numbers"]:
        problem.set_initial_value(node(atom), Fraction(value))


def _engine(name: str) -> Callable[[Problem, int], tuple[str, list[list[Call]]]]:
    """A planner of unified-planning, with the compilations that it needs."""
    import unified_planning.shortcuts as up
    from unified_planning.engines import PlanGenerationResultStatus as Status

    def solve(problem: Problem, most: int) -> tuple[str, list[list[Call]]]:
        with up.OneshotPlanner(name=name) as planner:
            kind = planner.supported_kind()
        simple, back = _compiled(_relaxed(problem, kind), kind)
        if most > 1 and _is_anytime(name):
            with up.AnytimePlanner(name=name) as planner:
                results = list(islice(planner.get_solutions(simple), most))
        else:
            with up.OneshotPlanner(name=name) as planner:
                results = [planner.solve(simple)]
        plans = [_calls(back(result.plan)) for result in results if result.plan is not None]
        status = results[-1].status if results else Status.UNSOLVABLE_INCOMPLETELY
        ends = {Status.UNSOLVABLE_PROVEN: "unsolvable", Status.TIMEOUT: "time", Status.MEMOUT: "memory"}
        return ends.get(status, "not_found"), plans

    return solve


def _is_anytime(name: str) -> bool:
    import unified_planning.shortcuts as up

    return bool(up.get_environment().factory.engine(name).is_anytime_planner())


def _calls(plan: Any) -> list[Call]:
    return [(step.action.name, *(p.object().name for p in step.actual_parameters)) for step in plan.actions]


def _relaxed(problem: Problem, kind: Any) -> Problem:
    """A problem without the metric and the counted numbers that a planner does not know: others keep those budgets."""
    from envs.pddl.metric import accumulators

    if problem.kind.features <= kind.features:
        return problem
    simple, counted = problem.clone(), accumulators(problem)
    simple.clear_quality_metrics()
    for action in simple.actions:
        kept = [effect for effect in action.effects if effect.fluent.fluent().name not in counted]
        action.clear_effects()
        for effect in kept:
            action._add_effect_instance(effect)
    return _without_fluents(simple, counted)


def _without_fluents(problem: Problem, names: frozenset[str]) -> Problem:
    """A problem without some fluents, which nothing in it names, and without numbers that are left unused."""
    from envs.pddl.expressions import reads
    from unified_planning.model import Problem as New

    used = reads(problem.goals)
    for action in problem.actions:
        used |= reads(action.preconditions)
        for effect in action.effects:
            used |= reads([effect.fluent, effect.value, effect.condition])
    gone = names | {f.name for f in problem.fluents if not f.type.is_bool_type() and f.name not in used}
    lean = New(problem.name, environment=problem.environment)
    for fluent in problem.fluents:
        if fluent.name not in gone:
            lean.add_fluent(fluent, default_initial_value=problem.fluents_defaults.get(fluent))
    lean.add_actions(problem.actions)
    lean.add_objects(problem.all_objects)
    for node, value in problem.explicit_initial_values.items():
        if node.fluent().name not in gone:
            lean.set_initial_value(node, value)
    for goal in problem.goals:
        lean.add_goal(goal)
    return lean


def _compiled(problem: Problem, known: Any) -> tuple[Problem, Callable[[Any], Any]]:
    """The compilations of unified-planning that a planner needs, one after the other, and the way back for plans."""
    import unified_planning.shortcuts as up
    from unified_planning.engines import CompilationKind as Kind

    steps = (
        (("EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS", "FORALL_EFFECTS"), Kind.QUANTIFIERS_REMOVING),
        (("CONDITIONAL_EFFECTS",), Kind.CONDITIONAL_EFFECTS_REMOVING),
        (("DISJUNCTIVE_CONDITIONS",), Kind.DISJUNCTIVE_CONDITIONS_REMOVING),
        (("NEGATIVE_CONDITIONS",), Kind.NEGATIVE_CONDITIONS_REMOVING),
    )
    backs = list[Callable[[Any], Any]]()
    for needs, kind in steps:
        if any(need in problem.kind.features and need not in known.features for need in needs):
            with up.Compiler(problem_kind=problem.kind, compilation_kind=kind) as compiler:
                result = compiler.compile(problem, kind)
            problem = result.problem
            backs.append(result.map_back_action_instance)

    def back(plan: Any) -> Any:
        for step in reversed(backs):
            plan = plan.replace_action_instances(step)
        return plan

    return problem, back


def _without(problem: Problem, forbidden: frozenset[Call]) -> tuple[Problem, dict[str, str]]:
    """A problem in which some calls cannot be made: each action becomes one for each argument that may differ.

    Returns:
        The problem, and for its new actions the name of the one that they stand for.
    """
    import unified_planning.shortcuts as up

    changed, names = problem.clone(), dict[str, str]()
    actions = {action.name: [action] for action in changed.actions}
    for number, call in enumerate(sorted(forbidden)):
        copies = []
        for action in actions[call[0]]:
            for place, (parameter, value) in enumerate(zip(action.parameters, call[1:], strict=True)):
                differs = f"differs-{number}-{place}"
                if not changed.has_fluent(differs):
                    fluent = changed.add_fluent(
                        up.Fluent(differs, up.BoolType(), x=parameter.type), default_initial_value=False
                    )
                    for item in changed.objects(parameter.type):
                        changed.set_initial_value(fluent(item), item.name != value)
                copy = action.clone()
                copy.name = f"{action.name}-{number}-{place}"
                copy.add_precondition(changed.fluent(differs)(copy.parameter(parameter.name)))
                names[copy.name] = call[0]
                copies.append(copy)
        actions[call[0]] = copies
    changed.clear_actions()
    changed.add_actions([action for copies in actions.values() for action in copies])
    return changed, names


def _top_k(problem: Problem, most: int) -> tuple[str, list[list[Call]]]:
    """The best plans, by kstar-planner."""
    from kstar_planner import planners
    from unified_planning.io import PDDLWriter

    with TemporaryDirectory() as folder:
        domain, task = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        writer = PDDLWriter(problem)
        writer.write_domain(str(domain))
        writer.write_problem(str(task))
        answer = planners.plan_topk(
            domain_file=domain, problem_file=task, number_of_plans_bound=most, timeout=None, search_heuristic="lmcut()"
        )
    plans = [[tuple(step.strip("()").split()) for step in plan["actions"]] for plan in answer.get("plans", ())]

    def named(call: Sequence[str]) -> Call:
        return tuple(writer.get_item_named(word).name for word in call)

    return ("unsolvable" if answer.get("unsolvable") else "not_found"), [[named(c) for c in plan] for plan in plans]


if __name__ == "__main__":
    main()
