"""What `select` answers: a plan or none, what it takes, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvers.proof_file import Proof


@dataclass(frozen=True)
class More:
    """What a little more of one budget buys, with the others as they are; ``str()`` is a sentence.

    Attributes:
        cap: The least larger cap with which the best plan is a better one, in the resource's unit. With less than that
            no plan is worth more than now.
        by: How much more that is.
        plan: The best plan with that cap.
        value: Its value.
        text: The sentence.

    Examples:
        >>> from tape import select
        >>> cost = {"search": {"usd": "$0.01"}, "ask": {"usd": "$0.08"}}
        >>> more = select([["search"], ["ask"]], cost=cost, value=[0.7, 0.9], budget="usd=0.05").why.more["usd"]
        >>> print(more.plan, more.cap, more.by)
        ['ask'] 0.08 0.03
    """

    cap: Decimal
    by: Decimal
    plan: list[Any]
    value: float
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Why:
    """Why this plan, or why none; ``str()`` is the explanation in sentences.

    Attributes:
        text: The sentences.
        short: The budgets in the way: of every plan where none fits, else of the plan that would be best without them.
        least: Where no plan fits, for each budget the least amount that would do with the others as they are; None
            where no amount of it alone would.
        together: Where no plan fits and several budgets can be raised, one way to raise them together; none of these
            amounts can be less while the others stay.
        look: Finds `more`.
        known: A plan that `text` names already.

    Examples:
        >>> from tape import select
        >>> why = select([["search"], ["ask"]], cost={"search": "$0.01", "ask": "$0.08"}, budget="usd=0.005").why
        >>> print(why.short, why.least["usd"])
        ('usd',) 0.01
    """

    text: str
    short: tuple[str, ...] = ()
    least: Mapping[str, Decimal | None] = field(default_factory=dict)
    together: Mapping[str, Decimal] = field(default_factory=dict)
    look: Callable[[], Mapping[str, More]] | None = field(default=None, repr=False, compare=False)
    known: list[Any] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def more(self) -> Mapping[str, More]:
        """For each budget that alone would buy a better plan, the next cap that does: one more cent.

        It is looked for when it is first asked for: up to some twenty solves a budget.
        """
        return {} if self.look is None else self.look()

    def __str__(self) -> str:
        # Where nothing fits, the text says already which caps would do.
        added = [] if self.least else [str(item) for item in self.more.values() if item.plan != self.known]
        return "\n".join([self.text, *added])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "more": self.more, "look": None}


@dataclass(frozen=True)
class Scheduled:
    """A step of a plan that is no path.

    Attributes:
        step: The step.
        variant: The name of the chosen variant.
        start: When it starts, in seconds from the beginning.
        end: When it has ended.
        critical: It lies on the longest chain: were it later, the plan would end later.

    Examples:
        >>> from tape import schedule
        >>> steps = {"clean": [{"name": "quick", "usd": 1, "seconds": 5}], "join": [{"name": "hash", "seconds": 20}]}
        >>> choice = schedule(steps, after={"join": ["clean"]}, budget={"usd": 2})
        >>> [(one.step, one.variant, int(one.start), int(one.end)) for one in choice.schedule]
        [('clean', 'quick', 0, 5), ('join', 'hash', 5, 25)]
    """

    step: Any
    variant: Any
    start: Decimal
    end: Decimal
    critical: bool = False


@dataclass(frozen=True)
class Choice:
    """The answer of `select`; true if a plan was found.

    Attributes:
        plan: The steps to take; None if no plan fits.
        spent: What the plan takes of each resource, in its unit; empty without a plan.
        left: What it leaves of each budget.
        value: Its value; None without a plan.
        alternatives: The next best plans that fit, best first, each as a choice.
        why: What stood in the way.
        schedule: Of steps that wait for each other: when each is done, in the order of `plan`; else empty.
        gap: How far the plan may be from the best, as a share; 0.0 is proved the best. Above 0 only where calls at once
            are limited and the time for the proof was up. None without a plan.
        frontier: The plans of which no other is as good in every criterion of ``frontier=`` and better in one, the best
            in the first criterion first; empty where it was not asked for. Budgets of the criteria are no limit there:
            a plan that exceeds one has a negative amount `left`.
        proof: With ``proof=True``: that no plan within the budgets is worth more, or that none fits, in numbers of the
            finest digit of each amount; its checker has passed it. None where it would be too long: `why` says so.
        frontier_proof: With ``proof=True`` and an epsilon of 0: that no plan is missing in the frontier, which its
            checker has passed. None where there is none.
        reached: With floors the level of the plan by name: the product of its steps', or the least.

    Examples:
        >>> from tape import select
        >>> cost = {"search": {"usd": "$0.01"}, "ask": {"usd": "$0.08"}}
        >>> choice = select([["search"], ["ask"]], cost=cost, value=[0.7, 0.9], budget="usd=0.10")
        >>> print(choice.plan, choice.value, choice.spent["usd"], [other.plan for other in choice.alternatives])
        ['ask'] 0.9 0.08 [['search']]
    """

    plan: list[Any] | None
    spent: Mapping[str, Decimal]
    left: Mapping[str, Decimal]
    value: float | None
    alternatives: tuple[Choice, ...] = ()
    why: Why = Why("")
    schedule: tuple[Scheduled, ...] = ()
    gap: float | None = None
    frontier: tuple[Choice, ...] = ()
    proof: Proof | None = field(default=None, repr=False)
    frontier_proof: Proof | None = field(default=None, repr=False)
    reached: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.plan is not None
