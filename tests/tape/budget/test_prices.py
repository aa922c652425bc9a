"""One language of prices: what a call costs is the same for a tool, a guard and a gateway."""

from __future__ import annotations

import json
import random
from collections import deque
from enum import Enum
from typing import Any

import pytest

from tape.budget.chances import spreads_of
from tape.budget.price_reading import read_price
from tape.budget.prices import Answer, ByValue, Cost, Fixed, PerArgument, PerToken, Reported
from tape.budget.resources import STEP, Resources
from tape.guard.guard import Guard
from tape.tools.errors import InvalidCallError
from tape.tools.making import make_tool
from tape.tools.tool import declared

CENT = Resources.of(usd="0.01")
CALL: dict[str, Any] = {"pages": 3, "size": "large", "text": "four"}
RESULT = {"usage": {"cost": 0.03}}
TEXT = json.dumps(RESULT)
PRICES: list[tuple[Any, list[Cost], float]] = [
    ({"usd": "$0.01"}, [Fixed(CENT)], 0.01),
    (
        {"each": {"usd": "$0.01"}, "per": "argument", "argument": "pages", "at_most": 9},
        [PerArgument(CENT, "pages", 9)],
        0.03,
    ),
    (
        {"argument": "size", "values": {"small": {"usd": "$0.01"}, "large": {"usd": "$0.04"}}},
        [ByValue("size", {"small": CENT, "large": CENT + CENT + CENT + CENT}, CENT + CENT + CENT + CENT)],
        0.04,
    ),
    (
        [{"usd": "$0.01"}, {"each": {"usd": "$0.01"}, "per": "output_tokens", "at_most": 5}],
        [Fixed(CENT), PerToken(CENT, True, 5, 4)],
        0.08,
    ),
    (
        {"worst": {"usd": "$0.10"}, "reported": "usage.cost"},
        [Reported(Resources.of(usd="0.10"), ("usage", "cost"))],
        0.03,
    ),
]


def look(pages: int, size: str, text: str) -> dict[str, Any]:
    """Look it up."""
    del pages, size, text
    return RESULT


@pytest.mark.parametrize(("written", "parts", "took"), PRICES)
def test_a_price_is_the_same_in_a_tool_a_guard_and_in_objects(written: Any, parts: list[Cost], took: float) -> None:
    price, guard = read_price(written, ()), Guard("$9", tools={"look": written})
    item = make_tool(look, cost=written)
    worst = sum((part.worst() for part in parts), Resources())
    assert price.worst() + STEP == item.worst == guard.tools["look"].worst() == worst + STEP
    used = sum((part.actual(CALL, Answer(TEXT, RESULT)) for part in parts), Resources())
    assert price.actual(CALL, Answer(TEXT, RESULT)) == used == Resources.of(usd=str(took))
    assert item.used(CALL, RESULT, random.Random(0)) == used + STEP
    with guard.tool("look", CALL) as charge:
        charge.answered(TEXT, RESULT)
    assert guard.left()["spent_in_session"]["usd"] == took


class Size(Enum):
    """A size."""

    LARGE = "large"


def test_a_price_counts_what_the_function_gets_and_what_the_model_reads() -> None:
    def draw(pages: int = 50, size: Size = Size.LARGE) -> dict[str, str]:
        """Draw."""
        del pages, size
        return {"text": "a" * 400}

    by_pages = make_tool(draw, cost={"each": {"usd": "$0.01"}, "per": "argument", "argument": "pages", "at_most": 9})
    with pytest.raises(InvalidCallError, match="pages has 50 units"):
        by_pages.checked({})
    values = {"small": {"usd": "$0.01"}, "large": {"usd": "$0.04"}}
    by_size = make_tool(draw, cost={"argument": "size", "values": values, "otherwise": {"usd": "$9"}})
    assert by_size.used({"pages": 1, "size": Size.LARGE}, {}, random.Random(0))["usd"] == 40_000
    by_answer = make_tool(draw, cost={"each": {"usd": "$0.01"}, "per": "output_tokens", "at_most": 500})
    text = '{"text": "' + "a" * 400 + '"}'
    assert by_answer.used({}, {"text": "a" * 400}, random.Random(0))["usd"] == -(-len(text) // 4) * 10_000


def test_a_fixed_price_written_as_a_table_is_exact() -> None:
    assert spreads_of(make_tool(look, cost={"usd": "$0.01"}).cost) == {}
    assert make_tool(look, cost=({"usd": "$0.01"}, {"usd": "$0.02"})).worst["usd"] == 30_000


def test_a_quote_is_of_the_arguments_as_they_were() -> None:
    pages, guard = deque([1, 2, 3]), Guard("$9", tools={"t": {"each": {"usd": "$0.01"}, "per": "input_tokens"}})
    with guard.tool("t", {"pages": pages}) as charge:
        pages.extend(range(400))
        charge.answered()
    assert guard.left()["spent_in_session"]["usd"] < 0.2


def test_plain_amounts_may_be_unknown_and_a_table_is_read_where_a_server_brings_the_tool() -> None:
    assert declared({"usd": None}).worst() == Resources({"usd": None})
    table = declared({"each": {"usd": "$0.01"}, "per": "argument", "argument": "pages", "at_most": 9})
    assert table.worst({"pages": 3}) == Resources.of(usd="0.03")
