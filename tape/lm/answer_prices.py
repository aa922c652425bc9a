"""What the answers of a model in the table of prices have shown: a dearer model that gave them, and unasked writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from tape.budget import Resources
from tape.lm.base import Usage, actual_cost
from tape.lm.listed_prices import Listed, find
from tape.lm.price import LONGER, Marks, TokenPrice


@dataclass
class Seen:
    """What calls have shown, for all that share a model: how long it keeps what it writes unasked, and who answered."""

    writes: Marks = ""
    dearer: str = ""


@dataclass(frozen=True)
class AnswerPrices:
    """Prices of a model and of those that answer in its place.

    Attributes:
        asked: The model.
        usual: Its price.
        seen: What calls have shown.
        recorded: In the place of ``seen.writes``, for a call that is played again.
    """

    asked: Listed
    usual: TokenPrice
    seen: Seen = field(default_factory=Seen)
    recorded: Marks | None = None

    @property
    def writes(self) -> Marks:
        """For how long the model writes to its cache unasked, as far as worst cases cover it."""
        return self.seen.writes if self.recorded is None else self.recorded

    @property
    def price(self) -> TokenPrice:
        """What worst cases are reckoned by."""
        return self.usual if not self.writes else self.asked.price(marks=self.writes) or self.usual

    def cost(self, price: TokenPrice, usage: Usage, *, capped: bool) -> Resources:
        """What a request costs: where a dearer model has answered one of its calls, all of them by that one's price.

        Args:
            price: By which its worst case was reckoned.
            usage: What it used.
            capped: Money is: after a dearer model has answered, no further call is made.
        """
        cost, split = actual_cost(price, usage), usage.split
        if split.written:
            marks = price.at(-(-usage.prompt_tokens // max(usage.calls, 1))).unforeseen(split.written_1h > 0)
            self.seen.writes = max(self.seen.writes, marks, key=LONGER.index)
        for name in filter(None, map(self.asked.sibling, usage.answered)):
            listed = find(name)
            other = actual_cost(None if listed is None else listed.price(marks=self.writes), usage)
            if (other["usd"] or 0) > (cost["usd"] or 0):
                cost, self.seen.dearer = other, name if capped else self.seen.dearer
        return cost
