"""Planners as sources of plans: ``--proposer planner:NAME``. They know nothing of the budgets.

A planner runs in a process of its own (:mod:`envs.pddl.planner_child`), within a limit of time and of memory. What it
answers is checked by our own semantics before it is folded. Where it gives one plan, it is asked again with actions of
that plan forbidden.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.pddl.names import FINISH
from envs.pddl.state import PddlState, as_state
from tape.engine.episode import EpisodeEnded
from tape.errors import ConfigError
from tape.protocols import Action, Plan, State

if TYPE_CHECKING:
    from envs.pddl.domain import PddlDomain

DEFAULT = "pyperplan"

MORE = 3
"""Once a planner has a plan, this many times as long is spent on all of its plans."""

LONGEST = 1 << 26
"""Bytes of a plan."""

_ENDS = {
    "unsolvable": "reported unsolvable by {name}",
    "time": "not found within the bounds: {name} took longer than {seconds:g} s",
    "memory": "not found within the bounds: {name} needed more than {memory:,} MiB",
    "not_found": "not found: {name} gave up without a proof",
    "failed": "not found: {name} failed: {said}",
}


@dataclass(frozen=True)
class PlannerAnswer:
    """What a planner has answered.

    Attributes:
        plans: Its plans, as calls.
        end: How it ended: solved, unsolvable, time, memory, not_found or failed.
        said: What it said, where it failed.
        wrong: Why plans of it are no plans of the problem, or break a cap on a number of the state.
    """

    plans: Sequence[Sequence[Action]]
    end: str
    said: str = ""
    wrong: Sequence[str] = ()


class PlannerProposer:
    """Proposes the plans of a planner.

    Args:
        domain: The problem.
        name: Of the planner, as unified-planning knows it, or ``kstar``.
    """

    def __init__(self, domain: PddlDomain, name: str) -> None:
        self._domain, self._name = domain, name

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """At most ``m`` plans from each start; the seed has no effect.

        Raises:
            EpisodeEnded: ``no_plan``: says whether the problem was reported unsolvable, or no plan was found in bounds.
        """
        del seed
        answers = [await ask(self._domain, self._name, as_state(state), m) for state, _ in starts]
        if not any(answer.plans for answer in answers):
            raise EpisodeEnded("no_plan", self.worded(answers[0]))
        return [[Plan(tuple(plan)) for plan in answer.plans] for answer in answers]

    def worded(self, answer: PlannerAnswer) -> str:
        """Why there is no plan."""
        if answer.wrong:
            return f"no plan of {self._name} can be followed: {'; '.join(dict.fromkeys(answer.wrong))}"
        bounds = self._domain.bounds
        return _ENDS[answer.end].format(
            name=self._name, seconds=bounds.seconds, memory=bounds.memory, said=answer.said or "it said nothing"
        )


async def ask(domain: PddlDomain, name: str, state: PddlState, count: int) -> PlannerAnswer:
    """Ask a planner for plans from a state.

    Raises:
        ConfigError: The problem was not read from files.
    """
    if domain.files is None:
        raise ConfigError("a planner needs the files of the problem: PddlEnvironment(domain=FILE, problem=FILE)")
    begins = state == domain.task.start
    start = None if begins else {"facts": sorted(state.facts), "numbers": [(a, str(v)) for a, v in state.numbers]}
    request = {
        "domain": str(domain.files[0].resolve()),
        "problem": str(domain.files[1].resolve()),
        "planner": name,
        "count": count,
        "memory": domain.bounds.memory,
        "start": start,
    }
    lines = await _lines(request, domain.bounds.seconds)
    plans, wrong = list[Sequence[Action]](), list[str]()
    for calls in (line["plan"] for line in lines if "plan" in line):
        plan = [tuple(call) for call in calls]
        if refused := domain.task.follow(state, plan).refused:
            wrong.append(refused)
        else:
            ended = [*plan, *([(FINISH,)] if domain.task.finishes else [])]
            plans.append([domain.names.call(call) for call in ended])
    last = next(
        (line for line in lines if "end" in line),
        {"end": "failed", "said": "its process has ended, perhaps for want of memory"},
    )
    return PlannerAnswer(plans, last["end"], last.get("said", ""), wrong)


async def _lines(request: Mapping[str, Any], seconds: float) -> list[dict[str, Any]]:
    """The lines of a planner's process; what it wrote in time is kept."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "envs.pddl.planner_child",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST,
        cwd=Path(__file__).parents[2], start_new_session=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},  # a planner in Python breaks ties alike each time
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    lines, began, until = list[dict[str, Any]](), time.monotonic(), seconds
    try:
        while line := await asyncio.wait_for(process.stdout.readline(), until - (time.monotonic() - began)):
            with suppress(ValueError):  # it was ended within a line
                lines.append(json.loads(line))
            if len(lines) == 1:  # it has a plan; others are worth no more than a few times as long
                until = min(seconds, MORE * (time.monotonic() - began) + 1)
    except TimeoutError:
        lines.append({"end": "time"})
    finally:
        with suppress(ProcessLookupError):  # nothing is left of it and of the processes that it has begun
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return lines


def proposer(domain: Any, name: str = DEFAULT) -> PlannerProposer:
    """The proposer of ``planner:NAME``.

    Raises:
        ConfigError: The environment is no planning problem, or the planner is not installed.
    """
    from envs.pddl.domain import PddlDomain

    if not isinstance(domain, PddlDomain):
        raise ConfigError(
            f"proposer='planner:{name}' needs a planning problem (tape run pddl), not {type(domain).__name__}"
        )
    require_planner(name)
    return PlannerProposer(domain, name)


def require_planner(name: str) -> None:
    """Check that a planner is installed.

    Raises:
        ConfigError: It is not; lists those that are.
    """
    import importlib.util

    if name == "kstar":
        if importlib.util.find_spec("kstar_planner") is None:
            raise ConfigError("the planner kstar is not installed: pip install kstar-planner")
        return
    from unified_planning.shortcuts import get_environment

    known = get_environment().factory.engines
    if name not in known:
        from unified_planning.engines.factory import DEFAULT_ENGINES

        usual = name in DEFAULT_ENGINES
        hint = f"pip install up-{name.removesuffix('-opt')}" if usual else "see unified-planning's list of engines"
        have = [item for item in known if get_environment().factory.engine(item).is_oneshot_planner()]
        raise ConfigError(f"the planner {name} is not installed ({hint}); installed: {', '.join(have) or 'none'}")
