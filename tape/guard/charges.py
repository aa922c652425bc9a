"""Worst cases that a guard has set aside for calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from tape.budget import Reservation, Resources
from tape.budget.amounts import unknown
from tape.budget.prices import Answer, Quote, highest
from tape.budget.resources import MOST
from tape.errors import ConfigError
from tape.guard.content import ContentPart, bytes_of, parts_of
from tape.guard.prompt_tokens import Counter, tokens_of
from tape.lm.price import Marks, TokenPrice, cost_of


class ChargePayer(Protocol):
    """What a charge needs of its guard."""

    def pay(self, name: str, worst: Resources, asked: object) -> Reservation:
        """Set a worst case aside."""

    def learn(self, name: str, *, marks: Marks = "", answered: str = "") -> None:
        """Remember what a call of a model took beyond its request, for the worst cases of the next ones."""


class Charge:
    """A worst case that is set aside. What the block leaves open is settled at its worst case."""

    def __init__(self, guard: ChargePayer, name: str, paid: Reservation) -> None:
        self._guard, self._name, self._paid = guard, name, [paid]

    @property
    def worst(self) -> Resources:
        """What is set aside, in counts."""
        return sum((reservation.worst_case for reservation in self._paid), Resources())

    @property
    def _open(self) -> bool:
        return any(reservation.open for reservation in self._paid)

    def _settle(self, actual: Resources) -> None:
        if not self._open:
            raise ConfigError("this charge is settled already; a call is answered once")
        for reservation, spent in zip(self._paid, self._split(actual), strict=True):
            reservation.settle(spent)

    def _split(self, actual: Resources) -> list[Resources]:
        """What was used, by what was set aside: the later ones take no more than their worst case."""
        left, parts = actual, list[Resources]()
        for reservation in reversed(self._paid[1:]):
            most = reservation.worst_case
            counts = {kind: None if left[kind] is None else min(left[kind] or 0, most[kind] or 0) for kind in most}
            parts.append(Resources(counts))
            left = Resources({k: n if n is None else n - (counts.get(k) or 0) for k, n in left.items()})
        return [left, *reversed(parts)]

    def not_made(self) -> None:
        """Settle at nothing: the call was not made, or is certain to cost nothing."""
        self._settle(Resources())

    @contextmanager
    def until_left(self) -> Iterator[Self]:
        """The block of the call."""
        try:
            yield self
        except GeneratorExit:  # perhaps the garbage collector's, amid anything: no lock may be waited for
            for reservation in self._paid:
                reservation.abandon()
            raise
        finally:
            if self._open:
                self._settle(unknown(self.worst))


class ToolCharge(Charge):
    """Of one call of a tool."""

    def __init__(self, guard: ChargePayer, name: str, paid: Reservation, quote: Quote) -> None:
        super().__init__(guard, name, paid)
        self._quote = quote

    def answered(self, text: str = "", structured: object = None) -> None:
        """Settle at the price of this result; see :class:`~tape.budget.prices.Answer`."""
        self._settle(self._quote.actual(Answer(text, structured)))


@dataclass(frozen=True)
class ModelRequest:
    """A request to a model, read once for all the quotes of it.

    Attributes:
        sent: Its bytes.
        parts: Those that its bytes do not bound.
    """

    sent: bytes
    parts: Sequence[ContentPart] = field(repr=False)
    _counted: dict[Counter, int | None] = field(default_factory=dict, repr=False, compare=False)

    def tokens(self, count: Counter | None) -> int | None:
        """The most tokens by a tokenizer, counted once; None where they cannot be counted."""
        if count is not None and count not in self._counted:
            self._counted[count] = tokens_of(self.sent, count)
        return None if count is None else self._counted[count]

    @classmethod
    def read(cls, request: Any) -> ModelRequest:
        """Read what :meth:`tape.Guard.model` takes.

        Raises:
            ChargeError: It holds itself, or is too deep.
        """
        if isinstance(request, cls):
            return request
        parts = parts_of(request)  # first: it finds what holds itself
        return cls(bytes_of(request), parts)


@dataclass(frozen=True)
class ModelPrices:
    """What tokens cost in a call of a model.

    Attributes:
        asked: By the model that is asked; None where that is not known.
        substitutes: By models that may answer in its place, and where it writes to its cache as it has before.
        of_answer: By the one that an answer names; None where that is not known.
        covers_writes: What is written to the provider's cache is declared, and paid for beside the tokens.
    """

    asked: TokenPrice | None
    substitutes: tuple[TokenPrice, ...] = ()
    of_answer: Callable[[str], TokenPrice | None] = field(default=lambda _: None, repr=False)
    covers_writes: bool = False

    @property
    def all(self) -> tuple[TokenPrice | None, ...]:
        """Those that a worst case covers."""
        return (self.asked, *self.substitutes)


@dataclass(frozen=True)
class ModelQuote:
    """What a call of a model takes.

    Attributes:
        prices: Of its tokens.
        prompt: Tokens of the prompt, at most.
        media: How many of these may be no text.
        by_bytes: The prompt is bounded by its bytes, since its tokens cannot be counted.
        unreported: Money beside the tokens that the provider reports.
        unknown: Kinds of which nobody knows how much a part of the request takes.
    """

    prices: ModelPrices
    prompt: int
    media: int
    unreported: Resources
    unknown: Resources
    by_bytes: bool = True

    def worst(self, tokens: int) -> Resources:
        """The most that it takes with so many completion tokens."""
        most = highest([cost_of(price, self.prompt, tokens, media=self.media) for price in self.prices.all])
        return self.unknown + most + self.unreported


class ModelCharge(Charge):
    """Of one call of a model.

    Attributes:
        most_tokens: Completion tokens that are paid for: the call has to be limited to them.
    """

    def __init__(self, guard: ChargePayer, name: str, paid: Reservation, quote: ModelQuote, most_tokens: int) -> None:
        super().__init__(guard, name, paid)
        self._quote, self.most_tokens = quote, most_tokens

    def grow(self, tokens: int) -> None:
        """Pay for more completion tokens of a call that streams; end the stream where they do not fit.

        Raises:
            BudgetExceededError: They do not fit; what is paid for stays.
            ConfigError: The charge is settled.
        """
        if not self._open:
            raise ConfigError("this charge is settled already; it cannot grow")
        rates = [None if price is None else price.at(self._quote.prompt) for price in self._quote.prices.all]
        worst = highest([cost_of(price, 0, tokens, calls=0) for price in rates])
        self._paid.append(self._guard.pay(self._name, worst, None))
        self.most_tokens += tokens

    def used(
        self,
        prompt_tokens: int | None,
        completion_tokens: int | None,
        *,
        cached: int | None = None,
        written: int | None = None,
        written_1h: int | None = None,
        model: str | None = None,
    ) -> None:
        """Settle at the tokens that the provider reports; at the worst case where it does not.

        No prompt has no tokens: a report of 0 is none. Where no tokens are reported as written to the cache, and the
        model may write some, all that were not read from it are booked as written: frameworks fill in 0 for what a
        provider leaves out. What is reported as written costs so, whatever the request has; the next calls of the model
        then set that aside.

        Args:
            prompt_tokens: Of the prompt, those of the provider's cache among them.
            completion_tokens: Of the completion, reasoning among them.
            cached: How many of the prompt were read from the cache.
            written: How many were written to it.
            written_1h: How many of these for an hour; None: it is not reported for how long.
            model: Which model has answered, by the answer. A dearer one than was asked is booked at its own price where
                that is known, and the guard lets no further call of the one that was asked through, unless its
                ``substitutes`` say that the other may answer.
        """
        counts = (prompt_tokens, completion_tokens)
        if not prompt_tokens or not all(type(n) is int and 0 <= n <= MOST for n in counts):
            self._settle(unknown(self.worst))
            return
        split = (cached or 0, written or 0, written_1h)
        if not all(type(n) is int and n >= 0 for n in split if n is not None) or sum(split[:2]) > prompt_tokens:
            split = (0, 0, None)  # the report makes no sense
        prices, tokens = self._quote.prices, (prompt_tokens, completion_tokens or 0)
        costs = [self._cost(price, *tokens, split) for price in prices.all]
        cost, most = costs[0], max(resources["usd"] or 0 for resources in costs)
        if model and prices.asked is not None and (answered := prices.of_answer(model)) is not None:
            cost = max(cost, self._cost(answered, *tokens, split), key=lambda resources: resources["usd"] or 0)
            if (cost["usd"] or 0) > most:
                self._guard.learn(self._name, answered=model)
        self._settle(cost + self._quote.unreported)

    def _cost(
        self, price: TokenPrice | None, prompt: int, completion: int, split: tuple[int, int, int | None]
    ) -> Resources:
        """What tokens cost of which the cache has had so many."""
        cached, written, hours = split
        media, written = min(self._quote.media, prompt), 0 if self._quote.prices.covers_writes else written
        if price is not None and written:
            self._guard.learn(self._name, marks=price.at(prompt).unforeseen(None if hours is None else hours > 0))
        if media:  # what of the cache is media is not known: what was written has its rate, and all else the dearest
            kept = price is not None and price.media is not None
            media, written = media if kept else min(media, prompt - written), min(written, prompt - media * kept)
            cached = 0
        more: dict[str, Any] = {"media": media, "cached": cached, "written": written or None, "written_1h": hours}
        return cost_of(price, prompt, completion, **more, unsplit=prompt if media else 0)
