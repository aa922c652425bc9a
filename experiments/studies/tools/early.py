"""Uncertain costs, told early: ``python -m experiments.studies.tools.early``.

The development problems of ``gsm_hard`` under a cap on seconds that some runs keep and some do not. What a call takes
is **simulated**: uniform between a share of its worst case and all of it, as the environment declares (0.5), and with
0.1 for calls that vary more. Every run writes each of its steps with the bundled model, and pays tokens for that. A run
*finishes* if it gives an answer within the cap; whether the answer is right is another question.

- *never stops*: plans with expected costs and goes on whatever is proven (``on_infeasible=partial``). Its forecasts are
  what is measured; a run that it finishes must not have been stopped.
- *stops where proven*: the same, but ends where no path fits even if every step takes its least.
- *stops at the worst case*: plans with the worst case, as the engine does by default.

Coverage is measured without a cap on seconds, where every rest can be watched to its end. A small general model
(``--asked smollm2``) is asked the same in the same states: how likely the run finishes, and between which amounts the
rest lies. ``--out`` keeps every run and state; the tables follow from these alone (:func:`summary`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from envs.gsm_hard.environment import tools
from envs.gsm_hard.generator import problem_set
from envs.gsm_hard.problem import Problem
from envs.gsm_hard.profiles import PROFILES
from envs.gsm_hard.prompts import word_problem
from experiments.harness.places import RESULTS
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Spread, Total
from tape.engine.result import EpisodeResult
from tape.files import replace_file
from tape.lm.base import Choice, LanguageModel, Message, Request
from tape.lm.registry import open_model
from tape.reading import read_json
from tape.statistics import clustered, success_interval
from tape.tools import Likely, Tool, ToolEnvironment, learned
from tape.trace import ActedEvent, Event, ForecastEvent, GeneratedEvent, PathSelectedEvent
from tape.waiting import run_sync

OUT = RESULTS / "early.json"
KIND = "seconds"
NEVER, PROVEN, WORST = "never stops", "stops where proven", "stops at the worst case"
ARMS: dict[str, dict[str, Any]] = {
    NEVER: {"costs": "expected", "on_infeasible": "partial"},
    PROVEN: {"costs": "expected", "on_infeasible": "stop"},
    WORST: {"costs": "declared", "on_infeasible": "stop"},
}
CELLS = {"0.5 to 1": (0.5, (0.7, 0.8, 0.9, 1.0)), "0.1 to 1": (0.1, (0.5, 0.6, 0.7, 0.8))}
"""What a call takes of its worst case: the least share, and the caps as shares of all cheapest calls at their worst."""
KNOWN = ("declared", "from 20 runs", "from 3 runs", "nothing")
"""What is known of the costs: their mean and deviation, calls of earlier runs, or only the worst case."""
LEVELS = (0.5, 0.8, 0.95)
FIRST = 20
"""The problems whose runs are learned from; coverage is measured on the others."""
THRESHOLD = 0.05
PERCENTS = tuple(f"{share}%" for share in range(0, 101, 10))


def problems(count: int) -> list[Problem]:
    """The first development problems."""
    return list(problem_set("dev"))[:count]


def unknown(item: Tool) -> Tool:
    """A tool of whose seconds only the worst case is known."""
    return replace(item, cost=Likely(item.cost, {KIND: Spread.unknown(item.cost.worst()[KIND] or 0)}))


def play(
    model: LanguageModel, problem: Problem, least: float, cap: int | None, arm: str, box: Sequence[Tool] | None = None
) -> EpisodeResult[Any]:
    """One run; without a judge an answer is a success, whichever it is."""
    profile = replace(PROFILES["priced"], least_seconds_share=least)
    found = ToolEnvironment(
        problem.text, tools(profile).all() if box is None else box, prompt_formats=word_problem(problem.text)
    )
    caps = {"steps": 2 * problem.operations + 3, KIND: 100_000 if cap is None else cap}
    return TapeAgent(model, execution="constrained", **ARMS[arm]).run(found, budget=Budget(caps), seed=0)


def run_row(cell: str, arm: str, problem: Problem, result: EpisodeResult[Any]) -> dict[str, Any]:
    """What counts of a run."""
    row = {"cell": cell, "arm": arm, "task": problem.id, "finished": result.success, "end": result.end_state}
    return row | {"steps": result.steps, "tokens": result.lm_tokens}


def states(events: Sequence[Event]) -> Iterator[tuple[ForecastEvent, int, list[str]]]:
    """The forecasts of a run, each with the tokens paid until then and the rest of the path; one of each step."""
    tokens, path, at, last = 0, [], 0, (-1, "")
    for event in events:
        match event:
            case GeneratedEvent():
                tokens += event.prompt_tokens + event.completion_tokens
            case PathSelectedEvent() if event.actions:
                path, at = event.actions, -1
            case ForecastEvent():
                at = event.step if at < 0 else at
                if (event.step, event.verdict) != last:
                    yield event, tokens, path[event.step - at :]
                last = (event.step, event.verdict)


def told(cell: str, problem: Problem, result: EpisodeResult[Any]) -> list[dict[str, Any]]:
    """The states of a run that never stops: what was forecast, and what the model is asked about."""
    rows = []
    for event, tokens, path in states(result.events or ()):
        row = {"cell": cell, "task": problem.id, "step": event.step, "tokens": tokens, "verdict": event.verdict}
        row |= {"probability": round(event.probability, 4), "finished": result.success}
        if event.rest:
            row |= {"left": event.rest[KIND].left, "calls": [action.partition("(")[0] for action in path]}
        rows.append(row)
    return rows


def watched(cell: str, known: str, problem: Problem, result: EpisodeResult[Any]) -> list[dict[str, Any]]:
    """The states of a run without a cap, each with what its rest really took; none of those whose path changed."""
    found, used = list(states(result.events or ())), result.used[KIND] or 0
    rows = []
    for event, _, path in found:
        if not result.success or len(path) != result.steps - event.step or event.verdict == "nothing_fits":
            continue
        rest = event.rest[KIND]
        if rest.least == rest.most:
            continue  # only the answer is left
        took = rest.left - (100_000 - used)
        row = {"cell": cell, "known": known, "task": problem.id, "step": event.step, "took": took}
        shape = {"mean": round(rest.mean, 2), "deviation": round(rest.deviation, 3), "least": rest.least}
        rows.append(row | shape | {"most": rest.most, "calls": [action.partition("(")[0] for action in path]})
    return rows


def played(job: tuple[str, int, str, Sequence[Sequence[Event]]]) -> tuple[dict[str, list[dict[str, Any]]], list[Event]]:
    """One problem: its runs under a cap, or its run without one, with what is known of the costs.

    Args:
        job: The cell, the number of the problem, what is known (nothing named: the runs under a cap), earlier runs.

    Returns:
        The rows, and what was done without a cap.
    """
    cell, number, known, earlier = job
    least, shares = CELLS[cell]
    problem, model = problems(number + 1)[number], _bundled()
    if known:
        blind = [unknown(item) for item in tools(replace(PROFILES["priced"], least_seconds_share=least)).all()]
        box = None if known == KNOWN[0] else learned(blind, earlier)
        result = play(model, problem, least, None, NEVER, box)
        rests = watched(cell, known, problem, result) if number >= FIRST else []
        return {"rests": rests}, [event for event in result.events or () if isinstance(event, ActedEvent)]
    cap = round(shares[number % len(shares)] * 100 * problem.operations)
    rows: dict[str, list[dict[str, Any]]] = {"runs": []}
    for arm in ARMS:
        result = play(model, problem, least, cap, arm)
        rows["runs"].append({"cap": cap, "operations": problem.operations} | run_row(cell, arm, problem, result))
        if arm == NEVER:
            rows["states"] = told(cell, problem, result)
    return rows, []


@cache
def _bundled() -> LanguageModel:
    return open_model("bundled:tools")


def measure(count: int, workers: int) -> dict[str, list[dict[str, Any]]]:
    """Play everything but what the general model is asked."""
    found: dict[str, list[dict[str, Any]]] = {"runs": [], "states": [], "rests": []}
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for cell in CELLS:
            earlier: list[list[Event]] = []
            for known in ("", *KNOWN):
                seen = {KNOWN[1]: earlier[:FIRST], KNOWN[2]: earlier[:3]}.get(known, [])
                first = FIRST if known in KNOWN[1:] else 0
                for rows, done in pool.map(played, [(cell, number, known, seen) for number in range(first, count)]):
                    for name, some in rows.items():
                        found[name] += some
                    earlier += [done] if known == KNOWN[0] else []
                print(f"{cell}, {known or 'runs'}: played", file=sys.stderr, flush=True)
    return found


def choose(model: LanguageModel, question: str, options: tuple[str, ...]) -> tuple[float, ...]:
    """The model's probability of each option."""
    request = Request((Message("user", question),), 8, constraint=Choice(options))
    [(weights, _)] = run_sync(model.score_options([request]))
    return tuple(weights)


def ask(name: str, found: dict[str, list[dict[str, Any]]], count: int) -> None:
    """Let a general model say what it takes for likely, in the open states of some problems; kept in their rows."""
    model, chosen = open_model(name), {problem.id for problem in problems(FIRST + count)[FIRST:]}
    for row in (row for row in found["states"] if row["verdict"] == "open" and row["task"] in chosen):
        least = CELLS[row["cell"]][0]
        question = (
            f"An agent has {row['left'] / 1000:g} seconds left and must still make these calls: "
            f"{_listed(row['calls'], least)}. Before each call the most it may take must be left. How likely is it "
            "that all calls can be made in time? Answer with a percentage."
        )
        weights = choose(model, question, PERCENTS)
        row["asked"] = [round(weight, 4) for weight in weights]
    for row in (row for row in found["rests"] if row["known"] == KNOWN[0] and row["task"] in chosen):
        least = CELLS[row["cell"]][0]
        amounts = tuple(dict.fromkeys(f"{row['most'] * share / 10 / 1000:.2f}" for share in range(11)))
        about = f"An agent must still make these calls: {_listed(row['calls'], least)}."
        for end, words in (("low", "Only 1 time in 10 they take less"), ("high", "Only 1 time in 10 they take more")):
            question = f"{about} How many seconds do they take together? {words} than this number of seconds:"
            weights = choose(model, question, amounts)
            row[end] = round(1000 * float(amounts[weights.index(max(weights))]))


def _listed(calls: Sequence[str], least: float) -> str:
    seconds = {v.name: (v.worst[KIND] or 0) / 1000 for v in PROFILES["priced"].variants}
    worst = [(call, seconds[call.partition(".")[2]]) for call in calls if "." in call]
    return ", ".join(f"{call} (between {least * most:g} and {most:g} seconds)" for call, most in worst)


def summary(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the tables, from the runs and states alone."""
    return {
        "stops": [row for cell in CELLS for row in _stops(cell, found)],
        "coverage": [row for cell in CELLS for row in _coverage(cell, found["rests"])],
        "probability": [row for cell in CELLS for row in _brier(cell, found["states"])],
    }


def _share(values: Sequence[float], tasks: Sequence[str]) -> dict[str, Any]:
    if not values:
        return {"n": 0, "mean": None, "ci95": None}
    low, high = clustered(values, tasks)
    return {"n": len(values), "mean": round(sum(values) / len(values), 3), "ci95": [round(low, 3), round(high, 3)]}


def _stops(cell: str, found: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Who stops, when, and how often falsely: a run that is not stopped finishes."""
    runs = {arm: {r["task"]: r for r in found["runs"] if (r["cell"], r["arm"]) == (cell, arm)} for arm in ARMS}
    base = runs[NEVER]
    mine = [row for row in found["states"] if row["cell"] == cell]

    def row(who: str, stopped: dict[str, int], tasks: Sequence[str]) -> dict[str, Any]:
        failed = [task for task in tasks if not base[task]["finished"]]
        saved = [1 - min(stopped.get(task, base[task]["tokens"]) / base[task]["tokens"], 1.0) for task in failed]
        told = [task for task in failed if task in stopped]
        return {
            "cell": cell, "who": who, "runs": len(tasks), "failed": len(failed), "told": len(told),
            "finished": len(tasks) - len(failed),
            "false_stops": sum(base[task]["finished"] for task in stopped), "saved": _share(saved, failed),
        }  # fmt: skip

    tasks = list(base)
    for arm in (PROVEN, WORST):
        stopped = {task: one["tokens"] for task, one in runs[arm].items() if not one["finished"]}
        yield row(arm, stopped, tasks)
    yield row(f"probability below {THRESHOLD:g}", _first(mine, lambda one: one["probability"] < THRESHOLD), tasks)
    asked = [one for one in mine if "asked" in one]
    some = sorted({one["task"] for one in asked})
    if asked:
        stopped = {task: runs[PROVEN][task]["tokens"] for task in some if not runs[PROVEN][task]["finished"]}
        yield row(f"{PROVEN}, where the model was asked", stopped, some)
        yield row("the model says 0 or 10 %", _first(asked, lambda one: _likeliest(one) <= 0.1), some)


def _first(rows: Sequence[dict[str, Any]], test: Any) -> dict[str, int]:
    """Of each run the tokens until the first state that passes a test."""
    found: dict[str, int] = {}
    for row in rows:
        if test(row):
            found.setdefault(row["task"], row["tokens"])
    return found


def _likeliest(row: dict[str, Any]) -> float:
    return row["asked"].index(max(row["asked"])) / 10  # type: ignore[no-any-return]


def _coverage(cell: str, rests: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """How often an interval holds what the rest took."""
    for known in KNOWN:
        mine = [row for row in rests if (row["cell"], row["known"]) == (cell, known)]
        row: dict[str, Any] = {"cell": cell, "who": known, "n": len(mine)}
        for level in LEVELS:
            ends = [_total(one).interval(level) for one in mine]
            inside = [low <= one["took"] <= high for one, (low, high) in zip(mine, ends, strict=True)]
            row[f"{level:.0%}"] = _covered(inside, mine)
        yield row
    asked = [row for row in rests if row["cell"] == cell and "low" in row]
    for who, pairs in (
        ("declared, where the model was asked", [_total(one).interval(0.8) for one in asked]),
        ("the model", [(one["low"], one["high"]) for one in asked]),
    ):
        inside = [low <= one["took"] <= high for one, (low, high) in zip(asked, pairs, strict=True)]
        yield {"cell": cell, "who": who, "n": len(asked), "80%": _covered(inside, asked)}


def _total(row: dict[str, Any]) -> Total:
    return Total(row["mean"], row["deviation"], row["least"], row["most"])


def _covered(inside: Sequence[bool], rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if not inside:
        return None
    low, high, _ = success_interval(inside, [row["task"] for row in rows])
    return {"share": round(sum(inside) / len(inside), 3), "ci95": [round(low, 3), round(high, 3)]}


def _brier(cell: str, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The mean squared error of what was said to be the probability that a run finishes."""
    open_ = [row for row in rows if row["cell"] == cell and row["verdict"] == "open"]
    asked = [row for row in open_ if "asked" in row]
    rate = sum(row["finished"] for row in open_) / max(1, len(open_))
    said = {
        "the forecast": (open_, lambda row: row["probability"]),
        "the forecast, where the model was asked": (asked, lambda row: row["probability"]),
        "the model, its likeliest answer": (asked, _likeliest),
        "the model, its mean": (asked, lambda row: sum(w * k / 10 for k, w in enumerate(row["asked"]))),
        "always the share that finishes": (open_, lambda _: rate),
    }
    for who, (own, value) in said.items():
        errors = [(value(row) - row["finished"]) ** 2 for row in own]
        mean = round(sum(map(value, own)) / len(own), 3) if own else None
        finished = round(sum(row["finished"] for row in own) / len(own), 3) if own else None
        brier = _share(errors, [row["task"] for row in own])
        yield {"cell": cell, "who": who, "brier": brier, "said": mean, "finished": finished}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, ask, keep and print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.tools.early", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="development problems, 21 to 100 (default: 60)")
    parser.add_argument("--workers", type=int, default=2, help="processes; what is played does not depend on them")
    parser.add_argument("--asked", metavar="MODEL", help="a general model that is asked the same; plays nothing anew")
    parser.add_argument("--problems", type=int, default=8, help="of how many problems it is asked (default: 8)")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(arguments)
    if args.asked:
        found = {k: v for k, v in read_json(args.out, dict[str, Any]).items() if k in ("runs", "states", "rests")}
        ask(args.asked, found, args.problems)
    else:
        found = measure(args.count, args.workers)
    rows = summary(found)
    lines = [f'"{name}": [\n' + ",\n".join(map(json.dumps, part)) + "\n]" for name, part in (rows | found).items()]
    replace_file(args.out, "{" + ",\n".join(lines) + "}\n")
    for name, part in rows.items():
        print(name, *map(json.dumps, part), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
