"""What tokens of models cost a guard: the user's own prices, else the table's; and what its calls have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from tape.errors import ConfigError, FieldError, UnknownCostError
from tape.guard.charges import ModelPrices
from tape.guard.content import ContentPart, marks_of
from tape.lm.listed_prices import find, why_unknown
from tape.lm.price import LONGER, Marks, TokenPrice
from tape.lm.price_table import PriceTable, token_price
from tape.reading import short

Seen: TypeAlias = tuple[dict[str, Marks], dict[str, str]]
"""By name of a model: for how long it has written to its cache unasked, and which dearer one has answered."""


class PriceBook:
    """The prices.

    Args:
        models: See :class:`tape.Guard`; a :class:`~tape.lm.price.TokenPrice`, or why it is not known, as well.
        prices: A price file.
        substitutes: See :class:`tape.Guard`.
        marks_declared: What a mark to write to a provider's cache adds is declared, and goes first.

    Attributes:
        seen: What calls have shown, which the books of several guards may share.
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        prices: Path | str | None,
        substitutes: Mapping[str, Sequence[str]],
        *,
        marks_declared: bool,
    ) -> None:
        self._meant = {name: given for name, given in models.items() if isinstance(given, str)}
        self._unknown = {name: given for name, given in models.items() if isinstance(given, UnknownCostError)}
        others = [(name, given) for name, given in models.items() if name not in {**self._meant, **self._unknown}]
        own = {name: _token_price(name, given) for name, given in others}
        filed = {} if prices is None else PriceTable.load(Path(prices)).prices
        self._own = PriceTable({**own, **{name: price for name, price in filed.items() if name not in own}}, {})
        for name, meant in self._meant.items():
            if self._own.price(meant) is None and find(meant) is None:
                raise FieldError(
                    ("models", name), f"no prices, and no known model is called {short(meant)}: {why_unknown(meant)}"
                )
        self._substitutes, self._marks_declared = substitutes, marks_declared
        self.seen: Seen = ({}, {})

    def meant(self, name: str) -> str:
        """What a model is called that was given as another name of it."""
        return self._meant.get(name, name)

    def prices(self, name: str, sent: bytes, parts: Sequence[ContentPart]) -> ModelPrices:
        """What tokens cost in a call."""
        marks, seen = marks_of(parts), self.seen[0].get(name)
        text, kept = sent.decode("utf-8", "replace"), "" if self._marks_declared else marks
        others = [self._price(item, text, kept) for item in self._substitutes.get(name, ())]
        others += [] if seen is None else [self._price(name, text, seen)]
        return ModelPrices(
            self._price(name, text, kept),
            tuple(price for price in others if price is not None),
            lambda model: None if (other := self._other(name, model)) is None else self._price(other, text, kept),
            covers_writes=self._marks_declared and bool(marks),
        )

    def _price(self, name: str, sent: str, marks: Marks) -> TokenPrice | None:
        meant = self.meant(name)
        own = self._own.price(meant)
        if own is None:
            listed = None if name in self._unknown else find(meant)
            return None if listed is None else listed.price(sent, marks)
        if own.written_5m is not None:
            own = own.marked(marks if "claude" in meant.lower() else "1h")
        return replace(own, media=max(own.dearest, own.media or own.dearest))  # the user's own are for all tokens

    def _other(self, asked: str, answered: str) -> str | None:
        """The name of the model that an answer names; None where it is the one that was asked, or has no price."""
        meant = self.meant(asked)
        if self._own.price(answered) is not None:
            return answered
        # The user's own price is that of a deployment, whatever model it has.
        listed = None if self._own.price(meant) is not None else find(meant)
        return None if listed is None else listed.sibling(answered)

    def learn(self, name: str, *, marks: Marks = "", answered: str = "") -> None:
        """Remember that a provider wrote to its cache unasked, or that a dearer model has answered."""
        if marks:
            self.seen[0][name] = max(self.seen[0].get(name, ""), marks, key=LONGER.index)
        if answered:
            self.seen[1][name] = answered

    def refusal(self, name: str) -> UnknownCostError | None:
        """Why no further call of a model is made under a cap on money: a dearer one has answered, which may not."""
        if (seen := self.seen[1].get(name)) is None:
            return None
        return UnknownCostError(
            f"usd is capped, and a call of {name} was answered by {seen}, which is dearer: ask for that one, or say "
            f'that it may answer, and its price is set aside, by Guard(..., substitutes={{"{name}": ["{seen}"]}})'
        )

    def unpriced(self, name: str) -> UnknownCostError:
        """Why a call of a model is not made under a cap on money: its price is not known."""
        return UnknownCostError(
            f"usd is capped, but the price of {name} is unknown: "
            f"{self._unknown.get(name) or why_unknown(self.meant(name))}. Say what "
            f'it costs, in US dollars per million tokens, or which model it is: Guard(..., models={{"{name}": ("0.15", '
            f'"0.60")}}), Guard(..., models={{"{name}": "PROVIDER:MODEL"}})'
        )


def _token_price(name: str, given: Any) -> TokenPrice:
    try:
        return given if isinstance(given, TokenPrice) else token_price(given)
    except ConfigError as error:
        raise FieldError(("models", name), str(error)) from None
