"""Schedules of 30 steps with 5 variants, and typed tools at once: ``python -m experiments.benches.schedules``.

Three parts, each on seeded problems, in one run:

- *free*: nothing limits the calls at once. `solvers.schedule` beside CP-SAT alone on the same problem; both prove the
  best plan, and the objectives are compared.
- *limited*: four steps at once and two of each tool. `solvers.schedule` with two seconds for the search.
- *tools*: random typed tools, under a cap of dollars. The cheapest chain, each call as soon as its inputs are there, is
  what a planner without prices of time and an executor such as LLMCompiler's give (Kim et al. 2024; no model is asked
  here); so is the chain of the fastest tools, which looks at no cap. Beside them is `call_plan` for the soonest plan
  within the cap. Times are those that the tools declare. A part of the plans is run by `run_together` in real time,
  under a cap on ``wall_seconds``.

Seconds of processor time and of the clock are both kept: on a busy machine the clock counts what others do.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from solvers import ScheduleProblem, Variant, schedule
from solvers.deadline import NEVER
from solvers.scheduling.cp_sat import solve_by_cp_sat
from solvers.scheduling.objective import objective_of_schedule
from solvers.scheduling.placing import earliest
from tape.budget import Budget
from tape.files import replace_file
from tape.tools import Tool
from tape.tools.typed import CallPlan, call_plan, cheapest_chains, run_together
from tape.tools.typed.loader import tools_of

OUT = Path("experiments/results/bench_schedules.json")
STEPS, VARIANTS, SEARCH_SECONDS = 30, 5, 2.0


def problem(seed: int) -> ScheduleProblem:
    """Each step waits for up to three before it; price and speed go against each other; both caps bind halfway."""
    rng = random.Random(f"schedules {seed}")
    after = [rng.sample(range(step), min(step, rng.randint(0, 3))) for step in range(STEPS)]
    steps = []
    for _ in range(STEPS):
        row = []
        for _ in range(VARIANTS):
            value = rng.randint(1, 100)
            usd = max(1, int(value * rng.uniform(0.3, 1.5)) + rng.randint(1, 20))
            row.append(Variant(int(rng.uniform(5, 60) + max(0, 100 - usd) * 0.3), (usd,), value, rng.choice("abc")))
        steps.append(row)
    free = ScheduleProblem(steps, after, [None])
    dearest = [max(row, key=lambda one: one.value) for row in steps]
    soonest, slow = max(free.fastest), sum(dearest[s].time for s in free.longest_chain([one.time for one in dearest]))
    least, most = sum(min(one.use[0] for one in row) for row in steps), sum(one.use[0] for one in dearest)
    return replace(free, budgets=[(least + most) // 2], deadline=soonest + max(0, slow - soonest) // 2)


def timed(call: Any) -> tuple[Any, float, float]:
    """What it returns, and its seconds of processor time and of the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    found = call()
    return found, time.process_time() - processor, time.perf_counter() - clock


def free(count: int) -> dict[str, Any]:
    """Without limits on calls at once."""
    ours, theirs, agree, within = [], [], 0, 0
    schedule(problem(-1))
    solve_by_cp_sat(problem(-1), objective_of_schedule(problem(-1)), NEVER)  # loads OR-Tools
    for seed in range(count):
        asked = problem(seed)
        found, *seconds = timed(lambda asked=asked: schedule(asked))
        other, *seconds_there = timed(lambda asked=asked: solve_by_cp_sat(asked, objective_of_schedule(asked), NEVER))
        ours.append(seconds)
        theirs.append(seconds_there)
        agree += found.objective == other.objective
        within += found.objective <= other.bound + 0.5
    return {
        "problems": count, "same objective": agree, "within the bound of CP-SAT": within,
        **{f"median seconds, {what}": round(median(one[i] for one in ours), 4) for i, what in KINDS},
        **{f"most seconds, {what}": round(max(one[i] for one in ours), 4) for i, what in KINDS},
        **{f"CP-SAT alone, median seconds, {what}": round(median(one[i] for one in theirs), 4) for i, what in KINDS},
        "median of CP-SAT's time over ours, processor": round(
            median(there[0] / here[0] for here, there in zip(ours, theirs, strict=True)), 2
        ),
    }  # fmt: skip


KINDS = ((0, "processor"), (1, "clock"))


def limited(count: int) -> dict[str, Any]:
    """Four steps at once, and two of each tool; a quarter more time than the fastest variants take, placed in order."""
    gaps, clocks, proved, none = [], [], 0, 0
    for seed in range(count):
        asked = replace(problem(seed), parallel=4, at_once={"a": 2, "b": 2, "c": 2}, deadline=None)
        fastest = tuple(min(range(VARIANTS), key=lambda one, row=row: row[one].time) for row in asked.steps)
        starts = earliest(asked, fastest, asked.order)
        ends = [start + row[one].time for start, row, one in zip(starts, asked.steps, fastest, strict=True)]
        asked = replace(asked, deadline=max(ends) * 5 // 4)
        found, _, clock = timed(lambda asked=asked: schedule(asked, SEARCH_SECONDS))
        clocks.append(clock)
        proved += found.gap == 0
        none += not found
        gaps += [found.gap] if found else []
    return {
        "problems": count, "search seconds": SEARCH_SECONDS, "without an answer": none, "proved the best": proved,
        "median gap": round(median(gaps), 5), "largest gap": round(max(gaps), 5),
        "median seconds, clock": round(median(clocks), 3), "most seconds, clock": round(max(clocks), 3),
    }  # fmt: skip


def typed(seed: int) -> list[Tool]:
    """Tools of five levels of types, three or four for each type, that take one to three types of lower levels."""
    rng = random.Random(f"typed {seed}")
    levels = [["raw"], *([f"t{level}{at}" for at in range(3)] for level in range(1, 5)), ["want"]]
    records = []
    for level in range(1, len(levels)):
        below = [one for types in levels[max(0, level - 2) : level] for one in types]
        for gives in levels[level]:
            takes = rng.sample(below, min(len(below), 3 if gives == "want" else rng.randint(1, 3)))
            for number in range(rng.randint(3, 4)):
                seconds = rng.randint(1, 20)
                usd = (2 + rng.randint(0, 8) + 60 // (seconds + 2)) / 100
                needs = takes if number % 2 == 0 else takes[: rng.randint(1, len(takes))]
                cost = {"usd": usd, "seconds": seconds}
                name = f"{gives}_{number}"
                records.append({"name": name, "takes": needs, "gives": gives, "cost": cost, "pure": True})
    return tools_of(records, "the bench")


def as_soon_as_possible(tools: Sequence[Tool], names: Sequence[str]) -> CallPlan:
    """A chain of these tools with every call as soon as its inputs are there."""
    plan = call_plan([item for item in tools if item.name in names], "want", ["raw"])
    assert plan is not None
    return plan


def tools_at_once(count: int, runs: int) -> dict[str, Any]:
    """The soonest plan within a cap of dollars beside the cheapest and the fastest chain as soon as possible."""
    to_cheapest, to_sequence, slower, over, cheapest_over, fastest_over, planning = [], [], 0, 0, 0, 0, []
    real = {"runs": runs, "made": 0, "over a cap": 0, "ratio": []}
    for seed in range(count):
        tools = typed(seed)
        [chain] = cheapest_chains(tools, "want", ["raw"]).chains
        cap = (chain.cost["usd"] or 0) * 5 // 4
        cheap = as_soon_as_possible(tools, chain.tools)
        fastest = call_plan(tools, "want", ["raw"], aim="seconds")
        plan, seconds, _ = timed(
            lambda tools=tools, cap=cap: call_plan(tools, "want", ["raw"], aim="seconds", limits={"usd": cap})
        )
        planning.append(seconds)
        to_cheapest.append(plan.makespan / cheap.makespan)
        to_sequence.append(plan.makespan / (chain.cost["seconds"] or 1))
        slower += plan.makespan > cheap.makespan
        over += (plan.cost["usd"] or 0) > cap
        cheapest_over += (cheap.cost["usd"] or 0) > cap
        fastest_over += fastest is not None and (fastest.cost["usd"] or 0) > cap
        if seed < runs:
            allowed = plan.makespan / 1000 * SHORTER + 3.0  # threads start late on a busy machine
            budget = Budget({"usd": cap, "wall_seconds": int(allowed * 1000)})
            ran = run_together(
                [_sleeping(item) for item in tools], "want", {"raw": "raw"}, aim="seconds", budget=budget
            )
            real["made"] += bool(ran)
            real["over a cap"] += (ran.spent["usd"] or 0) > cap or ran.seconds > allowed
            real["ratio"].append(ran.seconds / (plan.makespan / 1000 * SHORTER))
    return {
        "problems": count, "cap over the cheapest chain": 1.25,
        "time over the cheapest chain's as soon as possible, median": round(median(to_cheapest), 3),
        "the same, most": round(max(to_cheapest), 3), "slower than that": slower,
        "time over the cheapest chain's one call after the other, median": round(median(to_sequence), 3),
        "over the cap": over, "cheapest chain over the cap": cheapest_over,
        "fastest chain as soon as possible over the cap": fastest_over,
        "median seconds of planning, processor": round(median(planning), 4),
        "run in real time": {**real, "ratio": round(median(real["ratio"]), 3) if runs else None},
    }  # fmt: skip


SHORTER = 0.02
"""Real seconds for each that a tool declares."""


def _sleeping(item: Tool) -> Tool:
    """The same tool, which takes a fiftieth of its time, and declares that."""
    [made] = tools_of(
        [{"name": item.name, "takes": list(item.takes), "gives": item.gives, "pure": True,
          "cost": {"usd": (item.worst["usd"] or 0) / 1e6, "seconds": (item.worst["seconds"] or 0) / 1000 * SHORTER}}],
        "the bench",
    )  # fmt: skip

    def function(**_: object) -> str:
        time.sleep((item.worst["seconds"] or 0) / 1000 * SHORTER)
        return item.name

    return replace(made, function=function)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the three parts."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.schedules", description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="problems of 30 steps (default 30)")
    parser.add_argument("--tools", type=int, default=200, help="problems of typed tools (default 200)")
    parser.add_argument("--runs", type=int, default=20, help="so many of them run in real time (default 20)")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    found = {"free": free(args.count), "limited": limited(args.count), "tools": tools_at_once(args.tools, args.runs)}
    replace_file(args.out, (json.dumps(found, indent=1) + "\n").encode())
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
