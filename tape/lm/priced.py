"""Models with their prices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage
from tape.lm.listed_prices import Listed, find
from tape.lm.price import TokenPrice
from tape.lm.price_table import Prices, PriceTable, token_price
from tape.lm.wrapper import AnswerPrices, WrappedLM
from tape.plugins import load, names


class PricedLM(WrappedLM):
    """A model at a price from a table, which is part of its identity: what is affordable depends on it.

    Args:
        model: The model underneath; a cache belongs below, so that its entries outlive a change of price.
        price: US dollars per token.
        listed: The model, where the price is the table's.
    """

    def __init__(self, model: LanguageModel, price: TokenPrice, listed: Listed | None = None) -> None:
        super().__init__(model)
        self._price, self._answers = price, None if listed is None else AnswerPrices(listed, price)

    @property
    def price(self) -> TokenPrice | None:
        """The price."""
        return self._price if self._answers is None else self._answers.price

    @property
    def answer_prices(self) -> AnswerPrices | None:
        """What its answers have shown; a declared price stands for whatever answers."""
        return self._answers

    @property
    def identity(self) -> str:
        """The model's identity and its price."""
        return f"{self._model.identity} at {_words(self._price)}"

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests.

        Raises:
            BatchError: A dearer model has answered before, under a cap on US dollars; none was asked.
        """
        self._require_asked(requests)
        return await self._model.generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options; raises like :meth:`generate`."""
        self._require_asked(requests)
        return await self._model.score_options(requests)

    def _require_asked(self, requests: Sequence[Request]) -> None:
        if self._answers is not None and (dearer := self._answers.seen.dearer):
            why = (
                f"usd is capped, and a call of {self.name} was answered by {dearer}, which is dearer: take that one as "
                "the model, and its price is set aside; or declare what this one costs, whatever answers, in a file "
                "(--prices FILE)"
            )
            raise BatchError([EndpointError(why, Usage(0, 0, calls=0, source="reported")) for _ in requests])


def _words(price: TokenPrice) -> str:
    """What a call without marks for a cache costs."""
    call = f"+{price.call} usd/call" if price.call else ""
    above = "".join(f", above {tokens} {_words(more)}" for tokens, more in price.tiers)
    return f"{price.dearest}+{price.completion} usd/token{call}{above}"


def priced(model: LanguageModel, name: str, own: PriceTable | Prices | None = None) -> LanguageModel:
    """A model with its price: the user's own, else the model's own, else the table's, else unknown.

    Raises:
        ConfigError: They are malformed.
    """
    if isinstance(own, str | Path):
        own = PriceTable.load(Path(own))
    if not isinstance(own, PriceTable | None):
        return PricedLM(model, token_price(own))
    listed = _listed(name)
    price, result = None if own is None else own.price(name, listed), None
    if price is None and model.price is None and (result := find(listed)):
        price = result.price()
    return model if price is None else PricedLM(model, price, result)


def _listed(name: str) -> str:
    """The name of a hosted model without what does not concern its price; other endpoints have prices of their own."""
    backend, _, argument = name.partition(":")
    opener = load("tape.models", backend) if backend in names("tape.models") else None
    # Only openers of hosted models have a list name, and asking so does not load what makes them.
    listed = getattr(opener, "listed", None)
    return str(listed(argument)) if callable(listed) else name
