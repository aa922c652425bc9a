"""What the gateway offers: the tools of its servers and functions, checked once and pinned for as long as it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.budget import STEP, Resources
from tape.budget.prices import Price, unpriced
from tape.errors import ConfigError
from tape.gateway.config import Declared, GatewayConfig
from tape.gateway.downstream import Downstream
from tape.gateway.errors import UnfitError
from tape.gateway.pinned import PinnedTool
from tape.gateway.python_tools import PythonTool
from tape.gateway.settings import ToolSettings
from tape.guard.left import amounts
from tape.reading import short
from tape.tools.json_schemas import cleaned, described
from tape.tools.mcp import MOST_TOOLS, effects, entries_of

MOST_SCHEMA_BYTES = 64 << 10
"""Of a schema, as JSON."""

MOST_LISTED_BYTES = 1 << 20
"""Of all tools of a server, as JSON: more would fill a model's context."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, eq=False)
class Offered:
    """A tool as clients see it.

    Attributes:
        name: As clients call it.
        origin: The server, or ``python``.
        kind: What it does; tools of one kind are interchangeable.
        listed: Its entry in the list of tools.
        price: What a call costs.
        priced: Whether that is declared.
        quality: Probability that a result is what was asked for; None where it is unknown.
        ask: A call has to be approved.
        call: Makes a call.
        ready: Sees that a call can be made, once its worst case is set aside.
        check: Checks arguments where that is done here.
    """

    name: str
    origin: str
    kind: str
    listed: Mapping[str, Any]
    price: Price
    priced: bool
    quality: float | None
    ask: bool
    call: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
    ready: Callable[[], Awaitable[None]]
    check: Callable[[Mapping[str, Any]], object]

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The most that a call takes; see :class:`~tape.budget.prices.Cost`."""
        return self.price.worst(arguments) + STEP


class Catalog:
    """The tools by name, in the order of the configuration.

    Attributes:
        left_out: What is not offered, and why.
        own: The names of the gateway's own tools that are offered.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self.tools: dict[str, Offered] = {}
        self.left_out: list[str] = []
        self.own = {"budget", *config.limits.own_tools}

    def add_server(self, server: Downstream, listed: Sequence[Any]) -> None:
        """Offer the tools of a server.

        Raises:
            ConfigError: One that the configuration names is not there, or cannot be offered.
        """
        name, settings = server.name, self._config.servers[server.name]
        declared = self._config.tools[name]
        entries, odd = entries_of(listed)
        self.left_out += [f"{name}: {text}" for text in odd]
        named: list[tuple[tuple[str | int, ...], str]] = [(("servers", name, "tools", tool), tool) for tool in declared]
        named += [(("servers", name, "only", i), tool) for i, tool in enumerate(settings.only)]
        for path, wanted in named:
            if wanted not in entries:
                there = ", ".join(short(text)[1:-1] for text in list(entries)[:20]) or "none"
                raise self._config.error(path, f"the server has no tool {wanted}; it has: {there}")
        size = offered = 0
        for tool, entry in entries.items():
            own = declared.get(tool, Declared(ToolSettings(), None))
            if own.settings.hide or (settings.only and tool not in settings.only):
                continue
            try:
                made = self._of_server(server, tool, entry, own)
                size, offered = size + len(json.dumps(made.listed)), offered + 1
                if offered > MOST_TOOLS or size > MOST_LISTED_BYTES:
                    raise UnfitError(
                        f"the server lists more than {MOST_TOOLS} tools or {MOST_LISTED_BYTES >> 20} MiB of them; name "
                        "those that you want by only = [...]"
                    )
                self._add(made)
            except UnfitError as problem:
                if tool in declared or tool in settings.only:
                    raise self._config.error(("servers", name, "tools", tool), str(problem)) from None
                if len(self.left_out) < MOST_TOOLS:
                    self.left_out.append(f"{name}: {short(tool)} ({problem})")

    def add_function(self, name: str, function: PythonTool) -> None:
        """Offer a function.

        Raises:
            ConfigError: Its name is taken, or it cannot be offered.
        """
        declared = self._config.python[name]
        settings = declared.settings
        tool = function.tool
        if settings.hide:
            return
        pure = tool.pure if settings.pure is None else settings.pure
        destructive = tool.destructive if settings.destructive is None else settings.destructive

        async def ready() -> None:
            """It is."""

        try:
            entry = self._entry(name, "python", function.listed(name), settings, function.price, (pure, destructive))
            quality = settings.quality if settings.quality is not None else tool.quality
            kind = settings.kind or (tool.kind if tool.variant else name)
            price = function.price.with_schema(entry["inputSchema"])
            ask = self._asks(settings, destructive, None)
            self._add(Offered(name, "python", kind, entry, price, function.priced, quality, ask, function.call, ready,
                              tool.checked))  # fmt: skip
        except UnfitError as problem:
            raise self._config.error(("python", name), str(problem)) from None

    def finish(self) -> None:
        """Check what only shows once all tools are there.

        Raises:
            ConfigError: There is none.
        """
        if not self.tools:
            raise ConfigError(f"{self._config.path}: there is no tool to offer: {'; '.join(self.left_out[:20])}")

    # --- one tool -----------------------------------------------------------------------------

    def _of_server(self, server: Downstream, tool: str, entry: Mapping[str, Any], own: Declared) -> Offered:
        settings = self._config.servers[server.name]
        name = settings.prefix + tool
        if not _NAME.fullmatch(name):
            raise UnfitError("names have letters, digits, _, . and - only")
        price = own.price or self._config.server_prices[server.name]
        priced = price is not None
        price = price or unpriced()

        def offer(entry: Mapping[str, Any]) -> dict[str, Any]:
            hints = effects(entry.get("annotations"), own.settings.pure, own.settings.destructive)
            return self._entry(name, server.name, entry, own.settings, price, hints)

        pinned = PinnedTool(server, tool, entry, offer)
        listed = pinned.listed
        ask = self._asks(own.settings, listed["annotations"]["destructiveHint"], settings.allow_destructive)
        return Offered(name, server.name, own.settings.kind or name, listed, price.with_schema(listed["inputSchema"]),
                       priced, own.settings.quality, ask, pinned.call, pinned.ready, lambda _: None)  # fmt: skip

    def _asks(self, settings: ToolSettings, destructive: bool, of_server: bool | None) -> bool:
        for allowed in (settings.allow_destructive, of_server):
            if allowed is not None:
                return destructive and not allowed
        return destructive and not self._config.limits.allow_destructive

    def _add(self, tool: Offered) -> None:
        if tool.name in self.own:
            raise UnfitError("the gateway has a tool of that name; give the server a prefix")
        if tool.name in self.tools:
            other = self.tools[tool.name].origin
            raise UnfitError(f"{other} has a tool of that name; give one of the two servers a prefix")
        self.tools[tool.name] = tool

    def _entry(
        self,
        name: str,
        origin: str,
        entry: Mapping[str, Any],
        settings: ToolSettings,
        price: Price,
        hints: tuple[bool, bool],
    ) -> dict[str, Any]:
        """An entry of the list of tools, of which nothing but words and schemas is the server's.

        ``hints`` says whether calls are pure, and whether they are destructive.
        """
        pure, destructive = hints
        schema = entry.get("inputSchema")
        if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
            raise UnfitError(f"its arguments are described by {short(schema)}, no JSON schema of an object")
        words = settings.description if settings.description is not None else described(entry.get("description"))
        worst = amounts(price.worst() + STEP)
        cost = ", ".join(f"{kind} {'unknown' if most is None else most}" for kind, most in worst.items())
        made: dict[str, Any] = {
            "name": name,
            "description": f"{words} [{origin}; a call takes at most: {cost}]".strip(),
            "inputSchema": {"type": "object", **_schema(schema)},
            "annotations": {"readOnlyHint": pure, "destructiveHint": destructive},
        }
        output = entry.get("outputSchema")
        if isinstance(output, Mapping) and output.get("type") == "object":
            made["outputSchema"] = _schema(output)
        if problem := why_not_listed(made):
            raise UnfitError(problem)
        return made


def why_not_listed(entry: Mapping[str, Any]) -> str:
    """Why the protocol would not let an entry through, which would take the whole list with it; empty if it does."""
    from mcp_types import methods
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
    from pydantic import ValidationError

    result = {"tools": [entry], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    for version in (HANDSHAKE_PROTOCOL_VERSIONS[-1], MODERN_PROTOCOL_VERSIONS[-1]):
        try:
            methods.serialize_server_result("tools/list", version, result)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"its entry is none of the protocol: {'.'.join(map(str, first['loc']))[:100]}: {first['msg'][:100]}"
    return ""


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema within bounds: its words in one line each, without what is dangerous to validators."""
    made = cleaned(schema, UnfitError)
    if len(json.dumps(made)) > MOST_SCHEMA_BYTES:
        raise UnfitError(f"its schema is longer than {MOST_SCHEMA_BYTES >> 10} KiB")
    return made
