"""Gateways that share a budget, their clients and who approves: played step by step, so that a seed tells all.

Every call stops where others may come between: where its user is asked, before its cost is held (a gate), before its
server is woken, and in the tool. The schedule moves one call at a time, and waits for what threads have to write. What
a call really takes is drawn, at most what was declared, and added up here, apart from all ledgers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

from mcp import MCPError
from mcp_types import ElicitResult, InputRequiredResult

from tape.budget import Resources
from tape.budget.price_reading import read_price
from tape.errors import BudgetExceededError
from tape.gateway.approval import Approvals, AskedError
from tape.gateway.catalog import Offered
from tape.gateway.config import GatewayConfig
from tape.gateway.downstream import NotCalledError, UnansweredError
from tape.gateway.gateway import Caller, Gateway
from tape.gateway.ledgers import Ledgers, SessionCharge
from tape.tools.errors import ToolFailedError
from tests.tape.gateway.helpers import reading

WORST = {"drop": 20_000, "purge": 40_000, "look": 30_000}
"""In millionths of a dollar, of two destructive tools and one that is none."""
PRICES: Mapping[str, Any] = {
    "drop": {"usd": "$0.02"}, "purge": {"worst": {"usd": "$0.04"}, "reported": "used"},
    "look": {"worst": {"usd": "$0.03"}, "reported": "used"},
}  # fmt: skip
WHO = Caller("local", "stdio")
_ABLE = SimpleNamespace(elicitation=SimpleNamespace(form=SimpleNamespace(), url=None))
_now: ContextVar[Flight] = ContextVar("_now")


@dataclass(eq=False)
class Flight:
    """A call that is under way.

    Attributes:
        at: The number of its gateway.
        tool: What is called.
        key: Its argument; a call that comes again with an answer has the same.
        state: Of the question that it answers; empty where it answers none.
        point: Where it has stopped.
        go: Is set to what comes next.
        stopped: Is set where it stops.
    """

    at: int
    tool: str
    key: str
    state: str = ""
    task: asyncio.Task[Any] = field(init=False)
    point: str = ""
    go: asyncio.Future[Any] = field(init=False)
    stopped: asyncio.Future[None] = field(init=False)


async def stop(point: str) -> Any:
    """Stop here until the schedule goes on with this call; what it says then."""
    flight = _now.get()
    flight.point, flight.go = point, asyncio.get_running_loop().create_future()
    if not flight.stopped.done():
        flight.stopped.set_result(None)
    return await flight.go


class Schedule:
    """One random schedule.

    Args:
        rng: Draws it.
        config: Of all gateways.
        books: The ledgers of each gateway, and last those of a program that spends without one.
        cap: What all may spend together.
        session: What the session of a gateway may spend.
        counts: Takes what happened.
    """

    def __init__(
        self, rng: Random, config: GatewayConfig, books: list[Ledgers], cap: int, session: int | None,
        counts: Counter[str],
    ) -> None:  # fmt: skip
        self._rng, self._books, self._caps, self._counts = rng, books, (cap, session), counts
        self._gateways = [Gateway(config, book) for book in books[:-1]]
        self._approvals = [Approvals(1000) for _ in self._gateways]
        self._in_place = [rng.random() < 0.5 for _ in self._gateways]
        """Whether the clients of a gateway are asked within the call; else they come again with the answer."""
        for gateway in self._gateways:
            gateway.catalog.tools = {name: self._tool(name) for name in WORST}
            gateway.gates.append(lambda: stop("gate"))
        self._flights: list[Flight] = []
        self._questions: list[tuple[Flight, str]] = []
        self._spending: list[SessionCharge] = []
        self._calls, self._spent = 0, Counter[int]()
        self._asked, self._granted, self._made = Counter[str](), Counter[str](), Counter[str]()

    def _tool(self, name: str) -> Offered:
        async def ready() -> None:
            if await stop("ready") == "fails":
                raise ToolFailedError("it cannot be started")

        async def call(arguments: Mapping[str, Any]) -> dict[str, Any]:
            if self._rng.random() < 0.05:
                raise NotCalledError("it has ended just now")
            used = self._effect(_now.get(), arguments["key"])
            how = await stop("tool")
            if how == "fails":
                raise ToolFailedError("no such thing")
            if how == "is silent":
                raise UnansweredError("no answer in time")
            return {"content": [], "structuredContent": {"used": {"usd": used / 1e6}}}

        price = read_price(PRICES[name], ())
        return Offered(name, "s", name, {}, price, True, None, name != "look", call, ready, lambda _: None)

    def _effect(self, flight: Flight, key: str) -> int:
        """The call is made, now; what it really takes."""
        used = WORST[flight.tool] if flight.tool == "drop" else self._rng.randrange(WORST[flight.tool] + 1)
        self._take(flight.at, used)
        if flight.tool != "look":
            self._made[key] += 1
            self._counts["destructive calls made"] += 1
            self._counts["made unasked"] += self._made[key] > self._granted[key]
        return used

    def _take(self, at: int, used: int) -> None:
        cap, session = self._caps
        self._spent[at] += used
        over = self._spent.total() > cap or (session is not None and at >= 0 and self._spent[at] > session)
        self._counts["over the cap"] += over

    async def play(self, steps: int) -> None:
        """Play it: the cap and the questions are judged at each step."""
        for _ in range(steps):
            draw = self._rng.random()
            if draw < 0.3 or not (self._flights or self._questions or self._spending):
                await self._begin(self._rng.randrange(len(self._gateways)), self._rng.choice([*WORST, "drop"]))
            elif draw < 0.4:
                await self._spend()
            elif self._spending and draw < 0.5:
                self._end_spending()
            elif self._questions and draw < 0.65:
                await self._come_again(*self._questions.pop(self._rng.randrange(len(self._questions))))
            elif self._flights:
                await self._move(self._rng.choice(self._flights))
            await self._written()
        while self._flights:
            await self._move(self._flights[0])
        while self._spending:
            self._end_spending()
        await self._written()
        self._counts["asked twice"] += sum(count > 1 for count in self._asked.values())
        self._counts["asked"] += self._asked.total()
        self._counts["granted"] += self._granted.total()
        assert not any(reading(ledgers).held.get("usd") for ledgers in self._books), (
            "nothing is held once all has ended"
        )

    async def _written(self) -> None:
        """Wait for what is written soon; then what is held is what calls hold whose user is not thinking any more."""
        for books in self._books:
            await books._in_thread(lambda: None)
            await asyncio.wrap_future(books._settling.submit(int))
        for number, gateway in enumerate(self._gateways):
            holding = [flight for flight in self._flights if flight.at == number and flight.point in ("ready", "tool")]
            held = reading(gateway, gateway.ledgers.current(WHO.client, WHO.session)).held
            assert held.get("usd", 0) == sum(WORST[flight.tool] for flight in holding)

    # --- calls ----------------------------------------------------------------------------------

    async def _begin(self, at: int, tool: str) -> None:
        self._calls += 1
        self._counts["calls"] += 1
        await self._start(Flight(at, tool, f"k{self._calls}"), None)

    async def _start(self, flight: Flight, answer: Any) -> None:
        flight.stopped = asyncio.get_running_loop().create_future()
        flight.task = asyncio.create_task(self._called(flight, answer))
        self._flights.append(flight)
        await self._reached(flight)

    async def _called(self, flight: Flight, answer: Any) -> Any:
        _now.set(flight)
        number = flight.at
        session = SimpleNamespace(
            client_capabilities=_ABLE, can_send_request=self._in_place[number], send_request=self._elicit
        )
        context = SimpleNamespace(session=session, request_id=1)
        params = SimpleNamespace(request_state=flight.state or None, input_responses={"approve": answer})

        async def approve(tool: Offered, arguments: Mapping[str, Any], worst: Mapping[str, Any]) -> str:
            return await self._approvals[number].ask(context, params, WHO, tool, arguments, worst)

        try:
            return await self._gateways[number].call(WHO, flight.tool, {"key": flight.key}, approve)
        except AskedError as asked:
            return asked.result

    async def _elicit(self, *_: Any, **__: Any) -> Any:
        key = _now.get().key
        self._asked[key] += 1
        said = await stop("asked")
        if said == "late":
            self._counts["late"] += 1
            raise MCPError(0, "no answer in time")
        return self._said(key, said)

    def _said(self, key: str, said: str) -> Any:
        self._granted[key] += said == "yes"
        self._counts["denied"] += said == "no"
        return ElicitResult(action="accept", content={"approve": said == "yes"})

    async def _move(self, flight: Flight) -> None:
        rng = self._rng
        flight.stopped = asyncio.get_running_loop().create_future()
        if rng.random() < 0.05:
            self._counts["cut off"] += 1
            flight.task.cancel()
        elif flight.point == "asked":
            flight.go.set_result(rng.choices(["yes", "no", "late"], [6, 2, 1])[0])
        else:
            flight.go.set_result(rng.choices(["goes on", "fails", "is silent"], [8, 1, 1])[0])
        await self._reached(flight)

    async def _reached(self, flight: Flight) -> None:
        """Wait until a call has stopped again, or has ended."""
        await asyncio.wait({flight.task, flight.stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not flight.task.done():
            return
        self._flights.remove(flight)
        if flight.task.cancelled():
            return
        result = flight.task.result()
        if isinstance(result, InputRequiredResult):
            self._asked[flight.key] += 1
            assert result.request_state is not None
            self._questions.append((flight, result.request_state))
            return
        error = (result.get("structuredContent") or {}).get("error")
        approved = self._granted[flight.key] > 0
        self._counts["refused: budget" + (", after it was approved" if approved else "")] += error == "budget_exceeded"
        self._counts["refused: server"] += error == "server"

    async def _come_again(self, asked: Flight, state: str) -> None:
        """A client comes with its user's answer; where it did not fit, perhaps once more."""
        pending = self._approvals[asked.at]._pending[state]
        said = self._rng.choices(["yes", "no", "late"], [6, 2, 1])[0]
        if said == "late":
            self._counts["late"] += 1
            pending.asked.until = 0.0
        flight = Flight(asked.at, asked.tool, asked.key, state)
        await self._start(flight, self._said(asked.key, said))
        if state in self._approvals[asked.at]._pending:
            self._counts["refused where it came again"] += 1
            self._granted[asked.key] = 0
            if self._rng.random() < 0.5:
                self._questions.append((asked, state))

    # --- who spends without a gateway -----------------------------------------------------------

    async def _spend(self) -> None:
        books = self._books[-1]
        worst = Resources({"usd": self._rng.choice([*WORST.values()])})
        with suppress(BudgetExceededError):
            self._spending.append(await books.begin(books.current("spender", 1), "spend", worst))

    def _end_spending(self) -> None:
        charge = self._spending.pop(self._rng.randrange(len(self._spending)))
        used = self._rng.randrange((charge.worst["usd"] or 0) + 1)
        self._take(-1, used)
        charge.settle(Resources({"usd": used}))
