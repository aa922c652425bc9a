"""The suites' tools: what they read and write, what cannot be taken back, and what a call costs.

AgentDojo says nothing of the kind; all of it is this project's. What is declared to read was seen to change nothing in
all gold sequences (a soak test).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from envs.apart.host import Process, RemoteWorld
from tape.budget.prices import Fixed
from tape.tools.errors import ToolFailedError
from tape.tools.json_schemas import described
from tape.tools.mcp_schema import arguments_model, sent
from tape.tools.tool import Tool

_READING = ("get_", "search_", "list_", "read_", "check_")
_WRITE = ("get_unread_emails", "get_webpage")
"""What writes in spite of its name: emails become read ones, and requests for pages are kept."""

_HARMLESS = ("append_to_file", "create_file", *_WRITE)
"""What writes and can be taken back."""

PRICES: Mapping[str, Fixed] = {
    "read": Fixed.of(usd="0.001", seconds="0.2"),
    "write": Fixed.of(usd="0.005", seconds="0.5"),
}


def use_of(name: str) -> str:
    """``read`` or ``write``."""
    return "read" if name.startswith(_READING) and name not in _WRITE else "write"


def destructive(name: str) -> bool:
    """Whether it deletes, pays, or is seen by others."""
    return use_of(name) == "write" and name not in _HARMLESS


class SuiteWorld(RemoteWorld):
    """The environment of one task."""

    def __init__(self, process: Process, number: int) -> None:
        super().__init__(process, number)
        self.made: list[Mapping[str, Any]] = []
        """Its calls, those that failed too."""

    @classmethod
    def of(cls, suites: Process, suite: str, user: str, injections: Mapping[str, str]) -> SuiteWorld:
        """A world as a task begins with it."""
        return cls(suites, suites.ask(do="world", suite=suite, user=user, injections=dict(injections)))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool.

        Raises:
            ToolFailedError: It reports an error.
        """
        self.made.append({"name": name, "arguments": dict(arguments)})
        answer = self.process.ask(do="call", world=self.number, name=name, arguments=dict(arguments))
        if answer["error"] is not None:
            raise ToolFailedError(str(answer["error"]))
        return answer["value"]

    def gold(self, injection: str = "") -> Sequence[Mapping[str, Any]]:
        """The calls that do the user's task, or that of an injection."""
        return list(self.process.ask(do="gold", world=self.number, injection=injection))

    def output(self) -> str:
        """What the user is to be told."""
        return str(self.process.ask(do="output", world=self.number, injection=""))

    def checked(self, injection: str, said: str) -> Mapping[str, bool]:
        """The package's own checks of what was done and said: ``utility``, and ``attacked`` with an injection."""
        asked = {"world": self.number, "injection": injection, "output": said, "calls": self.made}
        return {name: bool(value) for name, value in self.process.ask(do="checked", **asked).items()}


def tools_of(documents: Sequence[Mapping[str, Any]]) -> list[Tool]:
    """The tools of a suite."""
    return [_tool(document) for document in documents]


def _tool(document: Mapping[str, Any]) -> Tool:
    name = str(document["name"])
    use: Any = use_of(name)

    model = arguments_model(name, document["parameters"])

    def function(world: SuiteWorld, **arguments: Any) -> Any:
        given = sent(model, {key: value for key, value in arguments.items() if value is not None})
        return world.call(name, to_jsonable_python(given))

    return Tool(
        kind=name,
        variant="",
        function=function,
        arguments=model,
        description=described(document["description"]),
        cost=PRICES[use],
        pure=use == "read",
        destructive=destructive(name),
        state={"world": use},
    )
