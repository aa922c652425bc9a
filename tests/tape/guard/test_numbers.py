"""A text that a receiver may read as a number is priced as the largest that any receiver makes of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tape import Guard
from tape.budget.numbers import largest_number, units_of
from tape.budget.resources import MOST
from tape.errors import ChargeError
from tests.profiles import examples
from tests.tape.gateway.helpers import refused

READERS: tuple[Callable[[str], Any], ...] = (
    int, float, Decimal, json.loads, yaml.safe_load,
    lambda text: int(text, 0),
    lambda text: float(text.replace(",", "")),
)  # fmt: skip


def readings(text: str) -> Iterator[float]:
    for reader in READERS:
        with suppress(ValueError, ArithmeticError, TypeError, RecursionError, yaml.YAMLError):
            number = reader(text)
            if isinstance(number, int | float | Decimal) and not isinstance(number, bool):
                yield float(number)


def written(number: int, form: int) -> str:
    return (
        f"{number:#x}", f"{number:#X}", f"{number:#b}", f"{number:#o}", f"{number:_}", f"{number:,}", f"+{number}",
        f" {number} ", f"{number}.0", f"{number}e0", f"{number:e}", f"00{number}", f"{number / 10}e1", f"{number}\n",
        f"{number // 60}:{number % 60}", str(number).translate({48 + i: 0xFF10 + i for i in range(10)}),
        str(number).translate({48 + i: 0x660 + i for i in range(10)}), f"{number:#_x}",
    )[form]  # fmt: skip


@given(st.integers(0, 10**6), st.integers(0, 17))
@examples(400)
def test_a_number_counts_as_what_it_is_however_it_is_written(number: int, form: int) -> None:
    text = written(number, form)
    units = units_of(text, text=False)
    assert units is not None
    assert units >= number
    assert units <= max(number, len(text.encode())) or form in (9, 10, 12), "and as no more"
    assert units_of(text, text=True) == len(text.encode()), "a text by the schema is one"


@given(st.text("0123456789abefxopEXOBnif_+-., ':/\u0660\uff11", max_size=14))
@examples(1500)
def test_no_reader_makes_more_of_a_text(text: str) -> None:
    units, numbers = units_of(text, text=False), list(readings(text))
    assert units is None or all(units >= number for number in numbers if number <= MOST)
    assert units is None or not any(math.isnan(number) or number > MOST for number in numbers)


@pytest.mark.parametrize("text", ["Infinity", "-inf", "nan", "-.INF", "1e400", "1e" + "9" * 30, "0x" + "f" * 4000])
def test_what_has_no_bound_is_refused(text: str) -> None:
    guard = Guard("$1", tools={"read": {"each": {"usd": "$0.0001"}, "per": "argument", "argument": "pages"}})
    refused(
        guard.tool("read", {"pages": text}), ChargeError, "pages is priced by the unit, .* more than can be counted"
    )
    with guard.tool("read", {"pages": "0x1f4"}) as charge:
        assert charge.worst["usd"] == 500 * 100


@pytest.mark.parametrize("text", ["", "hello", "beach", "2024 election results", "1.2.3", "--5", "e5", "a1"])
def test_other_texts_count_by_their_bytes(text: str) -> None:
    assert largest_number(text) is None
    assert units_of(text, text=False) == len(text)


def test_a_value_that_may_be_taken_for_a_dearer_one_costs_that() -> None:
    values = {"small": {"usd": 1}, "Large": {"usd": 4}, "1024": {"usd": 5}}
    guard = Guard("$99", tools={"draw": {"argument": "size", "values": values, "otherwise": {"usd": 2}}})
    for given_, dollars in (("small", 1), (" LARGE", 4), ("0x400", 5), (1024.0, 5), ("1_024", 5), ("SMALL", 2), (7, 2)):
        with guard.tool("draw", {"size": given_}) as charge:
            assert charge.worst["usd"] == dollars * 10**6
