"""Types of pydantic as parameters: what a program writes is what is shown, given to the tool once, and recorded."""

from __future__ import annotations

import ast
import datetime
import decimal
import enum
import json
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    Json,
    SecretStr,
    computed_field,
    field_serializer,
)

from tape import TapeAgent, ToolEnvironment, tool
from tape.lm.scripted import ScriptedLM
from tests.tape.tools import helpers


class Colour(enum.Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


class Price(BaseModel):
    """With a validator that must not be applied twice."""

    euros: Annotated[int, AfterValidator(lambda value: value * 100)]


class Page(BaseModel):
    """With another name outside."""

    size: int = Field(alias="pageSize")


class Computed(BaseModel):
    """With a field that nobody gives."""

    model_config = ConfigDict(extra="forbid")
    a: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        """Twice as much."""
        return 2 * self.a


class Hidden(BaseModel):
    """With a field that is not dumped."""

    a: int
    key: int = Field(exclude=True)


class Dumped(BaseModel):
    """With a field that is dumped as something else."""

    d: float

    @field_serializer("d")
    def _text(self, value: float) -> str:
        return "dumped"


def same(value: Any) -> Any:
    return value


CASES: list[tuple[Any, str, str, Callable[[Any], Any], Any]] = [
    (SecretStr, "'hunter2'", "str", lambda value: value.get_secret_value(), "hunter2"),
    (Price, "{'euros': 3}", "{euros: int}", lambda value: value.euros, 300),
    (list[Price], "[{'euros': 1}]", "list[{euros: int}]", lambda value: value[0].euros, 100),
    (Page, "{'pageSize': 3}", "{pageSize: int}", lambda value: value.size, 3),
    (Computed, "{'a': 3}", "{a: int}", lambda value: value.double, 6),
    (Hidden, "{'a': 1, 'key': 7}", "{a: int, key: int}", lambda value: (value.a, value.key), (1, 7)),
    (Dumped, "{'d': 1.5}", "{d: float}", lambda value: value.d, 1.5),
    (Json[list[int]], "'[1, 2]'", "str", same, [1, 2]),
    (Colour, "'red'", '"red" | "blue"', same, Colour.RED),
    (Literal["a", "b"], "'a'", '"a" | "b"', same, "a"),
    (datetime.date, "'2026-01-02'", "str", same, datetime.date(2026, 1, 2)),
    (datetime.timedelta, "'PT1H'", "str", same, datetime.timedelta(hours=1)),
    (decimal.Decimal, "'1.10'", "float | str", str, "1.10"),
    (uuid.UUID, f"'{uuid.UUID(int=1)}'", "str", same, uuid.UUID(int=1)),
    (HttpUrl, "'http://a.b/c'", "str", str, "http://a.b/c"),
    (bytes, "'abc'", "str", same, b"abc"),
    (int | None, "None", "int | None", same, None),
    (set[int], "[1, 2, 2]", "list[int]", same, {1, 2}),
    (tuple[int, str], "[1, 'a']", "list", same, (1, "a")),
    (dict[str, int], "{'a': 1}", "dict", same, {"a": 1}),
    (Annotated[int, Field(ge=1, le=5, description="how many")], "3", "int", same, 3),
    (Any, "{'a': [1, None]}", "Any", same, {"a": [1, None]}),
]
"""The type, what the program writes, how it is shown, and what of the value the tool sees."""


@pytest.mark.parametrize(("type_", "written", "shown", "see", "seen"), CASES, ids=[case[1] for case in CASES])
def test_a_value_is_validated_once_by_the_tool(
    type_: Any, written: str, shown: str, see: Callable[[Any], Any], seen: Any
) -> None:
    given: list[Any] = []

    def call(x: Any) -> int:
        """Do it."""
        given.append(x)
        return 1

    call.__annotations__ = {"x": type_, "return": int}
    model = ScriptedLM([f"call(x={written})\nanswer(1)"])
    environment = ToolEnvironment("task", [tool(usd=0)(call)], budget="$1, 9 steps")
    result = TapeAgent(model).run(environment)
    assert result.success, result.detail
    assert [see(item) for item in given] == [seen]
    assert result.actions[0] == f"call(x={json.dumps(ast.literal_eval(written))})"
    assert helpers.asked(model.requests[0]).startswith(f"def call(x: {shown}) -> int:")
