"""One planning call or episode of ``experiments.benches.langgoap``, and the worker process that makes it."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

from pydantic import BaseModel, create_model

from envs.tool_chains.environment import ToolChainsEnvironment, as_tools
from envs.tool_chains.problem import CENT, Offer, Problem
from experiments.benches.langgoap_tasks import Task, chain, home, verdict
from experiments.studies.tools.chains import DECLARED, problems
from solvers import Status, shortest_path
from tape.agents.tape import TapeAgent
from tape.budget import Resources
from tape.lm.registry import open_model
from tape.seeds import derive
from tape.tools.cost import Fixed
from tape.tools.tool import Tool
from tape.tools.typed import PlanningError, cheapest_chains

TAPE, GRAPH = "TAPE, exact planner", "TAPE's solver on the graph of states"
DEFAULT, ALL = "LangGOAP, A* then CP-SAT", "LangGOAP, all alternatives"
USED, DOLLARS = "LangGOAP, time in its state (our way)", "LangGOAP, costs in dollars"
TYPES = "LangGOAP, a condition for each type"

METHODS = {
    TAPE: None,
    "LangGOAP, caps as constraints": "constraints",
    "LangGOAP, and MaxCostPolicy": "stop",
    "LangGOAP, and no plan that it flags": "flag",
    "LangGOAP, and a guard": "guard",
    USED: "state",
}
"""Who plays, and how LangGOAP keeps its caps."""


@lru_cache(maxsize=64)
def task_of(family: str, caps: str, size: str, number: int) -> Task:
    """A task to be planned; the size of a chain is "level/tools"."""
    if family == "chains":
        level, tools = map(int, size.split("/"))
        return chain(caps, level, tools, number)
    return home(family, caps, size, number)


def planning(planner: str, task: Task) -> Callable[[], Sequence[str] | None]:
    """A planning call, everything made that is made once."""
    if planner == TAPE:
        return _typed(task)
    if planner == GRAPH:
        return lambda: _on_graph(task)
    from experiments.benches import langgoap_rival as rival

    chains = task.family == "chains"
    used = planner == USED
    made = rival.written(task, place=chains and planner != TYPES, dollars=planner == DOLLARS, used=used)
    alternatives = rival.ALL if planner == ALL else 5
    return lambda: rival.plan(made, alternatives, task.cents if used else None)


def _typed(task: Task) -> Callable[[], Sequence[str] | None]:
    """By typed tools. One that makes two types is two tools, which pay apiece: they cannot say it otherwise."""
    limits = {"usd": task.cents * CENT, "seconds": task.millis}
    if task.family == "chains":
        offers = [Offer(w.name, w.needs[0], w.makes[0], w.cents, w.millis) for w in task.works]
        tools, want = as_tools(offers), task.goal[0]
    else:
        made = [
            _tool(f"{w.name}_{n}", w.needs, one, w.cents, w.millis) for w in task.works for n, one in enumerate(w.makes)
        ]
        tools, want = (*made, _tool("both", task.goal, "all", 0, 0)), "all"

    def call() -> Sequence[str] | None:
        found = cheapest_chains(tools, want, task.start, limits=limits)
        if not found:
            return None
        if task.family == "chains":
            return found.best.tools
        return [name.rpartition("_")[0] for name in found.best.tools if name != "both"]

    return call


def _tool(name: str, takes: Sequence[str], gives: str, cents: int, millis: int) -> Tool:
    cost = Fixed(Resources({"usd": cents * CENT, "seconds": millis}))
    return Tool(name, "", lambda **_: None, _inputs(len(takes)), "", cost, takes=tuple(takes), gives=gives)


@lru_cache(maxsize=16)
def _inputs(count: int) -> type[BaseModel]:
    fields: dict[str, Any] = {f"input_{number}": (Any, ...) for number in range(count)}
    return create_model("inputs", **fields)


def _on_graph(task: Task) -> Sequence[str] | None:
    """By ``solvers.shortest_path`` on all sets of conditions that can be reached: a domain of one's own."""
    begin, goal = frozenset(task.start), frozenset(task.goal)
    nodes, order = {begin: 0}, [begin]
    edges: list[tuple[int, int, dict[str, int]]] = []
    names: list[str] = []
    for here in order:  # grows while it is read
        if here >= goal:
            edges.append((nodes[here], -1, {"cost": 0, "millis": 0}))
            names.append("")
            continue
        for work in task.works:
            after = here.union(work.makes)
            if after == here or not here.issuperset(work.needs):
                continue
            if after not in nodes:
                nodes[after] = len(order)
                order.append(after)
            edges.append((nodes[here], nodes[after], {"cost": work.cents, "millis": work.millis}))
            names.append(work.name)
    found = shortest_path(edges, 0, -1, {"cost": task.cents, "millis": task.millis})
    if found.status is not Status.OPTIMAL:
        return None
    return [names[edge] for edge in found.edges if names[edge]]


def played(method: str, problem: Problem) -> dict[str, Any]:
    """One episode."""
    mode = METHODS[method]
    if mode is None:
        world = ToolChainsEnvironment(problem)
        settings: dict[str, Any] = dict(DECLARED)
        agent = TapeAgent(open_model("declared:random"), **settings)
        begun = time.perf_counter()
        result = agent.run(world, budget=problem.budget, seed=derive(0, problem.id))
        took, end, replans = time.perf_counter() - begun, str(result.end_state), result.replans
    else:
        from experiments.benches.langgoap_rival import Episode

        episode = Episode(problem, mode)
        begun = time.perf_counter()
        end = episode.run()
        took, world, replans = time.perf_counter() - begun, episode.world, episode.replans
    over = (world.used["usd"] or 0) > problem.cents * CENT or (world.used["seconds"] or 0) > problem.millis
    exact = world.measures()["cheapest"] == 1.0 and not over
    if problem.caps == "short":  # right is to say so before the first call
        exact = not world.called and end in ("infeasible", "no_plan")
    return {"right": exact, "success": world.success(), "over": over, "end": end, "replans": replans, "seconds": took}


def _answer(job: tuple[str, ...]) -> dict[str, Any]:
    what, who, *where = job
    if what == "play":
        cell, level, tools, number = where[0], *map(int, where[1:])
        return played(who, problems(cell, level, tools, number + 1)[number])
    family, caps, size, number_ = where
    task = task_of(family, caps, size, int(number_))
    call = planning(who, task)
    begun = time.perf_counter()
    try:
        names = call()
    except PlanningError:  # more than it looks at
        return {"verdict": "given up", "seconds": time.perf_counter() - begun}
    took = time.perf_counter() - begun
    return {"verdict": verdict(task, names), "seconds": took}


def _serve(line: Connection) -> None:
    logging.disable(logging.CRITICAL)  # LangGOAP warns of every plan that exceeds a cap
    from experiments.benches import langgoap_rival

    line.send(langgoap_rival.__name__)
    while True:
        line.send(_answer(line.recv()))


class Worker:
    """A process that answers jobs, and is ended and started anew where it takes too long."""

    def __init__(self, limit: float, serve: Callable[[Connection], None] = _serve) -> None:
        self._limit, self._serve_by = limit, serve
        self._process: Any = None

    def ask(self, job: tuple[str, ...]) -> dict[str, Any] | None:
        """The answer; None where the limit has passed."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._line, theirs = context.Pipe()
            self._process = context.Process(target=self._serve_by, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
            self._line.recv()
        self._line.send(job)
        if self._line.poll(self._limit):
            found: dict[str, Any] = self._line.recv()
            return found
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._line.close()
            self._process = None
