"""The gateway itself: lists tools, and lets a call through where its worst case fits."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tape.budget import LedgerError, PausedError, Resources
from tape.budget.amounts import unknown
from tape.budget.contract import State
from tape.budget.numbers import copied
from tape.budget.prices import Answer, Quote
from tape.errors import BudgetExceededError, ChargeError, UnknownCostError
from tape.gateway.catalog import Catalog, Offered
from tape.gateway.config import GatewayConfig
from tape.gateway.downstream import Downstream, NotCalledError, UnansweredError
from tape.gateway.ledgers import Ledgers, SessionCharge
from tape.gateway.own_tools import OWN_LISTED
from tape.gateway.python_tools import load_tool
from tape.gateway.watching import CallWatcher, WatchedCall, digest_of
from tape.guard.left import ScopeReading, amount, amounts, left
from tape.guard.planning import PlanError, fitting, plan
from tape.reading import short
from tape.redaction import redacted
from tape.tools.errors import InvalidCallError, ToolFailedError
from tape.tools.mcp_schema import text_of

MOST_AFFORDED = 9
"""The largest number of affordable calls that an agent is told."""

MOST_ARGUMENT_BYTES = 4 << 20
"""Of a call's arguments, as JSON."""

Approve = Callable[[Offered, Mapping[str, Any], Mapping[str, Any]], Awaitable[str]]
"""Asks for the approval of a destructive call (tool, arguments, worst case in units): empty if it may be made, else the
reason."""


@dataclass(frozen=True)
class Caller:
    """The client and session of a call.

    Attributes:
        client: As the configuration calls them.
        session: Over HTTP the slot of its session, 0 for requests that belong to none; else what the connection is
            called.
    """

    client: str
    session: str | int


class Gateway:
    """Everything behind the protocol."""

    def __init__(self, config: GatewayConfig, ledgers: Ledgers) -> None:
        self.config, self.ledgers = config, ledgers
        self.catalog = Catalog(config)
        self._servers: list[Downstream] = []
        self.watchers: list[CallWatcher] = []
        """Are told of every call of a tool that is not the gateway's own."""
        self.gates: list[Callable[[], Awaitable[None]]] = []
        """Are asked before a call is held; a LedgerError refuses it."""

    async def start(self) -> None:
        """Start all servers at once, and check all that only shows now.

        Raises:
            ConfigError: Something cannot be offered; names file, line and field. Nothing is left running.
        """
        self._servers = [Downstream(name, self.config) for name in self.config.servers]
        try:
            functions = {
                name: load_tool(name, self.config.python[name], settings.function, self.config, settings.call_seconds)
                for name, settings in self.config.functions.items()
            }
            listed = await asyncio.gather(*(server.start() for server in self._servers), return_exceptions=True)
            for exception in listed:
                if isinstance(exception, BaseException):
                    raise exception
            for server, tools in zip(self._servers, listed, strict=True):
                assert not isinstance(tools, BaseException)
                self.catalog.add_server(server, tools)
            for name, function in functions.items():
                self.catalog.add_function(name, function)
            self.catalog.finish()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop all servers."""
        await asyncio.gather(*(server.stop() for server in self._servers), return_exceptions=True)

    def warnings(self) -> list[str]:
        """What the author of the configuration should know."""
        texts = [f"left out: {name}" for name in self.catalog.left_out]
        capped = {*self.config.run, *self.config.session}.union(*self.config.client.values())
        for tool in self.catalog.tools.values():
            unpriced = sorted(kind for kind in capped if tool.price.worst()[kind] is None)
            if not tool.priced and unpriced:
                texts.append(
                    f"{tool.name} of {tool.origin} has no price, so every call of it is refused under the cap on "
                    f"{', '.join(unpriced)}: declare one, if only price = {{ {unpriced[0]} = 0 }}"
                )
        journal, payer = self.ledgers.journal, self.ledgers.payer
        also = f". Settle the shared ledger's hold too: tape ledger holds {payer.scope} has its id" if payer else ""
        for record in self.ledgers.read(self.ledgers.others):
            assert journal is not None, "nobody else has a store in memory"
            texts.append(
                f"a call of {record.name} is open in {journal}: another gateway is at work, or was killed. "
                f"It counts as {json.dumps(amounts(record.worst))} until it ends, or you say what it took: "
                f"tape ledger --url {journal.resolve().as_uri()} settle {record.id} AMOUNTS "
                f"('1 step, $0.01'){also}"
            )
        return texts

    # --- what clients ask for -----------------------------------------------------------------

    def listed(self) -> list[Mapping[str, Any]]:
        """The entries of all tools, the gateway's own first."""
        own = [mapping for mapping in OWN_LISTED if mapping["name"] in self.catalog.own]
        return [*own, *(tool.listed for tool in self.catalog.tools.values())]

    async def call(self, who: Caller, name: str, arguments: Mapping[str, Any], approve: Approve) -> dict[str, Any]:
        """Answer a call of a tool; a refusal is a result with ``isError`` and a structured content."""
        scope = self.ledgers.current(who.client, who.session)
        if name in self.catalog.own:
            return await self._own(who, scope, name, arguments)
        asked = self._asked(who, scope, name, digest_of(arguments) if self.watchers else "")
        return self._told(asked, await self._answer(asked, name, arguments, approve))

    def busy(self, who: Caller, name: str, message: str) -> dict[str, Any]:
        """The answer to a call of a client that has too many in flight."""
        asked = self._asked(who, self.ledgers.current(who.client, who.session), name)
        return self._told(asked, refused("busy", message))

    def _asked(self, who: Caller, scope: str, name: str, digest: str = "") -> WatchedCall:
        return WatchedCall(who.client, scope, name if name in self.catalog.tools else short(name), digest)

    def _told(self, call: WatchedCall, made: dict[str, Any]) -> dict[str, Any]:
        for watcher in self.watchers if isinstance(made, Refusal) else ():
            watcher.refused(call, made["structuredContent"])
        return made

    async def _answer(
        self, call: WatchedCall, name: str, arguments: Mapping[str, Any], approve: Approve
    ) -> dict[str, Any]:
        tool = self.catalog.tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, self.catalog.tools, 3)
            return refused("unknown_tool", f"there is no tool {short(name)}", tool=short(name), near=near)
        try:
            size = len(json.dumps(arguments, allow_nan=False))
            if size > MOST_ARGUMENT_BYTES:
                raise InvalidCallError(f"the arguments have {size} bytes; at most {MOST_ARGUMENT_BYTES} are passed on")
            tool.check(arguments)
            quote = tool.price.quote(arguments)
        except (InvalidCallError, ValueError, ChargeError) as error:
            return refused("invalid_arguments", str(error), tool=name)
        return await self._charged(call, tool, quote, approve)

    async def _charged(self, call: WatchedCall, tool: Offered, quote: Quote, approve: Approve) -> dict[str, Any]:
        # From here on only copies: what is approved is what is called, and a tool cannot change its price.
        arguments, worst = quote.arguments, quote.worst
        try:
            if tool.ask:
                await self.ledgers.require_room(call.scope, tool.name, worst)
                if no := await approve(tool, copied(arguments), amounts(worst)):
                    return refused("not_approved", f"{tool.name} was not called: {no}", tool=tool.name)
            for gate in self.gates:
                await gate()
            charge = await self.ledgers.begin(call.scope, tool.name, worst, repr(arguments))
        except PausedError as error:
            return refused("paused", f"{tool.name} was not called, nothing was spent: {error}", tool=tool.name)
        except (BudgetExceededError, UnknownCostError) as error:
            return await self._unpaid(call.scope, tool, arguments, worst, error)
        except LedgerError as error:
            return refused("ledger", f"{redacted(str(error))}; nothing was spent", tool=tool.name)
        with charge:
            try:
                await tool.ready()
            except (Exception, asyncio.CancelledError) as error:  # nothing was sent
                charge.settle(Resources(), "voided")
                if not isinstance(error, ToolFailedError):
                    raise
                return refused("server", f"{redacted(str(error))}; nothing was spent", tool=tool.name)
            self._watch(call.held(charge.id, worst), charge)
            try:
                result = await tool.call(copied(arguments))
            except NotCalledError as error:
                charge.settle(Resources(), "voided")
                return refused("server", f"{redacted(str(error))}; nothing was spent", tool=tool.name)
            except UnansweredError as error:
                charge.settle(unknown(worst), "booked")
                message = f"{redacted(str(error))}; its worst case is booked, since its effect is unknown"
                return refused("unanswered", message, tool=tool.name, spent=amounts(worst))
            except ToolFailedError as error:
                broken = charge.settle(quote.actual(Answer(str(error))))
                return passed_on({"content": [{"type": "text", "text": str(error)}], "isError": True}, broken)
            answer = Answer(text_of(result.get("content")), result.get("structuredContent"))
            broken = charge.settle(quote.actual(answer))
        if (size := len(json.dumps(result))) > self.config.limits.most_result_bytes:
            message = f"the result of {tool.name} has {size} bytes; at most {self.config.limits.most_result_bytes} are "
            return refused(
                "result_too_large", f"{message}passed on (most_result_bytes). The call was paid", tool=tool.name
            )
        return passed_on(result, broken)

    def _watch(self, call: WatchedCall, charge: SessionCharge) -> None:
        def ended(state: State, spent: Resources) -> None:
            for call_watcher in self.watchers:
                call_watcher.ended(call, state, spent)

        charge.ended = ended
        for watcher in self.watchers:
            watcher.begun(call)

    # --- refusals -----------------------------------------------------------------------------

    async def _own_left(self, scope: str) -> ScopeReading:
        """What is left for a session of the gateway's own caps."""
        return await self.ledgers.look(lambda books: books.reading(scope))

    async def _unpaid(
        self,
        scope: str,
        tool: Offered,
        arguments: Mapping[str, Any],
        worst: Resources,
        error: BudgetExceededError | UnknownCostError,
    ) -> dict[str, Any]:
        try:
            book = await self._own_left(scope)
        except LedgerError as problem:
            return refused("ledger", f"{redacted(str(problem))}; nothing was spent", tool=tool.name)
        would_fit: list[dict[str, Any]] = [
            {"tool": name, "worst_case": amounts(other.worst(arguments)), "quality": other.quality}
            for name, other in fitting(self.catalog.tools, book, tool.name, arguments).items()
        ]
        if isinstance(error, UnknownCostError):
            message = f"{error}; the gateway's configuration has no price of {tool.name} for that"
            return refused("unknown_price", message, tool=tool.name, would_fit=would_fit)
        message = f"{tool.name} was not called, nothing was spent: {error}"
        if would_fit:
            message += f". What would fit: {', '.join(mapping['tool'] for mapping in would_fit)}"
        reserved = sum(cap.held for cap in book.limits if (cap.ledger, cap.kind) == (error.ledger, error.kind))
        if reserved:
            message += ". Calls in flight have set some of it aside, which may come back when they end"
        counts = {
            "requested": error.requested,
            "left": max(0, error.limit - error.used),
            "cap": error.limit,
            "cap_needed": error.used + error.requested,
            "in_flight": reserved,
        }
        fields: dict[str, Any] = {name: amount(error.kind, count) for name, count in counts.items()}
        fields |= {"tool": tool.name, "resource": error.kind, "scope": error.ledger, "worst_case": amounts(worst)}
        return refused("budget_exceeded", message, **fields, would_fit=would_fit)

    # --- the gateway's own tools ----------------------------------------------------------------

    async def _own(self, who: Caller, scope: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            if name == "plan":
                book = await self.ledgers.seen(scope)
                return own_result(await asyncio.to_thread(plan, self.catalog.tools, book, arguments))
            if name == "budget":
                book = await self.ledgers.seen(scope)
                return own_result(left(book) | {"affordable": self._affordable(book)})
            if name == "checkpoint":
                handle = await self.ledgers.checkpoint(scope)
                return own_result({"handle": handle, "session": scope, **left(await self._own_left(scope))})
            handle = arguments.get("handle", "")
            result = await self.ledgers.resume(who.client, who.session, handle) if isinstance(handle, str) else None
            if result is None:
                return refused("unknown_handle", "no session of yours has this handle", tool=name)
            book = await self._own_left(result.scope)
        except PlanError as error:
            return refused("invalid_arguments", str(error), tool=name)
        except LedgerError as error:
            return refused("ledger", str(error), tool=name)
        calls = [{"tool": call.name, "state": call.state, "spent": amounts(call.spent)} for call in result.calls]
        lost = [
            {"call": record.id, "tool": record.name, "counts_as": amounts(record.worst)} for record in result.in_flight
        ]
        return own_result({"session": result.scope, "calls": calls, "was_in_flight": lost, **left(book)})

    def _affordable(self, book: ScopeReading) -> dict[str, Any]:
        """How many calls of each tool alone are still paid for."""
        given = book.left()
        values: dict[str, Any] = {}
        for tool in self.catalog.tools.values():
            worst = tool.worst()
            if any(worst[kind] is None for kind in given):
                values[tool.name] = "unknown: its price is not declared, or depends on its arguments"
                continue
            most = min((count // cost for kind, count in given.items() if (cost := worst[kind])), default=None)
            values[tool.name] = most if most is None or most <= MOST_AFFORDED else f"more than {MOST_AFFORDED}"
        return values


def own_result(content: dict[str, Any]) -> dict[str, Any]:
    """A result of the gateway's own."""
    return {"content": [{"type": "text", "text": json.dumps(content)}], "structuredContent": content}


class Refusal(dict[str, Any]):
    """A result of the gateway in the place of a tool's."""


def refused(error: str, message: str, **more: Any) -> Refusal:
    """A call that was not made, or came to nothing, as a result with the reason in fields."""
    content = {"error": error, "message": message, **more}
    return Refusal(content=[{"type": "text", "text": message}], structuredContent=content, isError=True)


def passed_on(result: Mapping[str, Any], broken: list[dict[str, Any]]) -> dict[str, Any]:
    """A server's result: its contents alone, without what it might repeat of its keys."""
    if result.get("resultType") == "input_required":
        return refused("server", "the server asks for something before it answers, which the gateway does not pass on")
    made: dict[str, Any] = {
        "content": result.get("content") or [],
        "isError": result.get("isError") not in (None, False),
    }
    if isinstance(structured := result.get("structuredContent"), dict):
        made["structuredContent"] = structured
    if broken:
        made["_meta"] = {"tape/broken_declarations": broken}
    clean: dict[str, Any] = redacted(made)
    return clean if is_result(clean) else refused("server", "the server's result is none of the protocol; it was paid")


def is_result(result: Mapping[str, Any]) -> bool:
    """Whether the protocol lets a result through."""
    from mcp_types import CallToolResult
    from pydantic import ValidationError

    try:
        CallToolResult.model_validate(result)
    except ValidationError:
        return False
    return True
