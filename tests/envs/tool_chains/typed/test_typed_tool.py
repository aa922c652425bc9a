"""Declaring types, and reading typed tools from a file."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from envs.tool_chains.typed import cheapest_chains, load_tools
from envs.tool_chains.typed.loader import ToolFileError
from tape.tools import ToolError, tool

SMELT = {"name": "smelt", "takes": "ore", "gives": "iron", "cost": {"usd": "0.40", "seconds": 1}}


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"takes": "ore"}, "gives nothing"),
        ({"takes": ("ore", "coal"), "gives": "iron"}, "names 2 types for 1 parameters"),
        ({"gives": "iron"}, "names 0 types for 1 parameters"),
        ({"takes": "iron", "gives": "iron"}, "have to differ"),
        ({"takes": " ", "gives": "iron"}, "is a name of up to"),
        ({"takes": "ore", "gives": "x" * 200}, "is a name of up to"),
    ],
)
def test_types_that_cannot_be_are_refused(types: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):

        @tool(usd="0.01", **types)
        def wrong(ore: str) -> str:
            """Wrong."""
            return ore


def test_tools_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([SMELT, {"name": "buy.now", "takes": [], "gives": "iron", "cost": {"usd": 2.5}}]))
    tools = load_tools(file, {"smelt": lambda ore: f"iron of {ore}"})
    assert [item.name for item in tools] == ["smelt", "buy.now"]
    assert tools[0].worst["usd"] == 400_000
    assert tools[0].function(input_1="rock") == "iron of rock"
    assert "simulated" in tools[1].function()
    assert cheapest_chains(tools, "iron", ["ore"]).best.tools == ("smelt",)
    file.write_text(json.dumps({"tools": [SMELT]}))
    assert len(load_tools(file)) == 1


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in SMELT.items() if name != field}


@pytest.mark.parametrize(
    ("data", "record", "field", "remedy"),
    [
        ({}, None, "", "holds no list of tools; give"),
        ([], None, "", "has no tools; give one"),
        (["smelt"], 1, "", "give an object with name"),
        ([SMELT, SMELT], 2, "name", "tool 1 already; give each its own name"),
        ([without("name")], 1, "name", "is missing; give a text"),
        ([{**SMELT, "name": "two words"}], 1, "name", "names have letters"),
        ([{**SMELT, "name": "answer"}], 1, "name", "give the tool another name"),
        ([without("takes")], 1, "takes", r"or \[\] where it takes nothing"),
        ([{**SMELT, "takes": [1]}], 1, "takes", "give the types as texts"),
        ([{**SMELT, "gives": ""}], 1, "gives", "is empty; give the type"),
        ([{**SMELT, "gives": "ore"}], 1, "", "have to differ"),
        ([without("cost")], 1, "cost", "give an object of resources"),
        ([{**SMELT, "cost": {"usd": True}}], 1, "cost.usd", "give a number or a decimal text"),
        ([{**SMELT, "cost": {"usd": "-1"}}], 1, "cost.usd", "-1"),
        ([{**SMELT, "cost": {"gold": 1}}], 1, "cost.gold", "gold"),
        ([{**SMELT, "price": 1}], 1, "price", "is not known; there are name, takes"),
    ],
)
def test_errors_in_a_file_name_record_field_and_remedy(
    tmp_path: Path, data: Any, record: int | None, field: str, remedy: str
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ToolFileError, match=remedy) as caught:
        load_tools(file)
    assert (caught.value.file, caught.value.record, caught.value.field) == (str(file), record, field)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text("[{")
    with pytest.raises(ToolFileError, match=r"tools\.json: .*give a JSON list of tools"):
        load_tools(file)
    with pytest.raises(ToolFileError, match="nothing\\.json"):
        load_tools(tmp_path / "nothing.json")
    file.write_text(json.dumps([SMELT]))
    with pytest.raises(ToolFileError, match="no tool 'forge'"):
        load_tools(file, {"forge": str})
