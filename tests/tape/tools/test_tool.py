"""Functions become tools: schema, names, errors; and toolboxes."""

import inspect
import random
from enum import Enum
from typing import Any, Literal, get_overloads

import pytest
from pydantic import BaseModel

from tape.tools import Fixed, Tool, Toolbox, ToolError, mcp_tools, tool
from tape.tools.calls import call, parse
from tape.tools.errors import InvalidCallError
from tests.places import ROOT
from tests.tape.tools.helpers import TOOLS, add, multiply_exact, multiply_quick, note


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: int = 0


def test_schema_and_description_come_from_the_function() -> None:
    @tool(usd="0.01", quality=0.9)
    def paint(where: Point, colour: Colour, how: Literal["thin", "thick"] = "thin", times: int = 1) -> str:
        """Paint a point,
        in a colour.

        Further words are for people.
        """
        return f"{where.x} {colour.name} {how} {times}"

    assert (paint.name, paint.description) == ("paint", "Paint a point, in a colour.")
    assert paint.arguments.model_json_schema()["required"] == ["where", "colour"]
    taken = paint.checked({"where": {"x": 1}, "colour": "red"})
    assert paint.function(**taken) == "1 RED thin 1"
    assert dict(paint.worst) == {"steps": 1, "usd": 10_000}


def test_names_of_arguments_are_checked_without_values_and_the_generator_is_none() -> None:
    assert list(multiply_quick.arguments.model_fields) == ["a", "b"]
    add.require_names(parse("add(a=#1, b=#2)"))
    note.require_names(parse('note(text="x")'))
    with pytest.raises(InvalidCallError, match="add has no argument c; it has a, b"):
        add.require_names(parse("add(a=1, b=2, c=3)"))
    with pytest.raises(InvalidCallError, match="add needs the argument b"):
        add.require_names(parse("add(a=1)"))


def plain(x: int) -> int:
    """Plain."""
    return x


def undocumented(x: int) -> int:
    return x


def unhinted(x) -> int:  # type: ignore[no-untyped-def]
    """No hint."""
    return int(x)


def many(*x: int) -> int:
    """Many."""
    return sum(x)


def unknown(x: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821
    """Unknown hint."""
    return 1


def strange(x: random.SystemRandom) -> int:
    """A hint without a schema."""
    return 1


def private(_x: int) -> int:
    """A private parameter."""
    return _x


@pytest.mark.parametrize(
    ("function", "settings", "message"),
    [
        (undocumented, {}, "undocumented: the function needs a docstring"),
        (unhinted, {}, "unhinted: the parameter x needs a type hint"),
        (many, {}, "many: the parameter \\*x: int cannot be given by name"),
        (unknown, {}, "unknown: its type hints cannot be read"),
        (strange, {}, "strange: its parameters have no JSON schema"),
        (private, {}, "private: its parameters have no JSON schema"),
        (lambda: 1, {}, "a tool needs a name"),
        (plain, {"kind": "answer"}, "'answer' is what ends an episode"),
        (plain, {"variant": "very good"}, "names have letters"),
        (plain, {"quality": 0}, "quality is a probability"),
        (plain, {"quality": 1.5}, "quality is a probability"),
        (plain, {"cost": Fixed.of(usd=1), "usd": 1}, "either cost=... or amounts"),
        (plain, {"pure": True, "destructive": True}, "plain: a pure tool changes nothing, so it cannot be destructive"),
        (plain, {"pure": "no"}, "plain: pure is True or False, got 'no'"),
        (plain, {"destructive": None}, "plain: destructive is True or False, got None"),
    ],
)
def test_declarations_that_cannot_be_are_refused(function: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        tool(**settings)(function)


def test_a_toolbox_finds_tools_by_kind_and_variant() -> None:
    box = Toolbox(TOOLS)
    assert box.kinds == ("multiply", "add", "divide", "note")
    assert box.of_kind("multiply") == (multiply_quick, multiply_exact)
    assert box.of_kind("power") == ()
    assert box.find(call("multiply", "exact")) is multiply_exact
    for missing in (call("multiply"), call("add", "exact"), call("power")):
        with pytest.raises(InvalidCallError, match=rf"no tool {missing.tool}; there is: multiply.quick, mult"):
            box.find(missing)


def other(a: float) -> float:
    """Another signature."""
    return a


def product(a: float, b: float) -> float:
    """Multiply, and write it down."""
    return a * b


MIXED = [multiply_exact, tool(kind="multiply", variant="log")(product)]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([], "at least one tool"),
        ([add, add], "two tools named add"),
        ([multiply_exact, tool(kind="multiply", variant="odd")(other)], "of one kind but take different arguments"),
        (MIXED, "multiply.exact and multiply.log are of one kind, but only multiply.exact is pure; declare both"),
        (MIXED[::-1], "multiply.exact and multiply.log are of one kind, but only multiply.exact is pure"),
    ],
)
def test_toolboxes_that_contradict_themselves_are_refused(tools: list[Tool], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        Toolbox(tools)


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    names = inspect.signature(get_overloads(tool)[2]).parameters
    assert {name for name in names if f"`{name}=" not in page} <= {"fixed"}
    page = (ROOT / "docs" / "reference" / "tools" / "mcp.md").read_text(encoding="utf-8")
    for name in ("costs", "quality", "variants", "reads", "pure", "destructive", "only", "env"):
        assert name in inspect.signature(mcp_tools).parameters
        assert f"`{name}" in page
