import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget, Resources, declare, kind_of
from tape.budget.units import parse_amount
from tape.errors import ConfigError

declare("disk", "MB of disk", "0.5")
declare("rent", "hour", "1e-3")


@pytest.mark.parametrize(
    ("kind", "text", "amount"),
    [
        ("usd", "$0.05", "0.05"), ("usd", "$ 1,234.50", "1234.5"), ("usd", "0.05 usd", "0.05"),
        ("usd", "0.05 USD", "0.05"), ("usd", "2 dollars", "2"), ("usd", "5 cents", "0.05"),
        ("usd", "1 cent", "0.01"), ("usd", "$1.5k", "1500"), ("seconds", "250 ms", "0.25"),
        ("seconds", "250ms", "0.25"), ("seconds", "1.5 s", "1.5"), ("seconds", "90", "90"),
        ("seconds", "2 min", "120"), ("wall_seconds", "1 h", "3600"), ("wall_seconds", "0.5 days", "43200"),
        ("tokens", "10k", "10000"), ("tokens", "1,000", "1000"), ("tokens", "1.5M tokens", "1500000"),
        ("tokens", "1 token", "1"), ("tokens", "1e3", "1000"), ("calls", "3 calls", "3"), ("steps", " 8 ", "8"),
        ("disk", "3 MB", "3"), ("disk", "3MB of disk", "3"), ("disk", "3.5 disk", "3.5"),
        ("rent", "30 min", "0.5"), ("usd", 0.1 + 0.2, "0.3"), ("usd", Decimal("0.1"), "0.1"),
        ("usd", np.float64(0.1), "0.1"), ("tokens", np.int64(7), "7"),
    ],
)  # fmt: skip
def test_amounts_are_read_as_they_are_written(kind: str, text: object, amount: str) -> None:
    assert parse_amount(kind, text, kind_of(kind).unit) == Decimal(amount)
    assert kind_of(kind).count(text) * kind_of(kind).resolution == Decimal(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("usd", "10 s", "'10 s' is in 's', not in US dollars; write 0.05, '$0.05', '0.05 usd' or '5 cents'"),
        ("seconds", "$5", "'$5' is in '$', not in seconds; write 1.5, '250 ms', '1.5 s', '2 min' or '1 h'"),
        ("usd", "$5 s", "is in 's', not in US dollars"),
        ("tokens", "5 s", "'5 s' is in 's', not in tokens; write 5000, '5k' or '5,000 tokens'"),
        ("tokens", "3kg", "is in 'kg', not in tokens"), ("usd", "1,5", "'1,5' is not a number of US dollars"),
        ("usd", "1,50,000", "is not a number"), ("usd", "", "is not a number"), ("usd", "much", "is not a number"),
        ("usd", True, "True is not a number"), ("usd", None, "None is not a number"),
        ("usd", "-$1", "must be a finite number >= 0"), ("usd", -1, "must be a finite number >= 0"),
        ("usd", "nan", "must be a finite number >= 0"), ("usd", float("inf"), "must be a finite number >= 0"),
        ("usd", "1e31", "at most 30 digits"), ("usd", "1e999999999", "is in 'e999999999'"),
        ("rent", "20 min", "cannot be written as a decimal number of hours"),
    ],
)  # fmt: skip
def test_what_is_no_amount_is_named(kind: str, text: object, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        parse_amount(kind, text, kind_of(kind).unit)
    assert str(error.value).startswith(f"{kind}: ")


def test_an_undeclared_kind_takes_plain_numbers_and_its_own_name() -> None:
    assert parse_amount("gold", "1.5k") == 1500
    assert parse_amount("gold", "3 gold") == 3
    assert parse_amount("minutes", "90 s") == Decimal("1.5")
    with pytest.raises(ConfigError, match="gold: '3 s' is in 's', not in gold; write 5000, '5k' or '5,000 gold'"):
        parse_amount("gold", "3 s")


def test_budgets_and_resources_take_the_same() -> None:
    parsed = Budget.parse("tokens=1,000,usd=$0.05,wall_seconds=2 min,steps=8")
    assert parsed == {"tokens": 1000, "usd": 50_000, "wall_seconds": 120_000, "steps": 8}
    assert Budget.of(usd="5 cents", tokens="10k") == Budget({"usd": 50_000, "tokens": 10_000})
    assert Resources.of(seconds="250 ms")["seconds"] == 250
    with pytest.raises(ConfigError, match=r"finer than the resolution of 0\.001 second"):
        Budget.of(seconds="1 us")
    with pytest.raises(ConfigError, match="finer than the resolution"):
        Budget.of(usd="0.0500000000000000000000000000000001")  # more digits than a default context holds


@given(st.floats(0, 1e6), st.sampled_from([("ms", 1000), ("min", Fraction(1, 60)), ("s", 1)]))
def test_units_are_exact(number: float, unit: tuple[str, Fraction]) -> None:
    name, share = unit
    text = f"{number:.4f}"
    assert Fraction(parse_amount("seconds", f"{text} {name}", "second")) == Fraction(text) / share
