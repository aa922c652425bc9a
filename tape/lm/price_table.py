"""Prices of models: the user's own, in two numbers or a dated file, before the table of `genai-prices`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tape.errors import ConfigError
from tape.lm.listed_prices import spelling, why_unknown
from tape.lm.price import TokenPrice
from tape.reading import parse_json, read_text, shaped, short

SCHEMA = 1
EXAMPLE = '{"schema": 1, "date": "2025-01-31", "source": "where the prices are published", "per_tokens": 1000000, '


Prices: TypeAlias = Sequence[str | int | float | Decimal] | Path | str
"""What a model costs: US dollars per million tokens of prompts and of completions, or a price file."""


@dataclass(frozen=True)
class PriceTable:
    """The user's own prices.

    Attributes:
        prices: US dollars per token, by the model's name in any spelling (:func:`tape.lm.listed_prices.find`).
        dates: When each price was valid.
    """

    prices: Mapping[str, TokenPrice]
    dates: Mapping[str, datetime.date]

    @classmethod
    def load(cls, path: Path) -> PriceTable:
        """Read a price file.

        Raises:
            ConfigError: It is missing or malformed; names the file and the field.
        """
        return _parse(read_text(path, error=ConfigError), str(path))

    def price(self, *names: str) -> TokenPrice | None:
        """The price of a model by its names; of two that are spelled otherwise, the first."""
        for name in names:
            if (own := self.prices.get(name)) is not None:
                return own
        wanted = {spelling(name) for name in names} if self.prices else set()
        return next((price for name, price in self.prices.items() if spelling(name) in wanted), None)


class _Entry(BaseModel):
    """What a model costs."""

    model_config = ConfigDict(extra="ignore")
    prompt: str | int | float
    completion: str | int | float
    cached_input: str | int | float | None = None
    cache_write: str | int | float | None = None

    @field_validator("*")
    @classmethod
    def _is_price(cls, amount: str | int | float | None) -> str | int | float | None:
        if amount is not None and not re.fullmatch(_AMOUNT, str(amount)):
            raise ValueError("a price is a number >= 0 of at most 15 digits before the point and 30 after it")
        return amount


class _Table(BaseModel):
    """A price file."""

    model_config = ConfigDict(extra="ignore")
    date: datetime.date
    per_tokens: Annotated[int, Field(ge=1, le=10**12)]
    models: dict[str, _Entry]


_MOST_PRICE = 10**15
_AMOUNT = r"\s*\+?(?:[0-9]{1,15}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,2})?\s*"


class _NoPriceFileError(ConfigError):
    def __init__(self, message: str) -> None:
        super().__init__(f"{message}. That is not a price file; expected {_example()}")


def _parse(text: str, where: str) -> PriceTable:
    record = parse_json(text, where, error=_NoPriceFileError)
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise _NoPriceFileError(f"{where}: schema {short(schema)} is not {SCHEMA}")
    table = shaped(record, _Table, where, error=_NoPriceFileError)
    prices = {name: _price(entry, table.per_tokens) for name, entry in table.models.items()}
    return PriceTable(prices, dict.fromkeys(prices, table.date))


def _price(entry: _Entry, per: int) -> TokenPrice:
    def token(amount: str | int | float) -> Decimal:
        return Decimal(str(amount)) / per

    cached, written = (None if given is None else token(given) for given in (entry.cached_input, entry.cache_write))
    return TokenPrice(token(entry.prompt), token(entry.completion), cached, written)


def _example(name: str = "openai:NAME") -> str:
    return EXAMPLE + f'"models": {{"{name}": {{"prompt": "0.15", "completion": "0.60"}}}}}}'


def token_price(given: Any) -> TokenPrice:
    """Read US dollars per million tokens of prompts and of completions.

    Raises:
        ConfigError: They are not two prices.
    """
    try:
        prompt, completion = (Decimal(str(item)) for item in given)
        if not isinstance(given, Sequence) or isinstance(given, str):  # "15" are no two prices, and sets have no order
            raise TypeError
        if not all(amount.is_finite() and 0 <= amount <= _MOST_PRICE for amount in (prompt, completion)):
            raise ValueError
    except (ArithmeticError, TypeError, ValueError):
        raise ConfigError(
            'prices are US dollars per million tokens, ("0.15", "0.60") for prompts and completions; got '
            f"{short(given)}"
        ) from None
    return TokenPrice(prompt / 1_000_000, completion / 1_000_000)


def missing_price(name: str) -> str:
    """The message where a hard cap on US dollars meets a model without a price."""
    return (
        f"usd is capped, but the price of {name} is unknown: {why_unknown(name)}. Put what it costs (US dollars per "
        f"million tokens) into a file, {_example(name)}, and pass it with --prices FILE; or in Python give the agent "
        'prices=FILE or prices=("0.15", "0.60"), for prompts and completions; or add the option price=0 to its name, '
        "for a server that costs nothing (NAME@URL#price=0); or lift the cap on usd"
    )
