"""Python functions as tools of the gateway."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from random import SystemRandom
from typing import Any
from uuid import uuid4

from tape.budget import Resources
from tape.budget.amounts import unknown
from tape.budget.deadline import Deadline
from tape.budget.prices import Answer, Cost, Price, unpriced
from tape.budget.resources import kind_of
from tape.errors import ConfigError, error_text
from tape.gateway.config import Declared, GatewayConfig
from tape.gateway.downstream import UnansweredError
from tape.tools.apart import make
from tape.tools.context import ToolContext, require_deps
from tape.tools.errors import ToolError, ToolFailedError
from tape.tools.making import make_tool
from tape.tools.tool import Tool


@dataclass(frozen=True)
class OfTool:
    """The cost that a tool declares in Python; where it fails the worst case is booked, and standard error says so."""

    cost: Cost

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """That of the cost."""
        return self.cost.worst(arguments)

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What the cost returns."""
        try:
            return self.cost.actual(arguments, answer)
        except Exception as error:  # whatever a cost of one's own raises
            name = type(self.cost).__name__
            print(
                f"tape gateway: {name}.actual failed ({error_text(error)}); the worst case is booked", file=sys.stderr
            )
            return unknown(self.cost.worst())


@dataclass(frozen=True)
class PythonTool:
    """A function and its price.

    Attributes:
        tool: The tool that was made of it.
        price: As the configuration has it, else as it declares it itself.
        priced: Whether one is declared.
        seconds: How long a call may take.
    """

    tool: Tool
    price: Price
    priced: bool
    seconds: float

    def listed(self, name: str) -> dict[str, Any]:
        """As a server lists a tool."""
        schema = self.tool.arguments.model_json_schema()
        return {"name": name, "description": self.tool.description, "inputSchema": schema}

    async def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call it.

        Returns:
            A result as servers give it.

        Raises:
            UnansweredError: It has not returned in time.
            ToolFailedError: It has failed.
        """
        values = self.tool.checked(arguments)
        if self.tool.random is not None:
            values[self.tool.random] = SystemRandom()
        if self.tool.context is not None:
            values[self.tool.context] = ToolContext(None, key=uuid4().hex)
        limit = max(1, int(self.seconds / float(kind_of("wall_seconds").resolution)))
        try:
            async with Deadline(limit).timeout() as timeout:
                made = await make(self.tool, values)
        except TimeoutError:
            if not timeout.expired():
                raise
            message = f"{self.tool.name} has not returned within {self.seconds:g} s (call_seconds)"
            raise UnansweredError(message) from None
        if made.failure is not None:
            raise ToolFailedError(made.failure)
        text = made.plain if isinstance(made.plain, str) else made.written
        structured = made.plain if isinstance(made.plain, dict) else {"result": made.plain}
        return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def load_tool(name: str, declared: Declared, named: str, config: GatewayConfig, seconds: float | None) -> PythonTool:
    """Import a function.

    Args:
        name: As the configuration calls it.
        declared: Its settings.
        named: ``MODULE:FUNCTION``; modules beside the configuration file are found too.
        config: The configuration.
        seconds: How long a call may take; None takes the gateway's limit.

    Raises:
        ConfigError: It cannot be imported, or is no tool; names file and line.
    """
    path = ("python", name, "function")
    module, _, attribute = named.partition(":")
    if (folder := str(config.folder())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        with redirect_stdout(sys.stderr):  # the protocol is spoken on standard output
            result = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever a module raises
        why = f"{named} cannot be imported ({error_text(error)})"
        raise config.error(path, f"{why}; modules are looked for in {folder} and on Python's path") from error
    try:
        if not callable(result) and not isinstance(result, Tool):
            raise ToolError(f"{type(result).__name__} is no function; name a function, or a tool made by @tool")
        tool = result if isinstance(result, Tool) else make_tool(result)
        require_deps([tool], None)
    except (ToolError, ConfigError) as error:
        raise config.error(path, str(error)) from error
    limit = seconds or config.limits.call_seconds
    if declared.price is not None:
        return PythonTool(tool, declared.price, True, limit)
    if isinstance(result, Tool):
        return PythonTool(tool, Price((OfTool(tool.cost),)), None not in tool.worst.values(), limit)
    return PythonTool(tool, unpriced(), False, limit)
