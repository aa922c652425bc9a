"""What is easily lost of a problem: what its numbers are read for, where its plans end, what its effects add up to."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("unified_planning")

from envs.pddl import PddlEnvironment
from envs.pddl.errors import PddlError
from envs.pddl.planners import ask
from envs.travelplanner.declared_lm import DeclaredLM
from tape import TapeAgent
from tape.protocols.result import EpisodeResult
from tests.envs.pddl.problems import ROADS, WISHES, written

MODEL = DeclaredLM("first")


def walk(functions: str, near: str, far: str = "", predicates: str = "") -> str:
    """A domain with two ways from a place to another: one step that costs ``near``, or two of ``far``."""
    return f"""(define (domain ways)
    (:requirements :adl :numeric-fluents :action-costs :preferences)
    (:predicates (begun) (halfway) (done) {predicates})
    (:functions {functions})
    (:action near :parameters () :precondition (begun) :effect (and (not (begun)) (done) {near}))
    (:action go :parameters () :precondition (begun) :effect (and (not (begun)) (halfway) {far}))
    (:action on :parameters () :precondition (halfway) :effect (and (not (halfway)) (done) {far})))"""


def way(init: str, goal: str = "(done)", metric: str = "") -> str:
    return f"(define (problem way) (:domain ways) (:init (begun) {init}) (:goal {goal}) {metric})"


def environment(folder: Path, domain: str, problem: str, **options: object) -> PddlEnvironment:
    return PddlEnvironment(*written(folder, domain, problem), **options)  # type: ignore[arg-type]


def searched(folder: Path, domain: str, problem: str, **caps: object) -> EpisodeResult:
    return TapeAgent(MODEL, proposer="declared").run(environment(folder, domain, problem, caps=caps))


# --- numbers that something reads are parts of the state ---------------------------------------------


def test_a_number_that_a_preference_reads_is_no_resource(tmp_path: Path) -> None:
    domain = walk("(total-cost) (noise)", "(increase (noise) 3) (increase (total-cost) 1)", "(increase (noise) 1)")
    wish = "(and (done) (preference quiet (<= (noise) 2)))"
    metric = "(:metric minimize (+ (total-cost) (* 5 (is-violated quiet))))"
    result = searched(tmp_path, domain, way("(= (noise) 0) (= (total-cost) 0)", wish, metric))
    assert tuple(result.actions) == ("go()", "on()", "finish()")


@pytest.mark.parametrize(
    ("metric", "chosen"),
    [
        ("(* (a) (b))", ("near()", "finish()")),
        ("(- 9 (- (b) (a)))", ("go()", "on()", "finish()")),
        ("(- (a) (b))", ("go()", "on()", "finish()")),
        ("(a)", ("near()",)),
    ],
)
def test_what_a_metric_reads_is_known_at_the_end(metric: str, chosen: tuple[str, ...], tmp_path: Path) -> None:
    # Near: a = 4 and b = 1. Far: a = 6 and b = 5.
    effects = "(increase (a) 3)", "(increase (a) 2.5) (increase (b) 2)"
    problem = way("(= (a) 1) (= (b) 1)", metric=f"(:metric minimize {metric})")
    result = searched(tmp_path, walk("(a) (b)", *effects), problem)
    assert tuple(result.actions) == chosen


def test_the_cost_of_an_action_may_read_a_number_that_grows(tmp_path: Path) -> None:
    domain = walk("(total-cost) (tax)", "(increase (total-cost) 5)", "(increase (tax) 2) (increase (total-cost) (tax))")
    problem = way("(= (tax) 1) (= (total-cost) 0)", metric="(:metric minimize (total-cost))")
    result = searched(tmp_path, domain, problem)
    assert tuple(result.actions) == ("go()", "on()")  # 1, then 3
    assert result.used["total_cost"] == 4_000_000


def test_a_number_named_as_the_metric_keeps_its_amounts(tmp_path: Path) -> None:
    domain = walk("(metric) (other)", "(increase (metric) 7)", "(increase (metric) 1) (increase (other) 1)")
    problem = way("(= (metric) 0) (= (other) 0)", metric="(:metric minimize (+ (metric) (* 9 (other))))")
    result = searched(tmp_path, domain, problem)
    assert tuple(result.actions) == ("near()",)
    assert result.used["metric"] == result.used["metric_"] == 7_000_000
    assert tuple(searched(tmp_path, domain, problem, metric=2).actions) == ("go()", "on()")


# --- where a plan ends ---------------------------------------------------------------------------------


def test_to_end_a_plan_is_no_step(tmp_path: Path) -> None:
    assert searched(tmp_path, ROADS, WISHES, steps=2).success
    assert searched(tmp_path, ROADS, WISHES, steps=1).actions == ["ride(a, c)", "finish()"]


def test_an_action_and_a_predicate_may_be_named_as_the_end(tmp_path: Path) -> None:
    domain = walk("(total-cost)", "(increase (total-cost) 4)").replace("(:action near", "(:action finish")
    domain = domain.replace("(halfway)", "(finished)")
    wish = "(and (done) (preference never (begun)))"
    problem = way("(= (total-cost) 0)", wish, "(:metric minimize (+ (total-cost) (is-violated never)))")
    result = searched(tmp_path, domain, problem)
    assert tuple(result.actions) == ("go()", "on()", "finish_2()")
    assert tuple(searched(tmp_path, domain, problem, steps=1).actions) == ("finish()", "finish_2()")


# --- effects and values --------------------------------------------------------------------------------


def test_effects_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    domain = """(define (domain pots) (:requirements :numeric-fluents)
    (:predicates (mixed ?a ?b)) (:functions (heat ?a))
    (:action mix :parameters (?a ?b) :effect (and (mixed ?a ?b) (assign (heat ?a) 1) (assign (heat ?b) 2))))"""
    problem = """(define (problem p) (:domain pots) (:objects red blue) (:init (= (heat red) 0) (= (heat blue) 0))
    (:goal (or (mixed red red) (and (mixed red blue) (= (heat blue) 2)))))"""
    env = environment(tmp_path, domain, problem)
    observation, _ = env.step("mix(red, red)")
    assert "mix would assign two values to (heat red)" in observation.text
    assert set(env.domain.applicable(env.domain.task.start)) == {"mix(red, blue)", "mix(blue, red)"}
    assert TapeAgent(MODEL, proposer="declared").run(env).actions == ["mix(red, blue)"]


def test_a_goal_on_a_number_without_a_value_does_not_hold(tmp_path: Path) -> None:
    domain = walk("(a)", "", "(assign (a) 3)")
    result = searched(tmp_path, domain, way("", "(and (done) (>= (a) 3))"))
    assert tuple(result.actions) == ("go()", "on()")


@pytest.mark.parametrize(
    "near",
    [
        "(increase (total-cost) 1) (increase (total-cost) 2)",
        "(forall (?w) (when (thing ?w) (increase (total-cost) 1)))",
        "(when (begun) (increase (total-cost) 3))",
    ],
)
def test_all_increases_of_a_cost_count(near: str, tmp_path: Path) -> None:
    problem = way("(= (total-cost) 0)", metric="(:metric minimize (total-cost))")
    problem = problem.replace("(:init", "(:objects a b c) (:init (thing a) (thing b) (thing c)")
    domain = walk("(total-cost)", near, "(increase (total-cost) 1)", "(thing ?w)")
    result = searched(tmp_path, domain, problem)
    assert tuple(result.actions) == ("go()", "on()")
    assert dict(environment(tmp_path, domain, problem).step("near()")[1])["total_cost"] == 3_000_000


def test_a_change_that_the_reader_would_make_once_is_refused(tmp_path: Path) -> None:
    domain = walk("(total-cost)", "(forall (?w) (and (thing ?w) (increase (total-cost) 1)))", "", "(thing ?w)")
    with pytest.raises(PddlError, match=r"line 5: a change of a number for each \?w"):
        environment(tmp_path, domain, way("(= (total-cost) 0)"))


@pytest.mark.parametrize("near", ["(forall)", "(forall (?w))", "(forall (?w) (when))"])
def test_a_forall_that_lacks_a_part_is_refused(near: str, tmp_path: Path) -> None:
    with pytest.raises(PddlError, match=r"domain\.pddl"):
        environment(tmp_path, walk("(total-cost)", near, "", "(thing ?w)"), way("(= (total-cost) 0)"))


def test_a_value_at_the_start_may_be_computed(tmp_path: Path) -> None:
    env = environment(tmp_path, walk("(a)", "(decrease (a) 1)"), way("(= (a) (- 3))"))
    assert dict(env.domain.task.start.numbers) == {("a",): Fraction(-3)}


def test_an_action_may_be_named_as_a_predicate(tmp_path: Path) -> None:
    domain = walk("(a)", "").replace("(:action near", "(:action done")
    assert tuple(searched(tmp_path, domain, way("(= (a) 0)")).actions) == ("done()",)


@pytest.mark.parametrize(
    ("metric", "weight"),
    [
        ("(+ (is-violated w) (* 2 (is-violated w)))", 3),
        ("(* 0.1 (is-violated w))", Fraction(1, 10)),
        ("(total-cost)", 0),
        ("", 1),
    ],
)
def test_weights_of_preferences_add_up(metric: str, weight: Fraction, tmp_path: Path) -> None:
    from envs.pddl.reading import load_problem

    metric = metric and f"(:metric minimize {metric})"
    problem = way("(= (total-cost) 0)", "(and (done) (preference w (begun)))", metric)
    _, [(name, _, given)] = load_problem(*written(tmp_path, walk("(total-cost)", ""), problem))
    assert (name, given) == ("w", weight)


@pytest.mark.parametrize("weight", ["1/0", "-2", "many"])
def test_a_weight_is_a_number_that_is_not_negative(weight: str, tmp_path: Path) -> None:
    metric = f"(:metric minimize (* {weight} (is-violated w)))"
    problem = way("(= (total-cost) 0)", "(and (done) (preference w (begun)))", metric)
    with pytest.raises(PddlError, match=r"problem.pddl, line 1: the weight of a preference"):
        environment(tmp_path, walk("(total-cost)", ""), problem)


# --- caps ----------------------------------------------------------------------------------------------


def test_no_cap_is_passed_by_what_is_less_than_a_millionth(tmp_path: Path) -> None:
    domain = walk("(a) (total-cost)", "(increase (a) 0.0000009)", "(increase (total-cost) 1)")
    problem = way("(= (a) 0) (= (total-cost) 0)", metric="(:metric minimize (total-cost))")
    assert tuple(searched(tmp_path, domain, problem, a="0.0000005").actions) == ("go()", "on()")
    assert tuple(searched(tmp_path, domain, problem, a="0.000001").actions) == ("near()",)


def test_what_a_number_is_at_the_start_counts(tmp_path: Path) -> None:
    domain = walk("(a) (b)", "(increase (a) 2)", "(increase (b) 2)")
    problem = way("(= (a) 5) (= (b) 1)", metric="(:metric minimize (+ (a) (b)))")
    assert tuple(searched(tmp_path, domain, problem, a=6).actions) == ("go()", "on()")
    assert searched(tmp_path, domain, problem, a=6, b=4).end_state == "infeasible"
    assert searched(tmp_path, domain, problem, metric=8).success
    assert searched(tmp_path, domain, problem, metric=7).end_state == "infeasible"
    with pytest.raises(PddlError, match="cap a=4: it is 5 at the start already"):
        environment(tmp_path, domain, problem, caps={"a": 4})


def test_a_cap_on_a_number_of_the_state_is_not_below_its_start(tmp_path: Path) -> None:
    domain = walk("(level)", "(decrease (level) 1)", "(increase (level) 1)")
    with pytest.raises(PddlError, match="cap level=4: it is 5 at the start already"):
        environment(tmp_path, domain, way("(= (level) 5)"), caps={"level": 4})
    assert tuple(searched(tmp_path, domain, way("(= (level) 5)"), level=5).actions) == ("near()",)


# --- planners ------------------------------------------------------------------------------------------


def plans_of(env: PddlEnvironment, count: int = 4) -> set[tuple[str, ...]]:
    answer = asyncio.run(ask(env.domain, "pyperplan", env.domain.task.start, count))
    assert answer.wrong == []
    assert answer.plans, answer
    return {tuple(plan) for plan in answer.plans}


def test_a_planner_without_numbers_or_equality_is_given_neither(tmp_path: Path) -> None:
    domain = """(define (domain shelf) (:requirements :adl :numeric-fluents)
    (:predicates (on ?a ?b) (other-0-0 ?a) (same ?a ?b)) (:functions (moves) (height ?a))
    (:action put :parameters (?a ?b) :precondition (and (not (= ?a ?b)) (not (on ?b ?a)))
     :effect (and (on ?a ?b) (increase (moves) 1) (assign (height ?a) (+ 1 (height ?b))))))"""
    problem = """(define (problem p) (:domain shelf) (:objects a b c)
    (:init (= (moves) 0) (= (height a) 0) (= (height b) 0) (= (height c) 0)) (:goal (or (on a a) (on a b) (on c b))))"""
    assert plans_of(environment(tmp_path, domain, problem)) == {("put(a, b)",), ("put(c, b)",)}


def test_plans_beside_others_keep_to_names_of_the_problem(tmp_path: Path) -> None:
    domain = walk("(total-cost)", "(increase (total-cost) 1)", "(increase (total-cost) 1)", "(other-0-0)")
    domain = domain.replace("(:action near", "(:action other-0-near")
    problem = way("(= (total-cost) 0)", metric="(:metric minimize (total-cost))")
    assert plans_of(environment(tmp_path, domain, problem)) == {("other_0_near()",), ("go()", "on()")}


def test_a_planner_that_fails_once_is_asked_for_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from envs.pddl import several_plans
    from envs.pddl.reading import load_problem

    asked = []

    def solve(problem: object, most: int) -> several_plans.Answers:
        asked.append(problem)
        if len(asked) == 2:
            raise PddlError("no more")
        yield [("go",), ("on",)] if len(asked) == 1 else [("near",)]
        yield "solved"

    monkeypatch.setattr(several_plans, "_engine", lambda _: solve)
    problem, _ = load_problem(*written(tmp_path, walk("(a)", ""), way("(= (a) 0)")))
    found = list(several_plans.several_plans(problem, "anybody", 2))
    assert found == [[("go",), ("on",)], [("near",)], "solved"]
    asked[:] = [problem]
    with pytest.raises(PddlError, match="no more"):
        list(several_plans.several_plans(problem, "anybody", 2))
