"""Files are read, or refused with the construct, the file and the line."""

import re
from pathlib import Path

import pytest

pytest.importorskip("unified_planning")

from envs.pddl import PddlEnvironment, PddlError
from envs.pddl.reading import load_task
from tests.envs.pddl.problems import BLOCKS, ROADS, TOWER, TRIP, written

WRONG = {
    "cut off": (BLOCKS, TOWER[:-40], r"problem.pddl, line 3: is cut off: the \( of line 3 is not closed"),
    "one too many": (BLOCKS, f"{TOWER})", r"problem.pddl, line 4: a \) closes nothing"),
    "empty": (BLOCKS, "", r"problem.pddl, line 1: has to be one \(define"),
    "outside": (BLOCKS, f"x {TOWER}", r"problem.pddl, line 1: x stands outside"),
    "unknown type": (ROADS.replace("(at ?p - place)", "(at ?p - palce)"), TRIP, r"domain.pddl.*palce"),
    "circle of types": (ROADS.replace("place)", "place - town\ntown - place)", 1), TRIP, r"line 3: the type"),
    "durative": (BLOCKS.replace("(:action put-down", "(:durative-action put-down"), TOWER, r"line 6: durative actions"),
    "derived": (BLOCKS[:-2] + "\n(:derived (on-table ?x) (clear ?x)))", TOWER, r"derived predicates"),
    "object fluents": (ROADS.replace("(fuel))", "(fuel) - number\n(home) - place)"), TRIP, r"line 6: object fluents"),
    "constraints": (BLOCKS, TOWER[:-2] + "(:constraints (always (hand-empty))))", r"trajectory constraints"),
    "timed": (BLOCKS, TOWER.replace("(hand-empty)", "(hand-empty)\n(at 5 (hand-empty))"), r"line 3: timed initial"),
    "unknown object": (BLOCKS, TOWER.replace("(on Red blue)", "(on Red green)"), r"problem.pddl.*green"),
    "no goal": (BLOCKS, TOWER[: TOWER.index("(:goal")] + ")", r"problem.pddl.*goal"),
    "unknown predicate": (BLOCKS, TOWER.replace("(on blue Red)", "(upon blue Red)"), r"problem.pddl.*upon"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_refused_with_what_and_where(case: str, tmp_path: Path) -> None:
    domain, problem, message = WRONG[case]
    with pytest.raises(PddlError, match=message):
        load_task(*written(tmp_path, domain, problem))


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    domain, problem = written(tmp_path, BLOCKS, TOWER)
    with pytest.raises(PddlError, match=r"nowhere.pddl: cannot be read: No such file"):
        load_task(domain, tmp_path / "nowhere.pddl")
    problem.write_bytes(b"(define \xff)")
    with pytest.raises(PddlError, match=r"problem.pddl: is no UTF-8 text: byte 8 is 0xff"):
        load_task(domain, problem)


@pytest.mark.parametrize("change", ["\ufeff{}", "{}".replace("\n", "\r\n"), "; a comment\n{}", "{}\n\n"])
def test_marks_and_ends_of_lines_do_not_matter(change: str, tmp_path: Path) -> None:
    texts = [change.format(text).replace("\n", "\r\n") for text in (BLOCKS, TOWER)]
    task = load_task(*written(tmp_path, *texts))
    assert len(list(task.applicable(task.start))) == 2


def test_upper_case_and_dashes_become_names_of_python(tmp_path: Path) -> None:
    env = PddlEnvironment(*written(tmp_path, BLOCKS, TOWER))
    state = env.domain.project(env.reset(0))
    assert env.domain.applicable(state) == ["pick_up(yellow)", "unstack(red, blue)"]
    assert env.domain.spelled_out(state, "pick_up(yellow)") == "(pick-up yellow)"


def test_names_that_would_be_alike_are_told_apart(tmp_path: Path) -> None:
    problem = TOWER.replace("yellow", "red_").replace("blue", "red-")
    env = PddlEnvironment(*written(tmp_path, BLOCKS, problem))
    assert sorted(env.domain.names.objects.values()) == ["red", "red_", "red__2"]


@pytest.mark.parametrize("goal", ["(and)", "(on Red blue)"])
def test_a_goal_that_holds_at_once_is_reached_at_once(goal: str, tmp_path: Path) -> None:
    problem = TOWER.replace("(and (on blue Red) (on Red yellow))", goal)
    env = PddlEnvironment(*written(tmp_path, BLOCKS, problem))
    assert env.success()


def test_ten_thousand_objects_are_read(tmp_path: Path) -> None:
    many = " ".join(f"b{i}" for i in range(10_000))
    problem = TOWER.replace("yellow)", f"yellow {many})", 1)
    task = load_task(*written(tmp_path, BLOCKS, problem))
    assert len(list(task.applicable(task.start))) == 2


def test_caps_name_numbers(tmp_path: Path) -> None:
    files = written(tmp_path, ROADS, TRIP)
    env = PddlEnvironment(*files, caps={"total-cost": 12, "duration": "25", "fuel": 3})
    assert {kind: env.budget[kind] for kind in ("total_cost", "duration")} == {
        "total_cost": 12_000_000,
        "duration": 20_000_000,  # five are used at the start
    }
    assert env.domain.task.bounds == {("fuel",): 3}
    with pytest.raises(PddlError, match=re.escape("--cap gold: there is no such number; those of the state: fuel")):
        PddlEnvironment(*files, caps={"gold": 1})
    with pytest.raises(PddlError, match=r"cap duration=4: it is 5 at the start already"):
        PddlEnvironment(*files, caps={"duration": 4})
    for wrong in ("x", -1):
        with pytest.raises(PddlError, match="cap duration"):
            PddlEnvironment(*files, caps={"duration": wrong})
