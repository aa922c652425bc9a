"""The gateway's budget within a program: every call of a model and of a tool is paid for before it starts.

An agent that some framework runs gets it through the framework's adapter in ``tape.integrations``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from tape.budget import Budget, BudgetLike, Ledger, Resources
from tape.budget.amounts import booked
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tape.gateway.charges import ModelCharge, ModelQuote, ModelRequest, Paid, ToolCharge
from tape.gateway.content import Part, marks_of, read_worst, worst_of
from tape.gateway.errors import ChargeError, FieldError
from tape.gateway.guarded_tools import guarded_tool
from tape.gateway.journal import Journal
from tape.gateway.ledgers import SessionLedger, amounts
from tape.gateway.own_tools import left
from tape.gateway.planning import PlanError, fitting, plan
from tape.gateway.prices import unpriced
from tape.gateway.shared_scope import SharedScope
from tape.ledger import LedgerStore, is_address
from tape.ledger.payer import calling
from tape.lm.listed_prices import Marks, find, why_unknown
from tape.lm.price import Price as TokenPrice
from tape.lm.price_table import PriceTable, token_price
from tape.reading import short

OVERHEAD_TOKENS = 64
"""Tokens that a model's template may add to a prompt, such as a default system message."""

REFUSALS = (BudgetExceededError, UnknownCostError, ChargeError)
"""What a guard raises in the place of a call; nothing is spent then."""

_OWN = "guard"


class Guard:
    """A budget for all calls that an agent makes of models and tools.

    Args:
        budget: The caps, for instance ``"usd=0.50, steps=10"``. A call of a tool is one of ``steps``, a call of a model
            one of ``calls``; ``tokens`` are those of models.
        tools: By name, what a call costs: amounts, or any price of the gateway's configuration
            (docs/reference/gateway.md); or a table of ``price``, ``quality`` and ``kind``. One that is not named costs
            an unknown amount.
        models: By name, US dollars per million tokens of prompts and of completions; or another name of the model, such
            as ``{"my-deployment": "azure:gpt-4o"}``. Others are looked up in the prices given, then in the table of
            ``genai-prices``; what is in neither is refused under a cap on money.
        prices: A price file (docs/reference/budgets.md).
        most_tokens: Completion tokens of a model call that sets no limit of its own.
        least_tokens: Where a model call with all its completion tokens does not fit, it is limited to fewer, but not
            below this; 0 refuses it. Adapters that can limit a call do (docs/reference/frameworks.md).
        bytes_per_token: A prompt of so many bytes counts as one token before the call. No tokenizer that works on
            bytes makes more tokens than bytes, so 1 is safe; 3 is usual for English.
        content: The most that a part of a request takes whose bytes do not bound it, by kind: ``image``, ``audio``,
            ``video``, ``file``, ``conversation`` (that the provider keeps), ``cache`` (what a mark to write to its
            cache adds). Tokens of the prompt, as in ``{"image": 1600}``, or ``{"tokens": 1600, "usd": "$0.01"}`` where
            they do not cost what text does. Under a cap on tokens or money a part without that is refused.
        substitutes: By name, the models that may answer in the place of one, as in ``{"claude-sonnet-4-5":
            ["claude-opus-4-1"]}``. The dearest of them is set aside. Another one that answers and is dearer is booked
            at its own price, and the next call of the one that was asked is refused under a cap on money.
        journal: A file that remembers what is spent. After a crash a guard with the same journal goes on: what was in
            flight counts as its worst case. Programs that have it at the same time share the budget. Or the address of
            a ledger, such as ``postgresql://user@host/database``, which programs of many hosts share
            (docs/reference/ledger.md); the budget is then a cap on the scope, made where there is none. Or a store that
            is open already, which guards of several scopes may share and the caller closes.
        scope: In a ledger, who pays: a path such as ``org/team/agent``.
        labels: In a ledger, what the calls are for, such as ``{"customer": "42"}``.

    Attributes:
        ledger: What is spent and reserved.
        tools: What is known of tools, by name.
        most_tokens: As it was given.
        least_tokens: As it was given.

    Raises:
        ConfigError: A cap, a price or a setting is malformed; the message names it.
        LedgerError: The journal is malformed or cannot be written.

    Examples:
        >>> from tape import Guard
        >>> guard = Guard("$0.05, 3 steps", tools={"search": {"usd": "$0.02"}}, models={"small": ("0.15", "0.60")})
        >>> with guard.tool("search", {"query": "river"}) as call:
        ...     call.answered("The Aare.")
        >>> with guard.model("small", "Which river?", most_tokens=100) as call:
        ...     call.used(5, 20)
        >>> guard.left()["left"]
        {'steps': 2, 'usd': 0.029987}
    """

    def __init__(
        self,
        budget: BudgetLike,
        *,
        tools: Mapping[str, Any] | None = None,
        models: Mapping[str, tuple[str | Decimal, str | Decimal] | str] | None = None,
        prices: Path | str | None = None,
        most_tokens: int = 1024,
        least_tokens: int = 0,
        bytes_per_token: int = 1,
        content: Mapping[str, Any] | None = None,
        substitutes: Mapping[str, Sequence[str]] | None = None,
        journal: Path | str | LedgerStore | None = None,
        scope: str = _OWN,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        for name, number in (("most_tokens", most_tokens), ("bytes_per_token", bytes_per_token)):
            _require_whole(name, number)
        self.tools = {name: guarded_tool(name, given) for name, given in (tools or {}).items()}
        self._meant = {name: given for name, given in (models or {}).items() if isinstance(given, str)}
        own = {name: _token_price(name, given) for name, given in (models or {}).items() if name not in self._meant}
        filed = {} if prices is None else PriceTable.load(Path(prices)).prices
        self._own = PriceTable({**own, **{name: one for name, one in filed.items() if name not in own}}, {})
        for name, meant in self._meant.items():
            if self._own.price(meant) is None and find(meant) is None:
                raise FieldError(
                    ("models", name), f"no prices, and no known model is called {short(meant)}: {why_unknown(meant)}"
                )
        self._content = read_worst(content or {})
        self._substitutes = {name: tuple(several) for name, several in (substitutes or {}).items()}
        self._answered: dict[str, str] = {}
        self._written: dict[str, Marks] = {}
        if least_tokens:
            _require_whole("least_tokens", least_tokens)
        self.most_tokens, self.least_tokens, self._bytes_per_token = most_tokens, least_tokens, bytes_per_token
        self._program = os.getpid()
        self._journal: Journal | None = None
        self._shared: SharedScope | None = None
        if isinstance(journal, LedgerStore) or (isinstance(journal, str) and is_address(journal)):
            self._shared = SharedScope(journal, Budget.read(budget), scope, labels or {})
            self.ledger = Ledger(name=_OWN, payer=self._shared.payer)
            return
        if scope != _OWN or labels:
            raise ConfigError(f"scope= and labels= are for a ledger; journal={short(journal)} is none")
        self.ledger = Ledger(Budget.read(budget), name=_OWN)
        ledger = self.ledger
        self._journal = None if journal is None else Journal(Path(journal), lambda _: ledger)

    def within(self, budget: BudgetLike, *, name: str = "agent") -> Guard:
        """A guard for a nested agent: its calls have to fit into its own caps and into these.

        Its own caps begin anew after a crash; these do not.
        """
        inner = object.__new__(Guard)
        inner.__dict__.update(self.__dict__)
        inner.ledger = Ledger(Budget.read(budget), parent=self.ledger, name=name)
        return inner

    def close(self) -> None:
        """Close the journal; no call is paid for any more."""
        if self._journal is not None:
            self._journal.close()
        if self._shared is not None:
            self._shared.close()

    # --- calls --------------------------------------------------------------------------------

    @contextmanager
    def tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> Iterator[ToolCharge]:
        """Pay for a call of a tool that the block makes.

        Raises:
            BudgetExceededError: It does not fit; nothing is spent.
            UnknownCostError: Its cost is not declared, and that is capped.
            ChargeError: The arguments are beyond what the price was declared for.
            ConfigError: This program is a fork of the guard's.
            LedgerError: It cannot be written down.
        """
        known = self.tools.get(name)
        quote = (known.price if known else unpriced()).quote(arguments or {})
        with ToolCharge(self, name, self.pay(name, quote.worst, arguments or {}), quote).until_left() as charge:
            yield charge

    @contextmanager
    def model(
        self, name: str, request: Any, most_tokens: int | None = None, *, fit: bool = False
    ) -> Iterator[ModelCharge]:
        """Pay for a call of a model that the block makes.

        Args:
            name: The model's name.
            request: All that is sent: text, bytes, or what JSON can hold (the rest of it as its ``str``). Parts whose
                bytes do not bound them, such as images, are found by its structure. Or a
                :class:`~tape.gateway.charges.ModelRequest`.
            most_tokens: Its limit of completion tokens; the guard's where it has none.
            fit: The block limits the call to the charge's ``most_tokens``, which may be fewer where so many do not fit;
                see ``least_tokens``.

        Raises:
            BudgetExceededError: It does not fit; nothing is spent.
            UnknownCostError: The price is unknown, and money is capped; or the request holds a part whose worst case
                is not declared, and money or tokens are.
            ChargeError: The request holds itself, or is too deep.
            ConfigError: ``most_tokens`` is no whole number above 0, or this program is a fork of the guard's.
            LedgerError: It cannot be written down.
        """
        limit = asked = self.most_tokens if most_tokens is None else most_tokens
        _require_whole("most_tokens", limit)
        quote = self.quote(name, request)
        while True:
            try:
                paid = self.pay(name, quote.worst(limit), request if limit == asked else None)
                break
            except BudgetExceededError as error:
                limit = _fewer(quote.worst, error, limit) if fit and self.least_tokens else 0
                if limit < max(1, self.least_tokens):
                    raise
            except UnknownCostError as error:  # a shared ledger has the cap
                if quote.price is None:
                    raise self._unpriced(name) from error
                parts = ModelRequest.read(request).parts
                worst_of(parts, self._content, quote.price, set(quote.unknown), name)  # says which part it is
                raise
        with ModelCharge(self, name, paid, quote, limit).until_left() as charge:
            yield charge

    def quote(self, name: str, request: Any) -> ModelQuote:
        """What a call of a model takes, by the number of its completion tokens; see :meth:`model`.

        Raises:
            UnknownCostError, ChargeError: See :meth:`model`.
        """
        read = ModelRequest.read(request)
        parts, sent = read.parts, read.sent
        price = self._price(name, sent, parts)
        others = [one for name_of in self._may_answer(name) if (one := self._price(name_of, sent, parts))]
        more = worst_of(parts, self._content, price, self.ledger.capped(), name)
        prompt = OVERHEAD_TOKENS - (-(len(sent) - more.size) // self._bytes_per_token) + more.tokens
        if not parts and (counted := read.tokens(name)) is not None:
            prompt = min(prompt, counted)
        unknown = Resources(dict.fromkeys(more.unknown))
        is_paid = "cache" in self._content and bool(marks_of(parts))
        return ModelQuote(
            price,
            prompt,
            more.tokens,
            Resources({"usd": more.usd}),
            unknown,
            is_paid,
            tuple(others),
            partial(self._price_of_answer, name, sent, parts),
        )

    def _may_answer(self, name: str) -> Sequence[str]:
        """Which models may answer in the place of one.

        Raises:
            UnknownCostError: A dearer one has, which may not, and money is capped.
        """
        seen = self._answered.get(name)
        if seen is None or "usd" not in self.left()["left"]:
            return self._substitutes.get(name, ())
        raise UnknownCostError(
            f"usd is capped, and a call of {name} was answered by {seen}, which is dearer: ask for that one, or say "
            f'that it may answer, and its price is set aside, by Guard(..., substitutes={{"{name}": ["{seen}"]}})'
        )

    def _price_of_answer(self, asked: str, sent: bytes, parts: Sequence[Part], answered: str) -> TokenPrice | None:
        """What tokens cost of the model that an answer names; None where it is the one that was asked, or not known."""
        meant = self._meant.get(asked, asked)
        if (own := self._own.price(answered)) is not None:
            return replace(own, media=own.dearest)
        # The user's own price is that of a deployment, whatever model it has.
        listed = None if self._own.price(meant) is not None else find(meant)
        other = None if listed is None else listed.sibling(answered)
        return None if other is None else other.price(sent.decode("utf-8", "replace"), self._marks(asked, parts))

    def _marks(self, name: str, parts: Sequence[Part]) -> Marks:
        """For how long a provider's cache keeps a prompt: by the request's marks, and by what was reported before."""
        declared = "" if "cache" in self._content else marks_of(parts)  # what is declared goes first
        return max(declared, self._written.get(name, ""), key=("", "5m", "1h").index)

    def learn(self, name: str, *, marks: Marks = "", answered: str = "") -> None:
        """Remember that a provider wrote to its cache unasked, or that a dearer model has answered.

        Charges do; the worst cases of the next calls of this model cover it then, or are refused.
        """
        if marks:
            self._written[name] = max(self._written.get(name, ""), marks, key=("", "5m", "1h").index)
        if answered:
            self._answered[name] = answered

    def _price(self, name: str, sent: bytes, parts: Sequence[Part]) -> TokenPrice | None:
        """What tokens cost in this call.

        Raises:
            UnknownCostError: That is not known, and money is capped.
        """
        meant = self._meant.get(name, name)
        price = self._own.price(meant)
        if price is not None:  # the user's own numbers are for all tokens
            return replace(price, media=price.dearest)
        if listed := find(meant):
            price = listed.price(sent.decode("utf-8", "replace"), self._marks(name, parts))
        if price is None and "usd" in self.ledger.capped():
            raise self._unpriced(name)
        return price

    def _unpriced(self, name: str) -> UnknownCostError:
        return UnknownCostError(
            f"usd is capped, but the price of {name} is unknown: {why_unknown(self._meant.get(name, name))}. Say what "
            f'it costs, in US dollars per million tokens, or which model it is: Guard(..., models={{"{name}": ("0.15", '
            f'"0.60")}}), Guard(..., models={{"{name}": "PROVIDER:MODEL"}})'
        )

    def pay(self, name: str, worst: Resources, asked: object) -> Paid:
        """Set a worst case aside; :meth:`tool` and :meth:`model` do, and see that it is settled.

        Args:
            name: What is called.
            worst: In counts.
            asked: With what; None where a call goes on, or is tried again.

        Raises:
            BudgetExceededError, UnknownCostError, ConfigError, LedgerError: See :meth:`model`.
        """
        if os.getpid() != self._program:
            raise ConfigError(
                "this program was forked from the one that made the guard, and each would spend the whole budget; "
                "make a guard in each, with the same journal"
            )
        if self._journal is None:
            with calling(name, repr(asked), counts=asked is not None):
                return self.ledger.reserve(worst), None
        return self._journal.reserve(self.ledger, name, worst)

    def write_down(self, paid: Paid, actual: Resources, *, later: bool = False) -> None:
        """Put into the journal what was used of what :meth:`pay` has set aside."""
        reservation, id = paid
        if self._journal is not None and id is not None:
            worst = reservation.worst_case
            spent = Resources({kind: booked(actual[kind], worst[kind]) for kind in actual})
            self._journal.settle(id, spent, later=later)

    # --- what agents read -------------------------------------------------------------------

    def plan(self, **arguments: Any) -> dict[str, Any]:
        """Which tools to call, or which sub-agents to start, the best under what is left: the gateway's ``plan``.

        Args:
            arguments: ``tools``, ``goal_steps`` or ``agents``, and perhaps ``budget``; see docs/reference/gateway.md.

        Raises:
            ConfigError: They are malformed.
            LedgerError: The journal is malformed or gone.
        """
        self._catch_up()
        try:
            return plan(self.tools, self._book, arguments, lambda name: self._price(name, b"", ()))
        except PlanError as error:
            raise ConfigError(str(error)) from error

    def left(self) -> dict[str, Any]:
        """What is left, reserved and spent: the gateway's ``budget``."""
        self._catch_up()
        return left(self._book)

    def fits(self, worst: Resources) -> bool:
        """Whether a call of this worst case would be let through now.

        Raises:
            LedgerError: The journal or the ledger cannot be read.
        """
        self._catch_up()
        return self._book.fits(worst)

    def refusal(self, error: BudgetExceededError | UnknownCostError | ChargeError, tool: str | None = None) -> str:
        """What a model reads of a call that was not made.

        Args:
            error: Why it was not.
            tool: Which tool it was; what is of the same kind and fits is named then.
        """
        message = f"{tool or 'This'} was not called, nothing was spent: {error}"
        if tool in self.tools and (other := fitting(self.tools, self._book, tool, None)):
            message += ". What would fit: " + ", ".join(
                f"{name} ({json.dumps(amounts(one.worst()))})" for name, one in other.items()
            )
        return message

    def _catch_up(self) -> None:
        if self._journal is not None:
            self._journal.catch_up()

    @property
    def _book(self) -> SessionLedger:
        shown = self.ledger if self._shared is None else self._shared.view(self.ledger)
        return SessionLedger(_OWN, shown)


def _fewer(worst: Callable[[int], Resources], error: BudgetExceededError, limit: int) -> int:
    """The most tokens that fit into what the refusal says is left; 0 where none do."""
    left, kind = error.limit - error.used, error.kind
    fewer, more = 0, limit  # more does not fit
    while fewer < more - 1:
        middle = (fewer + more) // 2
        fits = (worst(middle)[kind] or 0) <= left
        fewer, more = (middle, more) if fits else (fewer, middle)
    return fewer


def _token_price(name: str, given: Any) -> TokenPrice:
    try:
        return token_price(given)
    except ConfigError as error:
        raise FieldError(("models", name), str(error)) from None


def _require_whole(name: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ConfigError(f"{name}={short(number)}: expected a whole number, at least 1")
