"""Running typed tools at once: planned, paid for in advance, and planned again where a call fails or comes late."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from tape.budget import Budget, BudgetLike, Ledger, Reservation, Resources, unknown
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import MOST, Deadline
from tape.errors import BudgetExceededError
from tape.seeds import derive
from tape.tools.apart import Made, attempt, make
from tape.tools.errors import InvalidCallError
from tape.tools.tool import Tool
from tape.tools.typed.together import CallPlan, PlannedCall, call_plan
from tape.trace import FinishedEvent, ScheduledCall, ScheduledEvent, StartedEvent, TraceWriter, with_critical
from tape.waiting import run_sync


@dataclass(frozen=True)
class Ran:
    """A call that has run.

    Attributes:
        tool: The name of its tool.
        start: Seconds of real time from the beginning.
        end: The same when it had ended.
        failure: Why it gave nothing; None where it gave its type.
    """

    tool: str
    start: float
    end: float
    failure: str | None = None


@dataclass
class RanTogether:
    """What came of it; true if the wanted type was made.

    Attributes:
        value: Its value; None without.
        reason: Why there is none.
        end_state: ``success``, ``infeasible``, ``budget:wall_seconds``, or ``interrupted`` by an exception.
        calls: The calls, by their ends.
        plans: The plans that were followed, the first one first.
        spent: What was used, in counts.
        seconds: Real time of all.
        events: The plans, and at the end the calls, as a trace has them.

    Examples:
        >>> from tape.tools.typed import RanTogether, run_together
        >>> done = run_together([], "rows", {"export": "May"})
        >>> isinstance(done, RanTogether), bool(done), done.end_state
        (True, False, 'infeasible')
        >>> done.reason
        "no calls that give 'rows' fit into what is left"
    """

    value: Any = None
    reason: str = ""
    end_state: str = "interrupted"
    calls: list[Ran] = field(default_factory=list)
    plans: list[CallPlan] = field(default_factory=list)
    spent: Resources = field(default_factory=Resources)
    seconds: float = 0.0
    events: list[ScheduledEvent] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.end_state == "success"


def run_together(tools: Sequence[Tool], want: str, have: Mapping[str, Any], **options: Any) -> RanTogether:
    """Make a type by typed tools, calls at once where they may be; takes what :func:`arun_together` takes.

    Examples:
        >>> from tape.tools import tool
        >>> from tape.tools.typed import run_together
        >>> @tool(takes="export", gives="rows", usd="0.02", pure=True)
        ... def clean(export: str) -> str:
        ...     "Clean the rows of an export."
        ...     return f"rows of {export}"
        >>> done = run_together([clean], "rows", {"export": "May"}, budget="$0.10, wall_seconds=5")
        >>> done.value, done.spent["usd"]
        ('rows of May', 20000)
    """
    return run_sync(arun_together(tools, want, have, **options))


async def arun_together(
    tools: Sequence[Tool],
    want: str,
    have: Mapping[str, Any],
    *,
    budget: BudgetLike = None,
    aim: str = "usd",
    parallel: int | None = None,
    at_once: Mapping[str, int] | None = None,
    seed: int = 0,
    trace: Path | str | None = None,
) -> RanTogether:
    """Make a type by typed tools, calls at once where they may be.

    Args:
        tools: The tools, all of them typed. Calls of those that are not ``pure`` wait for each other.
        want: The type that is wanted.
        have: What is there from the start, values by type.
        budget: Hard caps. Under ``wall_seconds`` a call starts only if the rest fits into the time that is left, by the
            declared seconds; else the rest is planned anew. When the time is up, what still runs is cancelled.
        aim: The resource of which least is used; ``"seconds"`` for the soonest end within the caps.
        parallel: The most calls at once.
        at_once: The most calls at once of some tools, by their names.
        seed: Of tools that draw something.
        trace: A file for the plans and the calls, for ``tape show``, ``tape why`` and ``tape view``.

    Raises:
        ToolError: Tools are not typed, or what they cost in a capped resource is not known.
        PlanningError: There are too many ways to make it.
        TraceError: The file exists already, or cannot be made.

    Examples:
        >>> import asyncio
        >>> from tape.tools import tool
        >>> from tape.tools.typed import arun_together
        >>> @tool(takes="export", gives="rows", usd="0.02", pure=True)
        ... def clean(export: str) -> str:
        ...     "Clean the rows of an export."
        ...     return f"rows of {export}"
        >>> asyncio.run(arun_together([clean], "rows", {"export": "May"}, budget="$0.10")).value
        'rows of May'
    """
    budget = Budget.read(budget)
    caps = {kind: cap for kind, cap in budget.items() if kind != WALL}
    deadline, writer = Deadline(budget.get(WALL)), TraceWriter("together", trace)
    running = _Running(have, Ledger(Budget(caps)), deadline, writer, seed)
    result = running.result
    config = {"agent": "together", "model": "no model", "aim": aim}
    writer.write(StartedEvent(config=config, budget=dict(budget), task=f"Make: {want}", seed=seed))
    try:
        async with deadline.timeout():
            while True:
                left = deadline.left()
                planned = call_plan(
                    [item for item in tools if item.name not in running.closed], want, have,
                    at_hand=running.at_hand(), aim=aim, limits=running.remaining(),
                    deadline=None if left is None else int(left * 1000), parallel=parallel, at_once=at_once,
                )  # fmt: skip
                if planned is None:
                    result.end_state, result.reason = "infeasible", f"no calls that give {want!r} fit into what is left"
                    break
                running.log(planned)
                if await running.follow(planned):
                    result.end_state, result.value = "success", running.value(want)
                    break
    except TimeoutError:
        result.end_state, result.reason = f"budget:{WALL}", str(deadline.error())
    finally:
        running.finish()
    return result


class _Running:
    """The calls under way, what they have given, and what they have used."""

    def __init__(
        self, have: Mapping[str, Any], ledger: Ledger, deadline: Deadline, trace: TraceWriter, seed: int
    ) -> None:
        self._have, self.ledger, self._deadline, self._trace, self._seed = have, ledger, deadline, trace, seed
        self.closed: set[str] = set()
        self.result = RanTogether()
        self._values: dict[str, list[Any]] = {}
        self._why = ""

    def at_hand(self) -> list[str]:
        return [one for one, values in self._values.items() for _ in values]

    def remaining(self) -> dict[str, int]:
        """Counts left of what adds up."""
        return {kind: self.ledger.remaining(kind) or 0 for kind in self.ledger.capped()}

    def value(self, one: str) -> Any:
        """The value of a type, the last one that was made."""
        return self._values[one].pop() if self._values.get(one) else self._have[one]

    def log(self, plan: CallPlan) -> None:
        """Keep a plan."""
        now = round(self._deadline.elapsed() * 1000)
        calls = [
            ScheduledCall(name=one.tool.name, start=now + one.start, end=now + one.end, critical=one.critical)
            for one in plan.calls
        ]
        self.result.plans.append(plan)
        self._log(ScheduledEvent(done=False, reason=self._why, calls=calls))

    def _log(self, event: ScheduledEvent) -> None:
        self.result.events.append(event)
        self._trace.write(event)

    def finish(self) -> None:
        """Keep what has run and been used."""
        result, calls = self.result, self.result.calls
        rows = with_critical(
            [ScheduledCall(name=one.tool, start=round(one.start * 1000), end=round(one.end * 1000)) for one in calls]
        )
        self._log(ScheduledEvent(done=True, calls=rows))
        result.spent, result.seconds = self.ledger.used, self._deadline.elapsed()
        record = {
            "end_state": result.end_state, "success": bool(result), "detail": result.reason, "steps": len(calls),
            "replans": max(0, len(result.plans) - 1),
            "used": dict(result.spent), "wall_seconds": round(result.seconds, 3),
        }  # fmt: skip
        self._trace.write(FinishedEvent(result=record))
        self._trace.close()

    async def follow(self, plan: CallPlan) -> bool:
        """Make the calls of a plan, each when those that it waits for have ended; false where it is to be planned anew.

        All of them are paid for before the first one starts. Where one fails or the time gets short, no other starts.
        """
        try:
            held = [self.ledger.reserve(one.tool.worst) for one in plan.calls]
        except BudgetExceededError as error:
            raise AssertionError(f"the plan was made for what is left: {error}") from error
        tasks: dict[asyncio.Task[bool], int] = {}
        begun: set[int] = set()
        ended: set[int] = set()
        goes_on = True
        try:
            while len(ended) < len(plan.calls):
                ready = [n for n, one in enumerate(plan.calls) if n not in begun and ended.issuperset(one.after)]
                for number in ready if goes_on else ():
                    call = plan.calls[number]
                    if not self._in_time(call, plan):
                        goes_on = False
                        break
                    begun.add(number)
                    given = [self.value(one) for one in call.tool.takes]
                    tasks[asyncio.ensure_future(self._made(call.tool, given, held[number], number))] = number
                if not tasks:
                    return False
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ended.add(tasks.pop(task))
                    goes_on &= task.result()
            return goes_on
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for one in held:
                if one.open:
                    one.release()

    def _in_time(self, call: PlannedCall, plan: CallPlan) -> bool:
        """Whether the plan still ends in time if this call starts now and all take the time that they declare."""
        left = self._deadline.left()
        short = left is not None and plan.makespan - call.start > left * 1000
        self._why = f"{call.tool.name} would start too late" if short else self._why
        return not short

    async def _made(self, item: Tool, given: Sequence[Any], held: Reservation, number: int) -> bool:
        """Make one call and pay for it; whether it gave its type."""
        start = self._deadline.elapsed()
        used, done = unknown(item.worst), Made(failure="it was cancelled")
        try:
            arguments = item.checked(dict(zip(item.arguments.model_fields, given, strict=True)))
            drawn = {} if item.random is None else {item.random: self._rng("result", item, number)}
            # With a time limit, however long, a plain function gets a thread of its own.
            apart = item if item.thread == "caller" else replace(item, timeout=item.timeout or MOST)
            done = await make(apart, arguments | drawn)
            counted: Made = attempt(lambda: Made(item.used(arguments, done.value, self._rng("cost", item, number))))
            used = counted.value if isinstance(counted.value, Resources) and not done.late else used
        except InvalidCallError as error:
            done = Made(failure=str(error))
        finally:
            held.settle(used)
            self.result.calls.append(Ran(item.name, start, self._deadline.elapsed(), done.failure))
        if done.failure is None:
            self._values.setdefault(item.gives, []).append(done.plain)
            return True
        self.closed.add(item.name)
        self._why = f"{item.name} failed: {done.failure}"
        for one, value in zip(item.takes, given, strict=True):
            if one not in self._have:
                self._values.setdefault(one, []).append(value)  # a call that fails uses nothing up
        return False

    def _rng(self, what: str, item: Tool, number: int) -> Random:
        return Random(derive(self._seed, what, item.name, len(self.result.plans), number))
