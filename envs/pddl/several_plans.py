"""Several plans of one problem, by a planner that may give only one: it is asked again with actions forbidden."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import signature
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from envs.pddl.errors import PddlError
from envs.pddl.expressions import Atom, reads

if TYPE_CHECKING:
    from unified_planning.model import Problem

TOP_K = ("kstar",)
"""Planners that find the best plans of one problem themselves, and are no engines of unified-planning."""

TAKEN = (
    "ACTION_BASED", "FLAT_TYPING", "HIERARCHICAL_TYPING", "EQUALITIES", "NEGATIVE_CONDITIONS", "ACTIONS_COST",
    "PLAN_LENGTH", "STATIC_FLUENTS_IN_ACTIONS_COST", "INT_NUMBERS_IN_ACTIONS_COST",
)  # fmt: skip
"""The features of problems that kstar takes with its heuristic; all others are compiled away, or left out."""

MOST_FORBIDDEN = 3
"""Actions that are forbidden at once to make a planner find another plan."""

COMPLETE = ("pyperplan",)
"""Planners that say less than they know: up-pyperplan 1.1 compares its search with names of searches, so that it never
says that one was complete. Its weighted A* ends without a plan only when it has seen all states."""

Answers: TypeAlias = "Iterator[list[Atom] | str]"
"""Plans as they are found; the last item says how the planner ended."""


def several_plans(problem: Problem, name: str, count: int) -> Answers:
    """Different plans of a problem, as they are found; the last item says how the planner ended.

    A planner that has found a plan is asked again for each action of it, of the problem without this action, then for
    two of them, and so on.

    Args:
        problem: The problem.
        name: Of an engine of unified-planning, or ``kstar``.
        count: The most plans.

    Yields:
        Plans; then "solved", "unsolvable", "not_found", "time" or "memory".
    """
    solve = _top_k if name in TOP_K else _engine(name)
    queue, seen = deque([frozenset[Atom]()]), {frozenset[Atom]()}
    known_plans, end = list[list[Atom]](), "not_found"
    while queue and len(known_plans) < count:
        forbidden = queue.popleft()
        changed, names = _without(problem, forbidden) if forbidden else (problem, {})
        try:
            for answer in solve(changed, count - len(known_plans)):
                if isinstance(answer, str):
                    end = end if forbidden else answer
                    break
                plan: list[Atom] = [(names.get(call[0], call[0]), *call[1:]) for call in answer]
                if plan not in known_plans:
                    known_plans.append(plan)
                    yield plan
                if name not in TOP_K and len(forbidden) < MOST_FORBIDDEN:
                    following = dict.fromkeys(forbidden | {call} for call in plan)
                    queue.extend(item for item in following if item not in seen)
                    seen.update(following)
        except PddlError:  # with other actions forbidden it may do
            if not known_plans:
                raise
    yield "solved" if known_plans else end


def _engine(name: str) -> Callable[[Problem, int], Answers]:
    """A planner of unified-planning, with the compilations that it needs."""
    import unified_planning.shortcuts as up
    from unified_planning.engines import PlanGenerationResultStatus as Status
    from unified_planning.exceptions import UPException

    ends = {Status.UNSOLVABLE_PROVEN: "unsolvable", Status.TIMEOUT: "time", Status.MEMOUT: "memory"}
    if name in COMPLETE:
        ends[Status.UNSOLVABLE_INCOMPLETELY] = "unsolvable"

    def solve(problem: Problem, most: int) -> Answers:
        with up.OneshotPlanner(name=name) as planner:
            kind = planner.supported_kind()
        simple, back = _compiled(_relaxed(problem, kind), kind)
        unknown, status = simple.kind.features - kind.features, None
        engine = up.get_environment().factory.engine(name)
        anytime = most > 1 and bool(engine.is_anytime_planner())
        counts = anytime and "number_of_plans" in signature(engine.__init__).parameters  # SymK, else of one plan
        params = {"number_of_plans": most} if counts else {}
        try:
            with (up.AnytimePlanner if anytime else up.OneshotPlanner)(name=name, params=params) as planner:
                for result in islice(planner.get_solutions(simple), most) if anytime else [planner.solve(simple)]:
                    status = result.status
                    if result.plan is not None:
                        yield _calls(back(result.plan))
        except (UPException, AssertionError) as error:
            raise PddlError(_not_taken(unknown) if unknown else f"{type(error).__name__}: {error}") from error
        if status in (Status.INTERNAL_ERROR, Status.UNSUPPORTED_PROBLEM):
            raise PddlError(_not_taken(unknown) if unknown else f"it ended with {status.name}")
        yield ends.get(status, "not_found")

    return solve


def _calls(plan: Any) -> list[Atom]:
    return [(step.action.name, *(p.object().name for p in step.actual_parameters)) for step in plan.actions]


def _relaxed(problem: Problem, known: Any, priced: bool = True) -> Problem:
    """A problem without the numbers that no condition reads, and without costs of a kind that a planner does not know.

    Those budgets are kept by others, and equality of objects, where it is not known, becomes a fluent.
    """
    import unified_planning.shortcuts as up

    numbers = {fluent.name for fluent in problem.fluents if not fluent.type.is_bool_type()}
    if problem.kind.features <= known.features and not numbers:
        return problem
    costs: dict[str, Any] = {}
    for metric in problem.quality_metrics:
        if priced and metric.is_minimize_action_costs() and "ACTIONS_COST" in known.features:
            costs = {action.name: metric.get_action_cost(action) for action in problem.actions}
    gone = numbers - _needed(problem, [cost for cost in costs.values() if cost is not None])
    simple = problem.clone()
    lean = up.Problem(problem.name, environment=problem.environment)
    for fluent in simple.fluents:
        if fluent.name not in gone:
            lean.add_fluent(fluent, default_initial_value=simple.fluents_defaults.get(fluent))
    for action in simple.actions:
        kept = [effect for effect in action.effects if effect.fluent.fluent().name not in gone]
        action.clear_effects()
        for effect in kept:
            action._add_effect_instance(effect)
    lean.add_actions(simple.actions)
    lean.add_objects(simple.all_objects)
    for node, value in simple.explicit_initial_values.items():
        if node.fluent().name not in gone:
            lean.set_initial_value(node, value)
    for goal in simple.goals:
        lean.add_goal(goal)
    if costs:
        of_actions = {action: costs[action.name] for action in lean.actions if costs[action.name] is not None}
        lean.add_quality_metric(up.MinimizeActionCosts(of_actions))
    if "EQUALITIES" not in known.features:
        _without_equality(lean)
    if costs and any(feature.endswith("IN_ACTIONS_COST") for feature in lean.kind.features - known.features):
        return _relaxed(problem, known, priced=False)
    return lean


def _needed(problem: Problem, costs: Sequence[Any]) -> set[str]:
    """The fluents that conditions and costs read, and those that their values are made of."""
    effects = [effect for action in problem.actions for effect in action.effects]
    needed = reads([*problem.goals, *costs, *(node for action in problem.actions for node in action.preconditions)])
    needed |= reads([effect.condition for effect in effects])
    while True:
        values = reads([e.value for e in effects if e.fluent.type.is_bool_type() or e.fluent.fluent().name in needed])
        if values <= needed:
            return needed
        needed |= values


def _without_equality(problem: Problem) -> None:
    """Let a fluent say which objects are equal, in the preconditions of actions; that can be compiled away."""
    import unified_planning.shortcuts as up

    made, name = problem.environment.expression_manager, _free("same", problem)
    fluents: dict[Any, Any] = {}

    def same(first: Any, second: Any) -> Any:
        kinds = (first.type, second.type)
        if kinds not in fluents:
            fluent = up.Fluent(f"{name}-{len(fluents)}", up.BoolType(), a=kinds[0], b=kinds[1])
            fluents[kinds] = problem.add_fluent(fluent, default_initial_value=False)
            both = set(problem.objects(kinds[0])) & set(problem.objects(kinds[1]))
            for item in both:
                problem.set_initial_value(fluent(item, item), True)
        return fluents[kinds](first, second)

    for action in problem.actions:
        replaced = []
        for node in action.preconditions:
            equal = {
                part: same(*part.args) for part in _parts(node) if part.is_equals() and part.arg(0).type.is_user_type()
            }
            replaced.append(problem.environment.substituter.substitute(node, equal) if equal else node)
        action.clear_preconditions()
        for node in replaced:
            action.add_precondition(made.And(node))


def _parts(node: Any) -> list[Any]:
    parts = [node]
    for part in parts:  # grows while it is read
        parts += part.args
    return parts


def _free(name: str, problem: Problem) -> str:
    """A beginning of names that no name of a problem has."""
    while any(item.name.startswith(name) for item in (*problem.fluents, *problem.actions, *problem.all_objects)):
        name += "x"
    return name


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


def _without(problem: Problem, forbidden: frozenset[Atom]) -> tuple[Problem, dict[str, str]]:
    """A problem in which some calls cannot be made: each action becomes one for each argument that may differ.

    Returns:
        The problem, and for its new actions the name of the one that they stand for.
    """
    import unified_planning.shortcuts as up

    changed, names, own = problem.clone(), dict[str, str](), _free("other", problem)
    actions = {action.name: [action] for action in changed.actions}
    for number, call in enumerate(sorted(forbidden)):
        copies = []
        for action in actions[call[0]]:
            for place, (parameter, value) in enumerate(zip(action.parameters, call[1:], strict=True)):
                differs = f"{own}-{number}-{place}"
                if not changed.has_fluent(differs):
                    fluent = changed.add_fluent(
                        up.Fluent(differs, up.BoolType(), x=parameter.type), default_initial_value=False
                    )
                    for item in changed.objects(parameter.type):
                        changed.set_initial_value(fluent(item), item.name != value)
                copy = action.clone()
                copy.name = f"{own}-{len(names)}-{call[0]}"
                copy.add_precondition(changed.fluent(differs)(copy.parameter(parameter.name)))
                names[copy.name] = call[0]
                copies.append(copy)
        actions[call[0]] = copies
    metrics, made = list(changed.quality_metrics), [action for copies in actions.values() for action in copies]
    changed.clear_quality_metrics()
    changed.clear_actions()
    changed.add_actions(made)
    for metric in metrics:
        if metric.is_minimize_action_costs():
            price = {
                action: metric.get_action_cost(problem.action(names.get(action.name, action.name))) for action in made
            }
            costs = {action: cost for action, cost in price.items() if cost is not None}
            changed.add_quality_metric(up.MinimizeActionCosts(costs))
        else:
            changed.add_quality_metric(metric)
    return changed, names


def _top_k(problem: Problem, most: int) -> Answers:
    """The best plans, by kstar-planner."""
    from kstar_planner import planners
    from unified_planning.io import PDDLReader, PDDLWriter
    from unified_planning.model import ProblemKind

    kind = ProblemKind(TAKEN, version=2)
    problem, back = _compiled(_relaxed(problem, kind), kind)
    with TemporaryDirectory() as folder:
        domain, task = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        writer = PDDLWriter(problem)
        writer.write_domain(str(domain))
        writer.write_problem(str(task))
        answer = planners.plan_topk(
            domain_file=domain, problem_file=task, number_of_plans_bound=most, timeout=None, search_heuristic="lmcut()"
        )

    for plan in answer.get("plans", ()):
        steps = "\n".join(f"({step.strip('()')})" for step in plan["actions"])
        yield _calls(back(PDDLReader().parse_plan_string(problem, steps, writer.get_item_named)))
    if answer["planner_error"]:
        unknown = problem.kind.features - kind.features
        raise PddlError(_not_taken(unknown) if unknown else answer["planner_error"].strip().splitlines()[-1])
    # Its own "unsolvable" is true also where memory was short.
    yield "unsolvable" if "Completely explored state space" in answer["planner_output"] else "not_found"


def _not_taken(unknown: Iterable[str]) -> str:
    return f"it does not take {', '.join(sorted(unknown))}"
