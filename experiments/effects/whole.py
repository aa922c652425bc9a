"""Schedules with whole agents, one after the other, each with a scripted model: ``simulate --agents``."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from experiments.effects.schedule import RUN, GaveUpError, Planned, Schedule, Worker
from tape import TapeAgent, tool
from tape.lm.scripted import ScriptedLM
from tape.tools import Happened, Tool, ToolContext

PRICE = "0.0001"
"""Of each call, the worst case of :mod:`experiments.effects.schedule` in US dollars."""


class WholeWorker(Worker):
    """Plays the run by an agent. Its calls take simulated time, and crash; nobody else begins meanwhile."""

    async def play(self) -> None:
        """Let the agent run.

        Raises:
            GaveUpError: It does not come to its end.
        """
        plan = list(self._schedule.plan)
        self._rng.shuffle(plan)
        text = self._rng.choice(("Dear Ann,", "Hello Ann!"))
        lines = [f'r{n} = {planned.item.kind}(to="{planned.to}", text="{text}")' for n, planned in enumerate(plan)]
        agent = TapeAgent(ScriptedLM(["\n".join([*lines, "answer(r0)"])]), tools=self._tools())
        result = agent.run("Send it.", budget="$1, 20 steps", payer=self.payer, run=RUN)
        if result.end_state != "success":
            raise GaveUpError(result.detail)

    def _send(self, ctx: ToolContext, once: bool) -> None:
        self._may_die()
        self._schedule.time.now += self._rng.choice((0, 1, 40 if self._faults.slow and once else 2))
        self._schedule.arrived(ctx.key, ctx.attempt, 100, once)
        self._may_die()

    def _may_die(self) -> None:
        if self._line.dead or self._rng.random() < self._faults.rate / 2:
            self._line.die()

    def _tools(self) -> list[Tool]:
        receiver = self._schedule.receiver

        def sent(ctx: ToolContext) -> Happened | bool:
            self._may_die()
            return receiver.made[ctx.key] > 0 and Happened("sent")

        def made(name: str, **more: Any) -> Tool:
            @tool(kind=name, key=("to",), usd=PRICE, **more)
            def send(ctx: ToolContext, to: str, text: str) -> str:
                """Send something."""
                self._send(ctx, name == "idempotent")
                return f"sent to {to}: {text}"

            return send

        return [made("plain"), made("idempotent", idempotent=True), made("outcome", outcome=sent)]


class WholeSchedule(Schedule):
    """A schedule of whole agents."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.plan = [Planned(item, to, 100, 100) for item, to, *_ in self.plan]

    async def slept(self, seconds: float) -> None:
        """A worker waits for a lease."""
        self.time.now += seconds

    def worker(self, *args: Any) -> Coroutine[float, None, None]:
        """A worker that begins."""
        return WholeWorker(self, *args).play()
