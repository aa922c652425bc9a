"""The gateway's budget within a program: every call of a model and of a tool is paid for before it starts.

An agent that some framework runs gets it through the framework's adapter in ``tape.adapters``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tape.budget import Budget, BudgetLike, Ledger, LedgerStore, Reservation, Resources
from tape.budget.payer import calling
from tape.budget.prices import unpriced
from tape.errors import BudgetExceededError, ChargeError, ConfigError, FieldError, UnknownCostError
from tape.guard.charges import ModelCharge, ModelPrices, ModelQuote, ModelRequest, ToolCharge
from tape.guard.content import ContentPart, read_worst, worst_of
from tape.guard.guarded_tools import guarded_tool
from tape.guard.left import ScopeReading, amounts, left
from tape.guard.model_prices import PriceBook
from tape.guard.prompt_tokens import counter_of
from tape.lm.price import TokenPrice
from tape.reading import short

if TYPE_CHECKING:
    from tape.guard.shared_scope import SharedScope

OVERHEAD_TOKENS = 64
"""Tokens that a model's template may add to a prompt, such as a default system message."""

REFUSALS = (BudgetExceededError, UnknownCostError, ChargeError)
"""What a guard raises in the place of a call; nothing is spent then."""

_OWN = "guard"
_BY_BYTES = 'the prompt is bounded by its bytes: tokenizers={{"{0}": ...}} or bytes_per_token=3 makes that less'


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
        tokenizers: By name of a model, what counts the tokens of a prompt before the call, in the place of its bytes:
            the address of a server of llama.cpp or vLLM, or an encoding of tiktoken, such as ``o200k_base``. Those of
            OpenAI's models are known, where tiktoken and its files are here; nothing is fetched.
        content: The most that a part of a request takes whose bytes do not bound it, by kind: ``image``, ``audio``,
            ``video``, ``file``, ``conversation`` (that the provider keeps), ``cache`` (what a mark to write to its
            cache adds). Tokens of the prompt, as in ``{"image": 1600}``, or ``{"tokens": 1600, "usd": "$0.01"}`` where
            they do not cost what text does. Under a cap on tokens or money a part without that is refused.
        substitutes: By name, the models that may answer in the place of one, as in ``{"claude-sonnet-4-5":
            ["claude-opus-4-1"]}``. The dearest of them is set aside. Another one that answers and is dearer is booked
            at its own price, and the next call of the one that was asked is refused under a cap on money.
        journal: A file that remembers what is spent: a ledger in a file (docs/reference/ledger.md). After a crash a
            guard with the same journal goes on: what was in flight counts as its worst case. Or the address of a
            ledger, such as ``postgresql://user@host/database``, which programs of many hosts share; or a store that is
            open already, which guards of several scopes may share and the caller closes. Programs that have it at the
            same time share the budget, which is a cap on the scope, made where there is none.
        scope: In a ledger, who pays: a path such as ``org/team/agent``.
        labels: In a ledger, what the calls are for, such as ``{"customer": "42"}``.

    Attributes:
        ledger: What is spent and reserved.
        prices: What tokens of models cost.
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
        models: Mapping[str, tuple[str | Decimal, str | Decimal] | str | TokenPrice] | None = None,
        prices: Path | str | None = None,
        most_tokens: int = 1024,
        least_tokens: int = 0,
        bytes_per_token: int = 1,
        tokenizers: Mapping[str, str] | None = None,
        content: Mapping[str, Any] | None = None,
        substitutes: Mapping[str, Sequence[str]] | None = None,
        journal: Path | str | LedgerStore | None = None,
        scope: str = _OWN,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        for name, number in (("most_tokens", most_tokens), ("bytes_per_token", bytes_per_token)):
            _require_whole(name, number)
        self.tools = {name: guarded_tool(name, given) for name, given in (tools or {}).items()}
        self._content = read_worst(content or {})
        self.prices = PriceBook(models or {}, prices, substitutes or {}, marks_declared="cache" in self._content)
        self.learn = self.prices.learn
        if least_tokens:
            _require_whole("least_tokens", least_tokens)
        self.most_tokens, self.least_tokens, self._bytes_per_token = most_tokens, least_tokens, bytes_per_token
        self._tokenizers, self._program = tokenizers or {}, os.getpid()
        for name, given in self._tokenizers.items():
            if counter_of(name, given) is None:
                raise FieldError(("tokenizers", name), f"{short(given)} is no address and no encoding of tiktoken here")
        self._shared: SharedScope | None = None
        if journal is not None:
            from tape.guard.shared_scope import SharedScope

            self._shared = SharedScope(journal, Budget.read(budget), scope, labels or {})
            self.ledger = Ledger(name=_OWN, payer=self._shared.payer)
        elif scope != _OWN or labels:
            raise ConfigError("scope= and labels= are for a ledger; journal= names none")
        else:
            self.ledger = Ledger(Budget.read(budget), name=_OWN)

    def within(self, budget: BudgetLike, *, name: str = "agent") -> Guard:
        """A guard for a nested agent: its calls have to fit into its own caps and into these.

        Its own caps begin anew after a crash; these do not.
        """
        inner = object.__new__(Guard)
        inner.__dict__.update(self.__dict__)
        inner.ledger = Ledger(Budget.read(budget), parent=self.ledger, name=name)
        return inner

    def close(self) -> None:
        """Book what is due, and close the journal: no call is paid for any more. A store of the caller's stays open.

        Raises:
            LedgerError: What calls took cannot be written; their worst cases stay held.
        """
        try:
            self.ledger.book_due()
        finally:
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
                :class:`~tape.guard.charges.ModelRequest`.
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
                    if quote.by_bytes and error.kind in ("tokens", "usd"):
                        error.args = (f"{error}; {_BY_BYTES.format(name)}",)
                    raise
            except UnknownCostError as error:  # a shared ledger has the cap
                if quote.prices.asked is None:
                    raise self.prices.unpriced(name) from error
                parts = ModelRequest.read(request).parts
                worst_of(parts, self._content, quote.prices.asked, set(quote.unknown), name)  # says which part it is
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
        prices = self._priced(name, sent, parts)
        if (refusal := self.prices.refusal(name)) is not None and "usd" in self.left()["left"]:
            raise refusal
        more = worst_of(parts, self._content, prices.asked, self.ledger.capped(), name)
        prompt = OVERHEAD_TOKENS - (-(len(sent) - more.size) // self._bytes_per_token) + more.tokens
        counter = None if parts else counter_of(self.prices.meant(name), self._tokenizers.get(name))
        counted, unknown = read.tokens(counter), Resources(dict.fromkeys(more.unknown))
        prompt = prompt if counted is None else min(prompt, counted)
        return ModelQuote(prices, prompt, more.tokens, Resources({"usd": more.usd}), unknown, counted is None)

    def _priced(self, name: str, sent: bytes = b"", parts: Sequence[ContentPart] = ()) -> ModelPrices:
        prices = self.prices.prices(name, sent, parts)
        if prices.asked is None and "usd" in self.ledger.capped():
            raise self.prices.unpriced(name)
        return prices

    def pay(self, name: str, worst: Resources, asked: object) -> Reservation:
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
        with calling(name, repr(asked), counts=asked is not None):
            return self.ledger.reserve(worst)

    # --- what agents read -------------------------------------------------------------------

    def plan(self, **arguments: Any) -> dict[str, Any]:
        """Which tools to call, or which sub-agents to start, the best under what is left: the gateway's ``plan``.

        Args:
            arguments: ``tools``, ``goal_steps`` or ``agents``, and perhaps ``budget``; see docs/reference/gateway.md.

        Raises:
            ConfigError: They are malformed.
            LedgerError: The journal cannot be read.
        """
        from tape.guard.planning import PlanError, plan

        try:
            return plan(self.tools, self._book, arguments, lambda name: self._priced(name).asked)
        except PlanError as error:
            raise ConfigError(str(error)) from error

    def left(self) -> dict[str, Any]:
        """What is left, reserved and spent: the gateway's ``budget``."""
        return left(self._book)

    def fits(self, worst: Resources) -> bool:
        """Whether a call of this worst case would be let through now.

        Raises:
            LedgerError: The journal or the ledger cannot be read.
        """
        return self._book.fits(worst)

    def refusal(self, error: BudgetExceededError | UnknownCostError | ChargeError, tool: str | None = None) -> str:
        """What a model reads of a call that was not made.

        Args:
            error: Why it was not.
            tool: Which tool it was; what is of the same kind and fits is named then.
        """
        from tape.guard.planning import fitting

        message = f"{tool or 'This'} was not called, nothing was spent: {error}"
        if tool in self.tools and (other := fitting(self.tools, self._book, tool, None)):
            message += ". What would fit: " + ", ".join(
                f"{name} ({json.dumps(amounts(planned_tool.worst()))})" for name, planned_tool in other.items()
            )
        return message

    @property
    def _book(self) -> ScopeReading:
        limits, spent = self.ledger.limits(), self.ledger.used
        if self._shared is not None:
            from tape.guard.shared_scope import limits_of

            shared = limits_of(self._shared.payer)
            if self.ledger.parent is None:  # the scope stands for it, also with what earlier programs have spent
                spent = Resources({limit.kind: limit.spent for limit in shared})
            limits += shared
        return ScopeReading(_OWN, limits, spent, self.ledger.reserved)


def _fewer(worst: Callable[[int], Resources], error: BudgetExceededError, limit: int) -> int:
    """The most tokens that fit into what the refusal says is left; 0 where none do."""
    left, kind = error.limit - error.used, error.kind
    fewer, more = 0, limit  # more does not fit
    while fewer < more - 1:
        middle = (fewer + more) // 2
        fits = (worst(middle)[kind] or 0) <= left
        fewer, more = (middle, more) if fits else (fewer, middle)
    return fewer


def _require_whole(name: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ConfigError(f"{name}={short(number)}: expected a whole number, at least 1")
