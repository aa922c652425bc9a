"""LangGOAP beside TAPE: the judge of plans, the tasks, what LangGOAP does, and how it is counted."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from multiprocessing.connection import Connection
from types import ModuleType

import pytest

from envs.tool_chains.generator import Settings, generate
from envs.tool_chains.problem import CENT
from experiments.benches import langgoap as bench
from experiments.benches.langgoap_calls import DOLLARS, GRAPH, TAPE, USED, Worker, planning
from experiments.benches.langgoap_table import key, markdown
from experiments.benches.langgoap_tasks import SIZES, Task, Work, best, chain, home, verdict
from experiments.harness.places import RESULTS
from experiments.harness.published import KEPT

ORE = Work("dig", (), ("ore",), 60, 1000)
FORGE = Work("forge", ("ore",), ("ring",), 30, 1000)
SMITH = Work("smith", ("ore",), ("ring",), 60, 500)


@pytest.fixture
def rival() -> Iterator[ModuleType]:
    pytest.importorskip("langgoap")
    from experiments.benches import langgoap_rival

    logging.disable(logging.CRITICAL)
    yield langgoap_rival
    logging.disable(logging.NOTSET)


def exhaustive(task: Task) -> int | None:
    """The least cost of any order of any actions, each taken at most once."""
    costs = []
    for length in range(len(task.works) + 1):
        for order in permutations(task.works, length):
            here, cents, millis = set(task.start), 0, 0
            for work in order:
                if not here.issuperset(work.needs):
                    break
                here.update(work.makes)
                cents, millis = cents + work.cents, millis + work.millis
            else:
                if here.issuperset(task.goal) and cents <= task.cents and millis <= task.millis:
                    costs.append(cents)
    return min(costs, default=None)


# --- tasks and their judge --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("family", ["trees", "shared"])
def test_best_is_the_least_of_all_orders(family: str, number: int) -> None:
    task = home(family, "fit", "small", number)
    few = replace(task, works=task.works[:6], cents=10**6, millis=10**6)
    for goal in {one for work in few.works for one in work.makes}:
        asked = replace(few, goal=(goal,))
        found = best(asked.works, (), asked.goal, None)
        assert (found[0] if found else None) == exhaustive(asked)


@pytest.mark.parametrize("family", ["trees", "shared"])
def test_caps_do_what_their_name_says(family: str) -> None:
    for number in range(5):
        tasks = {caps: home(family, caps, "small", number) for caps in ("fit", "tight", "short")}
        plain = {caps: best(task.works, (), task.goal, None) for caps, task in tasks.items()}
        assert all(plain.values())
        fit, tight, short = (tasks[caps] for caps in ("fit", "tight", "short"))
        assert (fit.least, fit.least) == (plain["fit"][0], best(fit.works, (), fit.goal, fit.millis)[0])
        assert plain["tight"][1] > tight.millis
        assert plain["tight"][0] < tight.least <= tight.cents
        assert plain["short"][0] > short.cents
        assert short.least is None


def test_unknown_caps_are_named() -> None:
    with pytest.raises(ValueError, match=r"caps is one of fit, tight, short, got 'loose'"):
        home("trees", "loose", "small", 0)


def test_verdicts() -> None:
    task = Task("t", "trees", (ORE, FORGE, SMITH), (), ("ring",), 130, 2000, 90)
    assert verdict(task, ["dig", "forge"]) == "best"
    assert verdict(task, ["dig", "smith"]) == "dearer"
    assert verdict(task, ["dig", "dig", "forge"]) == "over"
    assert verdict(task, ["forge"]) == verdict(task, ["dig"]) == verdict(task, ["fly"]) == "broken"
    assert verdict(task, None) == "none"
    assert verdict(replace(task, least=None), None) == "best"
    chained = replace(task, family="chains", works=(ORE, FORGE, SMITH, Work("gem", ("ore",), ("gem",), 1, 1)))
    assert verdict(replace(chained, goal=("ring", "gem")), ["dig", "gem", "forge"]) == "broken"  # the ore is used up


@pytest.mark.parametrize("caps", ["fit", "tight", "short"])
def test_our_planners_find_the_best(caps: str) -> None:
    for size in SIZES:
        for number in range(3):
            trees, shared = home("trees", caps, size, number), home("shared", caps, size, number)
            assert verdict(trees, planning(TAPE, trees)()) == "best"
            assert verdict(trees, planning(GRAPH, trees)()) == "best"
            assert verdict(shared, planning(GRAPH, shared)()) == "best"
    links = chain(caps, 6, 60, 0)
    assert verdict(links, planning(TAPE, links)()) == "best"


# --- what LangGOAP does -----------------------------------------------------------------------------------------------


def test_a_star_is_exact_where_the_cheapest_fits_and_ours_in_its_state_where_time_binds(rival: ModuleType) -> None:
    for task in (chain("fit", 6, 60, 0), home("trees", "fit", "middle", 0), home("shared", "fit", "middle", 0)):
        assert verdict(task, planning(bench.DEFAULT, task)()) == "best"
    for task in (chain("tight", 6, 60, 1), chain("short", 6, 60, 0), home("shared", "tight", "middle", 0)):
        assert verdict(task, planning(USED, task)()) == "best"
    missed = chain("tight", 6, 60, 1)  # the cheapest plan in time differs from the cheapest in more than one action
    assert verdict(missed, planning(bench.DEFAULT, missed)()) == "none"


def test_costs_below_one_mislead_its_heuristic(rival: ModuleType) -> None:
    """Each condition that is not yet true counts as a cost of 1, more than the rest of the way costs in dollars."""
    direct = Work("buy", (), ("ring",), 95, 1)
    task = Task("t", "trees", (ORE, FORGE, direct), (), ("ring",), 100, 9000, 90)
    assert planning(bench.DEFAULT, task)() == ["dig", "forge"]
    assert planning(DOLLARS, task)() == ["buy"]


def test_a_flagged_plan_is_carried_out_and_what_was_spent_is_forgotten_at_a_replan(rival: ModuleType) -> None:
    def fails(state: object) -> dict[str, object]:
        raise RuntimeError("closed")

    works = {"dig": ORE, "forge": FORGE, "smith": SMITH}
    ran: list[str] = []

    def execute(name: str) -> object:
        return fails if name == "forge" else lambda state: ran.append(name)

    from langgoap.graph.builder import GoapGraph

    specs = rival.actions(list(works.values()), (), place=False, execute=execute)
    replanned = GoapGraph(specs).invoke(rival.goal({"ring": True}, (100, 9000)), {})
    assert replanned["status"] == "goal_achieved"
    assert ran == ["dig", "smith"]
    assert not rival.flagged(replanned["plan"])
    ran.clear()
    flagged = GoapGraph(rival.actions([ORE], (), place=False, execute=execute)).invoke(
        rival.goal({"ore": True}, (10, 9000)), {}
    )
    assert flagged["status"] == "goal_achieved"
    assert ran == ["dig"]
    assert rival.flagged(flagged["plan"])


@pytest.mark.parametrize("change", ["none", "refused", "price", "wish", "length"])
@pytest.mark.parametrize("mode", ["constraints", "state"])
def test_episodes_replan(rival: ModuleType, mode: str, change: str) -> None:
    problem = generate("study", 0, Settings(5, 20, change))
    episode = rival.Episode(problem, mode)
    assert episode.run() == "goal_achieved"
    assert problem.reference is not None
    assert tuple(episode.world.called) == problem.reference.tools
    assert episode.world.success()
    assert bool(episode.replans) == (mode == "constraints" or change != "none")


def test_episodes_where_none_fits(rival: ModuleType) -> None:
    problem = generate("study", 0, Settings(5, 20, "none", "short"))
    ends, over = {}, {}
    for mode in rival.MODES:
        episode = rival.Episode(problem, mode)
        ends[mode] = episode.run()
        over[mode] = (episode.world.used["usd"] or 0) > problem.cents * CENT
    assert over == {"constraints": True, "stop": True, "flag": False, "guard": False, "state": False}
    assert ends == {
        "constraints": "goal_achieved",
        "stop": "terminated",
        "flag": "no_plan",
        "guard": "failed",
        "state": "no_plan",
    }


# --- how it is counted ------------------------------------------------------------------------------------------------


def serve(line: Connection) -> None:
    """A worker that sleeps as long as it is told."""
    line.send("ready")
    while True:
        (seconds,) = line.recv()
        time.sleep(float(seconds))
        line.send({"slept": seconds})


@pytest.mark.slow
def test_a_worker_that_takes_too_long_is_ended_and_another_goes_on() -> None:
    worker = Worker(1.0, serve)
    try:
        assert worker.ask(("0",)) == {"slept": "0"}
        assert worker.ask(("60",)) is None
        assert worker.ask(("0",)) == {"slept": "0"}
    finally:
        worker.close()


def test_rows_count_what_was_given_up() -> None:
    quick, slow = {"verdict": "best", "seconds": 0.001}, {"verdict": "over", "seconds": 0.004}
    row = bench.plan_row("one", "chains", "fit", "5/20", [slow, None, slow], [quick, quick, quick])
    assert (row["n"], row["best"], row["verdicts"]) == (3, 0, {"given up": 1, "over": 2})
    assert (row["ms"], row["times"]) == (4.0, 4.0)
    ended = {"right": True, "success": True, "over": False, "end": "success", "replans": 2, "seconds": 0.5}
    play = bench.play_row("two", "none", 5, 20, [ended, None], [ended, ended])
    assert (play["right"], play["n"], play["ends"], play["replans"]) == (1, 2, {"given up": 1, "success": 1}, 2)
    assert key(row) != key(play)
    text = markdown([row, play])
    assert "| one | 0 of 3 |" in text
    assert "| two | 1 of 2 | 0 of 2 | 1.0 | 1.0 |" in text


def test_what_is_published_adds_up() -> None:
    assert "langgoap.json" in KEPT
    rows = json.loads((RESULTS / "langgoap.json").read_text(encoding="utf-8"))["rows"]
    assert len({key(row) for row in rows}) == len(rows)
    for row in rows:
        counts = row["verdicts"] if row["part"] == "plan" else row["ends"]
        assert sum(counts.values()) == row["n"] > 0
        low, high = row["ci95"]
        assert low <= row["best" if row["part"] == "plan" else "right"] / row["n"] <= high
    ours = [row for row in rows if row.get("method") == TAPE]
    assert ours
    assert not any(row["over_budget"] for row in ours)
