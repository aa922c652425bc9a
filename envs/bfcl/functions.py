"""The functions of the APIs as tools: what they read and write, what cannot be taken back, and what a call costs.

The leaderboard says nothing of the kind; all of it is this project's. What is declared to read was seen to change
nothing on all gold sequences (a soak test).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from importlib import resources
from typing import Any

from pydantic_core import to_jsonable_python

from envs.bfcl.backend import ApiWorld
from envs.bfcl.source import BfclSource
from tape.budget.prices import Fixed
from tape.tools.errors import ToolFailedError
from tape.tools.json_schemas import described
from tape.tools.mcp_schema import arguments_model, sent
from tape.tools.tool import Tool

_DECLARED = json.loads(resources.files(__package__).joinpath("declared.json").read_text("utf-8"))
READ = frozenset(_DECLARED["read"])
"""All others write."""

DESTRUCTIVE = frozenset(_DECLARED["destructive"])
"""What cannot be taken back: it deletes, pays, or is seen by others."""

PRICES: Mapping[str, Fixed] = {
    "read": Fixed.of(usd="0.001", seconds="0.2"),
    "write": Fixed.of(usd="0.005", seconds="0.5"),
}
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}


def use_of(name: str) -> str:
    """``read`` or ``write``."""
    return "read" if name in READ else "write"


def tools_of(source: BfclSource, classes: Collection[str], without: Collection[str]) -> list[Tool]:
    """The tools of some APIs, without some of their functions."""
    documents = [document for api in classes for document in source.documents(api)]
    return [_tool(document) for document in documents if document["name"] not in without]


def parameters_of(source: BfclSource, classes: Collection[str]) -> dict[str, list[str]]:
    """The parameters of every function, in their order."""
    documents = [document for api in classes for document in source.documents(api)]
    return {document["name"]: list(document["parameters"]["properties"]) for document in documents}


def _tool(document: Mapping[str, Any]) -> Tool:
    name = str(document["name"])
    use: Any = use_of(name)

    model = arguments_model(name, _schema(document["parameters"]))

    def function(apis: ApiWorld, **arguments: Any) -> Any:
        given = sent(model, {key: value for key, value in arguments.items() if value is not None})
        return seen(apis.call(name, to_jsonable_python(given)))

    text = str(document["description"])
    return Tool(
        kind=name,
        variant="",
        function=function,
        arguments=model,
        description=described(text.partition("Tool description: ")[2] or text),
        cost=PRICES[use],
        pure=use == "read",
        destructive=name in DESTRUCTIVE,
        state={"apis": use},
    )


def seen(text: str) -> Any:
    """A result as an agent gets it: the values that the text writes as JSON.

    Raises:
        ToolFailedError: The API reports an error.
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict) and value.keys() == {"error"}:
        raise ToolFailedError(str(value["error"]))
    if isinstance(value, str) and value.startswith("Error during execution: "):
        raise ToolFailedError(value)
    return value


def _schema(parameters: Any) -> Any:
    """A schema of the leaderboard as JSON schema: its types have Python's names."""
    if isinstance(parameters, list):
        return [_schema(parameter) for parameter in parameters]
    if not isinstance(parameters, Mapping):
        return parameters
    return {
        key: _TYPES.get(parameter, parameter) if key == "type" and isinstance(parameter, str) else _schema(parameter)
        for key, parameter in parameters.items()
        if key not in ("default", "format")
    }
