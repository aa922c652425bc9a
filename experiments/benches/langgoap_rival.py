"""LangGOAP as it is asked in ``experiments.benches.langgoap``: how tasks are written for it, its planners, its graph.

Its actions have conditions (``preconditions``), ``effects``, a ``cost`` that A* minimises, and ``resources`` that its
caps (``ConstraintSpec``) are on. A* finds the cheapest plan; CP-SAT then picks among that and plans without one of its
actions. Three ways to write a task:

- ``conditions``: a condition for each type, as its own examples have it; what a call uses up becomes false.
- ``place``: one variable that says which type is at hand, so that there are as few states as types. For chains alone,
  where it means the same and is far quicker: the way that is best for LangGOAP.
- ``used``: as above, and the time that has been used is part of the state: effects add to it, and a cost function makes
  an action that exceeds the cap infinitely dear, which A* leaves out. Then A* alone finds the cheapest plan in time,
  and what remains is to compare its cost with the other cap. Its pages do not say so; it is the best way that we found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgoap import ActionSpec, ConstraintSpec, GoalPolicy, GoalSpec
from langgoap.graph.builder import GoapGraph
from langgoap.guards import FunctionalGuard, GuardResult, GuardSeverity
from langgoap.planner.astar import plan as astar
from langgoap.planner.csp import CSPStatus
from langgoap.planner.pipeline import plan as pipeline
from langgoap.planner.types import Plan
from langgoap.state import PlanningState
from langgoap.termination import EarlyTermination, MaxCostPolicy
from langgoap.types import ReplanStrategy

from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.problem import CENT, Problem
from experiments.benches.langgoap_tasks import Task, Work
from tape.tools.calls import answer
from tape.tools.tool import Tool
from tape.tools.typed.domain import as_action, as_typed

Conditions = dict[str, Any]
Written = tuple[list[ActionSpec], Conditions, GoalSpec]
"""Actions, the state at the start, and the goal."""

ALL = 1000
"""Alternatives: more than it ever makes, which is one for each action of the plan."""

MODES = ("constraints", "stop", "flag", "guard", "state")
"""How an episode of LangGOAP keeps its caps; see :class:`Episode`."""

MOST_REPLANS = 30
"""Replans of an episode before it counts as lost; LangGOAP's own default is 10."""


def actions(
    works: Sequence[Work],
    start: Sequence[str],
    *,
    place: bool,
    dollars: bool = False,
    millis: int | None = None,
    execute: Callable[[str], Callable[[Conditions], Conditions]] | None = None,
    price: Callable[[str], float] | None = None,
) -> list[ActionSpec]:
    """The actions of a task.

    Args:
        works: What can be done.
        start: What is there from the start and never used up.
        place: One variable instead of a condition for each type.
        dollars: Costs in dollars instead of cents.
        millis: The cap on time, kept by the state; None leaves it out.
        execute: What a call does, by name; None for planning alone.
        price: The cost in force, by name; asked at each planning. None: as in `works`.
    """
    made = []
    for work in works:
        needs, makes = _written(work, start, place)
        if place and (millis is not None or execute is None):
            # Who only plans need not go back to the start; else its tools could be called anywhere.
            needs = {"at": work.needs[0]}
        cost: Any = work.cents / 100 if dollars else float(work.cents)
        if price is not None:
            cost = _asked(price, work.name)
        more: dict[str, Any] = {}
        effects: Any = makes
        if millis is not None:
            effects, cost = _adding(work, makes), _within(work, millis)
            more["effect_keys"] = frozenset({*makes, "millis"})
        made.append(
            ActionSpec(
                name=work.name,
                preconditions=needs,
                effects=effects,
                cost=cost,
                resources={"cents": work.cents, "millis": work.millis},
                execute=None if execute is None else execute(work.name),
                **more,
            )
        )
    return made


def _written(work: Work, start: Sequence[str], place: bool) -> tuple[Conditions, Conditions]:
    if place:
        return {} if work.needs[0] in start else {"at": work.needs[0]}, {"at": work.makes[0]}
    used_up = {} if not start else {one: False for one in work.needs if one not in start}
    return dict.fromkeys(work.needs, True), used_up | dict.fromkeys(work.makes, True)


def _adding(work: Work, makes: Conditions) -> Callable[[Mapping[str, Any]], Conditions]:
    return lambda now: makes | {"millis": now["millis"] + work.millis}


def _within(work: Work, millis: int) -> Callable[[Mapping[str, Any]], float]:
    return lambda now: float("inf") if now["millis"] + work.millis > millis else float(work.cents)


def _asked(price: Callable[[str], float], name: str) -> Callable[[Mapping[str, Any]], float]:
    def cost(now: Mapping[str, Any]) -> float:
        del now
        return price(name)

    return cost


def goal(conditions: Conditions, caps: tuple[int, int] | None, policy: GoalPolicy | None = None) -> GoalSpec:
    """What is wanted, with both caps as hard constraints; None where the state keeps them, which needs no CP-SAT."""
    limits = () if caps is None else (ConstraintSpec("cents", max=caps[0]), ConstraintSpec("millis", max=caps[1]))
    return GoalSpec(conditions=conditions, constraints=limits, policy=policy or GoalPolicy())


def written(task: Task, *, place: bool, dollars: bool = False, used: bool = False) -> Written:
    """A task to be planned."""
    caps = None if used else (task.cents, task.millis)
    made = actions(task.works, task.start, place=place, dollars=dollars, millis=task.millis if used else None)
    state: Conditions = {"at": task.start[0]} if place else dict.fromkeys(task.start, True)
    if used:
        state["millis"] = 0
    return made, state, goal({"at": task.goal[0]} if place else dict.fromkeys(task.goal, True), caps)


def plan(made: Written, alternatives: int, cents: int | None = None) -> list[str] | None:
    """A* and CP-SAT, as its graph asks them; a plan that is flagged as infeasible counts as none.

    Args:
        made: The task.
        alternatives: How many plans without one of the actions CP-SAT is given, at most.
        cents: A cap on the cost, where the task has no caps of its own.
    """
    specs, state, wanted = made
    found = pipeline(dict(state), wanted, specs, max_alternatives=alternatives)
    if found is None or flagged(found) or (cents is not None and found.total_cost > cents):
        return None
    return list(found.action_names)


def flagged(found: Plan) -> bool:
    """Whether CP-SAT says that a plan exceeds a cap; it is returned, and carried out, all the same."""
    return found.metadata.csp is not None and found.metadata.csp.status is CSPStatus.INFEASIBLE


class _Checked:
    """A strategy of ours: one of its planners, and no plan where the one found does not do."""

    def __init__(self, planner: Callable[..., Plan | None], does: Callable[[Plan], bool]) -> None:
        self._planner, self._does = planner, does

    def plan(
        self,
        start: PlanningState,
        goal: GoalSpec,
        actions: list[ActionSpec],
        *,
        blacklisted_actions: list[str] | None = None,
        prior_plan: Plan | None = None,
        current_step: int = 0,
    ) -> Plan | None:
        del prior_plan, current_step
        found = self._planner(start, goal, actions, blacklisted_actions=blacklisted_actions)
        return found if found is not None and self._does(found) else None


class _Told:
    """A termination policy that ends the run when the environment has told something, so that it can begin anew."""

    name = "told"

    def __init__(self) -> None:
        self.now = False

    def should_terminate(self, state: Any) -> EarlyTermination | None:
        del state
        return EarlyTermination(self.name, "what is wanted or offered has changed", False) if self.now else None


class Episode:
    """One tool chain played by LangGOAP's graph (planner, executor, observer on LangGraph).

    A refused call is an exception of the action: it is put on the blacklist, and the graph replans. ``caps``:

    - ``constraints``: as its pages say. Caps are constraints of the goal, and cost functions ask for the price in force
      (replanned after every action, since prices may change at any time).
    - ``stop``: the first, and its ``MaxCostPolicy`` ends the run when the money cap is reached.
    - ``flag``: the first, and a strategy of ours leaves out plans that CP-SAT flags as infeasible, as its pages advise.
    - ``guard``: the first, and a guard of ours blocks every call that would exceed a cap.
    - ``state``: our way. What has been used is part of the state, see the module.

    A new wish and new tools, which a graph cannot take in, end the run by a termination policy, and a new graph goes on
    from where it was; under ``state`` new prices do so too, and it replans where something has deviated alone.
    """

    def __init__(self, problem: Problem, caps: str) -> None:
        self.problem, self.caps = problem, caps
        self.world = ToolChainsEnvironment(problem)
        self.replans = 0
        self._now = as_typed(self.world.reset(0).data)
        self._prices: dict[str, float] = {}
        self._at = problem.start
        self._wanted: str | None = None
        self._told = _Told()

    def run(self) -> str:
        """Play to the end; returns the last status."""
        state: Conditions = {"at": self.problem.start} | self._used()
        while True:
            self._told.now = False
            self._wanted = self._now.wanted
            self._look()
            result = self._graph().invoke(self._goal(), state)
            status, state = str(result["status"]), dict(result["world_state"])
            self.replans += result.get("replan_count", 0)
            if not self._told.now:
                break
            self.replans += 1
        if status == "goal_achieved" and self._now.wanted is not None:
            self.world.step(answer(self._now.wanted).text)
        return status

    def _look(self) -> tuple[Work, ...]:
        """The offers that have been told."""
        tools = self.world.domain.tools(self._now)
        works = tuple(
            Work(t.name, t.takes, (t.gives,), (t.worst["usd"] or 0) // CENT, t.worst["seconds"] or 0) for t in tools
        )
        self._prices = {work.name: float(work.cents) for work in works}
        return works

    def _used(self) -> Conditions:
        cents, millis = (self.world.used["usd"] or 0) // CENT, self.world.used["seconds"] or 0
        return {"cents": cents, "millis": millis, "total_cost_usd": cents / 100}

    def _graph(self) -> GoapGraph:
        ours = self.caps == "state"
        made = actions(
            self._look(),
            (self.problem.start,),
            place=True,
            millis=self.problem.millis if ours else None,
            execute=self._call,
            price=None if ours else self._price,
        )
        if ours:
            made.append(self._again())
        policies: list[Any] = [self._told]
        if self.caps == "stop":
            policies.append(MaxCostPolicy(usd=self.problem.cents / 100))
        guards: list[Any] = [FunctionalGuard("caps", self._guard)] if self.caps == "guard" else []
        strategy = None
        if self.caps == "flag":
            strategy = _Checked(pipeline, lambda found: not flagged(found))
        elif ours:
            strategy = _Checked(astar, lambda found: found.total_cost <= self.problem.cents - self._used()["cents"])
        return GoapGraph(made, strategy=strategy, guards=guards, termination_policies=policies)

    def _again(self) -> ActionSpec:
        """Go back to the start, which is never used up; from where the episode is alone, else the search explodes."""
        start = self.problem.start

        def cost(now: Mapping[str, Any]) -> float:
            return 0.0 if now["at"] == self._at else float("inf")

        def execute(state: Conditions) -> Conditions:
            del state
            self._at = start
            return {"at": start}

        return ActionSpec(name="again", effects={"at": start}, cost=cost, execute=execute)

    def _goal(self) -> GoalSpec:
        ours = self.caps == "state"
        when = ReplanStrategy.ON_DEVIATION if ours else ReplanStrategy.EVERY_ACTION
        caps = None if ours else (self.problem.cents, self.problem.millis)
        return goal({"at": self._wanted}, caps, GoalPolicy(replan_strategy=when, max_replans=MOST_REPLANS))

    def _price(self, name: str) -> float:
        return self._prices.get(name, 0.0)

    def _guard(self, action: ActionSpec, state: Conditions) -> GuardResult:
        del state
        used, tool = self._used(), self._tool(action.name)
        fits = tool is None or (
            used["cents"] * CENT + (tool.worst["usd"] or 0) <= self.problem.cents * CENT
            and used["millis"] + (tool.worst["seconds"] or 0) <= self.problem.millis
        )
        return GuardResult(fits, "a cap would be exceeded", GuardSeverity.BLOCK)

    def _tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.world.domain.tools(self._now) if tool.name == name), None)

    def _call(self, name: str) -> Callable[[Conditions], Conditions]:
        def execute(state: Conditions) -> Conditions:
            del state
            tool = self._tool(name)
            if tool is None:
                raise RuntimeError(f"{name} is not offered")
            before, made = self._now, len(self.world.called)
            self._now = as_typed(self.world.step(as_action(tool))[0].data)
            if len(self.world.called) == made:
                raise RuntimeError(f"{name} was refused")
            if self._now.edition != before.edition:
                same = {one.name for one in self._look()} == {one.name for one in self.world.domain.tools(before)}
                self._told.now = not same or self.caps == "state"
            self._told.now = self._told.now or self._now.wanted != self._wanted
            self._at = tool.gives
            return {"at": self._at} | self._used()

        return execute
