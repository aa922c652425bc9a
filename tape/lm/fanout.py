"""`plan_fanout`: what many sub-agents cost, before one of them starts, and the best of them that fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from tape.budget import Budget, BudgetLike, Resources, amount_of, in_units
from tape.choice.amounts import number, whole
from tape.choice.counts import Group, best_counts
from tape.errors import ConfigError, UnknownCostError
from tape.lm.listed_prices import find, why_unknown
from tape.lm.price import TokenPrice, cost_of
from tape.lm.price_table import PriceTable, token_price
from tape.reading import short, wrong

MOST_AGENTS = 50
MOST_MODELS = 8
MOST_COUNT = 100_000
MOST_TOKENS = 10**9
_SECONDS = 5.0
"""How long the proof may take; the answer then says how far it may be from the best."""

_LARGEST_VALUE = 10**15
_EXAMPLE = '{"name": "review", "count": 500, "models": ["gpt-4o", "gpt-4o-mini"], "prompt": 8000, "completion": 1000}'

Tokens: TypeAlias = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
Calls: TypeAlias = Annotated[int, Field(ge=1, le=MOST_COUNT)]
Prices: TypeAlias = Callable[[str], TokenPrice | None]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _Variant(_Record):
    model: str
    quality: Annotated[float, Field(gt=0, le=1)] = 1.0


class _Expected(_Record):
    prompt: Tokens | None = None
    completion: Tokens | None = None
    calls: Calls | None = None


class _Agent(_Record):
    """Some equal sub-agents, as :func:`plan_fanout` describes them."""

    name: Annotated[str, Field(min_length=1)]
    count: Annotated[int, Field(ge=1, le=MOST_COUNT)]
    models: Annotated[list[_Variant], Field(min_length=1, max_length=MOST_MODELS)]
    prompt: Tokens
    completion: Tokens
    calls: Calls = 1
    expected: _Expected = _Expected()
    value: Annotated[float, Field(ge=0, le=10**9)] = 1.0
    at_least: Annotated[int, Field(ge=0)] = 0
    cost: dict[str, Any] = {}

    @field_validator("models", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, list | tuple):
            return given
        return [{"model": name} if isinstance(name, str) else name for name in listed]


_AGENTS = TypeAdapter(Annotated[list[_Agent], Field(min_length=1, max_length=MOST_AGENTS)])


@dataclass(frozen=True)
class Served:
    """Sub-agents of one name with one model."""

    agent: str
    model: str
    count: int
    quality: float
    at_most: Mapping[str, Decimal | None]


@dataclass(frozen=True)
class FanOut:
    """The answer of :func:`plan_fanout`; true if everything fits as it was asked for. ``str()`` is `why`.

    Amounts are in the units of their resources, by name; None where a price is unknown, and money is not capped.

    Attributes:
        fits: Whether the worst case of all sub-agents, each with the model named first, fits into all caps.
        why: The answer in sentences.
        asked: How many sub-agents there are.
        worst: What they take at most with the models named first: the least budget with which all fit as asked.
        expected: What they are expected to take with these.
        cheapest: What they take at most with the cheapest models: the least budget with which all fit at all.
        best: The sub-agents of greatest value, times quality, whose worst case fits; None where not even those fit that
            have to be served.
        served: How many these are.
        value: What they are worth.
        cost_at_most: What they take at most.
        left_after: What that leaves of each cap.
        gap: By which share something better may be worth more; 0.0 is proved the best.

    Examples:
        >>> from tape import plan_fanout
        >>> agents = [{"name": "review", "count": 500, "models": "small", "prompt": 8000, "completion": 1000}]
        >>> found = plan_fanout(agents, "$0.40", prices={"small": ("0.15", "0.60")})
        >>> bool(found), found.served, found.worst["usd"], found.left_after["usd"]
        (False, 222, Decimal('0.9'), Decimal('0.0004'))
    """

    fits: bool
    why: str
    asked: int
    worst: Mapping[str, Decimal | None]
    expected: Mapping[str, Decimal | None]
    cheapest: Mapping[str, Decimal | None]
    best: tuple[Served, ...] | None
    served: int
    value: float
    cost_at_most: Mapping[str, Decimal | None]
    left_after: Mapping[str, Decimal]
    gap: float

    def __bool__(self) -> bool:
        return self.fits

    def __str__(self) -> str:
        return self.why


def plan_fanout(
    agents: Sequence[Mapping[str, Any]], budget: BudgetLike = None, *, prices: Mapping[str, Any] | None = None
) -> FanOut:
    """Price sub-agents before they start, and choose the best of them whose worst case fits (docs/reference/select.md).

    The best is the greatest sum of value times quality. Of models of a sub-agent that are as good as each other the
    cheapest is taken, so give ``quality`` where the dearer one is better.

    Args:
        agents: Dicts of ``name``; ``count``, how many equal ones there are; ``models``, a name or a list of names or of
            ``{"model": ..., "quality": ...}``, the one that is wanted first; ``prompt`` and ``completion``, tokens of a
            call at most; and perhaps ``calls`` of one at most (1), ``expected``, the same three as they are expected,
            ``value`` of one (1), ``at_least``, how many have to be served (0), and ``cost``, what one takes beside its
            models, such as ``{"steps": 4, "usd": "$0.01"}``.
        budget: The caps, for instance ``"usd=20, tokens=5M"``.
        prices: Of models, US dollars per million tokens of prompts and of completions, before the table of
            ``genai-prices``: ``{"my-model": ("0.15", "0.60")}``.

    Returns:
        Whether all fit, the least budgets with which they do, and the best that fits.

    Raises:
        ConfigError: Something is malformed, or money is capped and a price unknown; the message names the field.

    Examples:
        >>> from tape import plan_fanout
        >>> models = [{"model": "large", "quality": 0.9}, {"model": "small", "quality": 0.7}]
        >>> agents = [{"name": "review", "count": 10, "models": models, "prompt": 8000, "completion": 1000}]
        >>> prices = {"large": ("2.50", "10"), "small": ("0.15", "0.60")}
        >>> [(one.model, one.count) for one in plan_fanout(agents, "$0.20", prices=prices).best]
        [('large', 6), ('small', 4)]
    """
    own = PriceTable({name: token_price(given) for name, given in (prices or {}).items()}, {})
    return fan_out(agents, Budget.read(budget), lambda name: own.price(name) or listed_price(name))


def listed_price(name: str) -> TokenPrice | None:
    """What a model costs by the table; None where that is unknown."""
    result = find(name)
    return None if result is None else result.price()


def fan_out(agents: object, caps: Mapping[str, int], price: Prices) -> FanOut:
    """The answer for caps in counts and prices from anywhere; see :func:`plan_fanout`."""
    priced = [_priced(agent, f"agents: field {place}", caps, price) for place, agent in enumerate(_read(agents))]
    values = whole([worth for item in priced for worth in item.worths])
    if max(values) > _LARGEST_VALUE:
        raise ConfigError("agents: values times qualities have too many digits together; round them to a few")
    rest = iter(values)
    groups = [
        Group(
            item.agent.count,
            item.agent.at_least,
            tuple(tuple(cost[kind] or 0 for kind in caps) for cost in item.costs),
            tuple(next(rest) for _ in item.costs),
        )
        for item in priced
    ]
    counts = best_counts(groups, [*caps.values()], _SECONDS)
    best = [
        (times, item, way)
        for item, taken in zip(priced, counts.taken if counts else (), strict=counts is not None)
        for way, times in enumerate(taken)
        if times
    ]
    totals = _Totals(
        caps,
        worst=_sum((item.agent.count, item.costs[0]) for item in priced),
        cheapest=_sum((item.agent.count, item.cheapest) for item in priced),
        spent=_sum((times, item.costs[way]) for times, item, way in best),
        required=_sum((item.agent.at_least, item.cheapest) for item in priced),
    )
    served = [
        Served(item.agent.name, model.model, times, model.quality, _units(_sum([(times, item.costs[way])])))
        for times, item, way in best
        for model in [item.agent.models[way]]
    ]
    asked, gap = sum(item.agent.count for item in priced), 0.0
    if counts and counts.bound > counts.value:
        gap = counts.bound / counts.value - 1 if counts.value else 1.0
    named = {"usd", "tokens", "calls"}.union(*(item.agent.cost for item in priced))
    return FanOut(
        fits=not totals.short(totals.worst),
        why=" ".join([*totals.sentences(asked, None if counts is None else served, gap), *_unnamed(caps, named)]),
        asked=asked,
        worst=_units(totals.worst),
        expected=_units(_sum((item.agent.count, item.expected) for item in priced)),
        cheapest=_units(totals.cheapest),
        best=None if counts is None else tuple(served),
        served=sum(item.count for item in served),
        value=float(sum((times * item.worths[way] for times, item, way in best), Fraction(0))),
        cost_at_most=_units(totals.spent),
        left_after={kind: amount_of(kind, cap - (totals.spent[kind] or 0)) for kind, cap in caps.items()},
        gap=gap,
    )


def _read(agents: object) -> list[_Agent]:
    """The sub-agents as they were given."""
    given = [*agents] if isinstance(agents, tuple) else agents
    try:
        result = _AGENTS.validate_python(given)
    except ValidationError as error:
        raise ConfigError(f"agents: {wrong(error)}; one looks like {_EXAMPLE}") from None
    names = [item.name for item in result]
    for place, agent in enumerate(result):
        path = f"agents: field {place}"
        if agent.name in names[:place]:
            raise ConfigError(f"{path}.name: {short(agent.name)} is there twice; give each a name of its own")
        if agent.at_least > agent.count:
            raise ConfigError(f"{path}.at_least: there are only {agent.count}; give at most that, or a larger count")
        for field, expected in agent.expected:
            if expected is not None and expected > (most := getattr(agent, field)):
                raise ConfigError(f"{path}.expected.{field}: more than the {most} at most; raise {field}")
    return result


@dataclass(frozen=True)
class _Priced:
    """Some equal sub-agents, and by model what one takes at most and is worth."""

    agent: _Agent
    costs: list[Resources]
    expected: Resources
    worths: list[Fraction]

    @property
    def cheapest(self) -> Resources:
        return min(self.costs, key=lambda cost: (cost["usd"] is None, cost["usd"]))


def _priced(agent: _Agent, path: str, caps: Mapping[str, int], price: Prices) -> _Priced:
    try:
        beside = Resources.of(**agent.cost)
    except ConfigError as error:
        raise ConfigError(f"{path}.cost: {error}") from None
    if unknown := [kind for kind in beside if beside[kind] is None]:
        raise ConfigError(f"{path}.cost.{unknown[0]}: an unknown cost is not 0; give the most that it can be")
    prices = list[TokenPrice | None]()
    for place, model in enumerate(agent.models):
        try:
            prices.append(price(model.model))
        except UnknownCostError as error:  # a guard's, who says how to give a price
            raise ConfigError(f"{path}.models.{place}: {error}") from None
        if prices[-1] is None and "usd" in caps:
            raise ConfigError(
                f"{path}.models.{place}: usd is capped, but the price of {short(model.model)} is unknown: "
                f"{why_unknown(model.model)}; name a model that has a price, or give its own with the budget"
            )

    def taken(rates: TokenPrice | None, prompt: int, completion: int, calls: int) -> Resources:
        return _sum([(calls, cost_of(rates, prompt, completion)), (1, beside)])

    worst, likely = (agent.prompt, agent.completion, agent.calls), agent.expected
    expected = [most if item is None else item for (_, item), most in zip(likely, worst, strict=True)]
    worths = [number(agent.value, "value") * number(variant.quality, "quality") for variant in agent.models]
    return _Priced(agent, [taken(item, *worst) for item in prices], taken(prices[0], *expected), worths)


def _sum(parts: Iterable[tuple[int, Resources]]) -> Resources:
    """Amounts, each so many times."""
    total: dict[str, int | None] = {}
    for times, cost in parts:
        for kind, count in cost.items():
            have = total.get(kind, 0)
            total[kind] = None if have is None or count is None else have + times * count
    return Resources(total)


def _units(counts: Resources) -> dict[str, Decimal | None]:
    return {kind: None if count is None else amount_of(kind, count) for kind, count in counts.items()}


def _unnamed(caps: Mapping[str, int], named: Collection[str]) -> list[str]:
    return [f"No sub-agent names {kind} in its cost, so none takes any." for kind in caps if kind not in named]


@dataclass(frozen=True)
class _Totals:
    """What all sub-agents take, those that are best, and those that have to be served; and the sentences on it."""

    caps: Mapping[str, int]
    worst: Resources
    cheapest: Resources
    spent: Resources
    required: Resources

    def short(self, counts: Resources) -> list[str]:
        """The caps that are too small for these."""
        return [kind for kind, cap in self.caps.items() if (counts[kind] or 0) > cap]

    def sentences(self, asked: int, best: Sequence[Served] | None, gap: float) -> Iterator[str]:
        """The answer in words."""
        short = self.short(self.worst)
        if short:
            yield f"Refused: {asked:,} sub-agents as asked take at most {self._beside_caps(self.worst, short)}."
        else:
            yield f"All {asked:,} sub-agents fit as asked: they take at most {self._written(self.worst, self.worst)}."
        if best is None:
            required = self._beside_caps(self.required, self.short(self.required))
            yield f"Not even those fit that have to be served: with the cheapest models they take {required}."
        elif not best:
            yield "Not one of them fits."
        elif short or self.spent != self.worst:
            served = sum(item.count for item in best)
            listed = ", ".join(f"{item.count:,} {item.agent} with {item.model}" for item in best)
            takes = self._written(self.spent, self.caps or self.spent)
            yield f"The best that fits is {served:,} of {asked:,}: {listed}; that takes at most {takes}."
        if gap:
            yield f"The time for the proof was up: the best may be better by {100 * gap:.2g} %."
        if short:
            text = f"All fit as asked with {self._written(self.worst, short)}"
            cheaper = [kind for kind in short if self.cheapest[kind] != self.worst[kind]]
            yield text + (
                f", and with the cheapest models with {self._written(self.cheapest, short)}." if cheaper else "."
            )

    def _written(self, counts: Resources, kinds: Iterable[str]) -> str:
        known = [(kind, counts[kind]) for kind in kinds]
        return " and ".join(in_units(kind, count) if count is not None else f"unknown {kind}" for kind, count in known)

    def _beside_caps(self, counts: Resources, kinds: Iterable[str]) -> str:
        return " and ".join(
            f"{in_units(kind, counts[kind] or 0)} ({in_units(kind, self.caps[kind])} given)" for kind in kinds
        )
