"""Makes problems: a net of typed tools on the way to several things, a request, and a change on the way. Seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from envs.tool_chains.errors import ToolChainsError
from envs.tool_chains.oracle import quickest, reference, within
from envs.tool_chains.problem import CAPS, CHANGES, ChainProblem, Offer, Reference, Turn, named
from envs.tool_chains.words import Spec, all_specs, request_text, type_name, words

LEVELS = range(5, 11)
"""Stages of a problem."""

TOOLS = (20, 300)
"""Fewest and most tools of a problem."""

GOALS = 12
"""Types that a request may name."""

TRIES = 2000
"""Draws of one problem: many have no only cheapest chain, or a change that changes nothing."""

_LONGEST_SPAN = 4


@dataclass(frozen=True)
class ChainSettings:
    """What is asked for.

    Attributes:
        level: Stages, 5 to 10.
        tools: Tools, 20 to 300.
        change: One of :data:`envs.tool_chains.problem.CHANGES`.
        caps: One of :data:`envs.tool_chains.problem.CAPS`.
        slack: How far the caps on money and on time lie above what the oracle uses, as a share of that.

    Raises:
        ToolChainsError: One is out of range, or they do not go together.
    """

    level: int = 5
    tools: int = 40
    change: str = "none"
    caps: str = "fit"
    slack: float = 0.1

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ToolChainsError(f"level is {LEVELS[0]} to {LEVELS[-1]}, got {self.level}")
        if not TOOLS[0] <= self.tools <= TOOLS[1]:
            raise ToolChainsError(f"tools is {TOOLS[0]} to {TOOLS[1]}, got {self.tools}")
        if self.change not in CHANGES:
            raise ToolChainsError(f"change is one of {', '.join(CHANGES)}, got {self.change!r}")
        if self.caps not in CAPS:
            raise ToolChainsError(f"caps is one of {', '.join(CAPS)}, got {self.caps!r}")
        if self.caps != "fit" and self.change != "none":
            raise ToolChainsError(f"caps={self.caps!r} goes with change='none' alone: what fits is known beforehand")
        if not 0 <= self.slack <= 10:
            raise ToolChainsError(f"slack is a share from 0 to 10, got {self.slack}")


@lru_cache(maxsize=256)
def generate(seed: str, number: int, settings: ChainSettings) -> ChainProblem:
    """One problem of a set.

    Raises:
        ToolChainsError: None was found in :data:`TRIES` draws.
    """
    name = f"{seed}-{number}"
    # Every published problem hangs on this text, in which the class has the name that it had when they were made.
    drawn = repr(settings).replace("ChainSettings(", "Settings(", 1)
    for attempt in range(TRIES):
        rng = random.Random(f"tool chains: {name}: {drawn}: {attempt}")
        problem = _Draw(rng, settings).problem(name)
        if problem is not None:
            return problem
    raise ToolChainsError(
        f"no problem like {settings} was found in {TRIES} draws; ask for more tools or a higher level"
    )


class _Draw:
    """One draw of a problem."""

    def __init__(self, rng: random.Random, settings: ChainSettings) -> None:
        self._rng, self._settings, self._level = rng, settings, settings.level
        specs = all_specs()
        self._spec = rng.choice(specs)
        other = rng.choice([s for s in range(len(words()["finishes"])) if s != self._spec.finish])
        self._other = replace(self._spec, finish=other)  # what a change of mind asks for
        near = [s for s in specs if _differ(s, self._spec) == 1 and s != self._other]
        rest = [s for s in specs if _differ(s, self._spec) > 1]
        self._goals = [self._spec, self._other, *rng.sample(near, 6), *rng.sample(rest, GOALS - 8)]
        self._prices: dict[tuple[str, str], tuple[int, int]] = {}
        self._offers: dict[str, Offer] = {}

    def problem(self, name: str) -> ChainProblem | None:
        """The problem, if the draw is one."""
        settings = self._settings
        offers = self._net()
        if offers is None:
            return None
        by_name = named(offers)
        start, want = type_name(self._spec, 0, self._level), self._type(self._spec, self._level)
        plain = reference(offers, start, want, None)
        if plain is None or len(plain.tools) < 3:
            return None
        turn: Turn | None = None
        if settings.change != "none":
            turn = self._turn(offers, plain)
            result = None if turn is None else reference(offers, start, want, turn)
            if result is None:
                return None
        elif settings.caps == "tight":
            limit = self._tight(offers, start, want, plain)
            result = None if limit is None else self._within(offers, start, want, limit, plain)
            if result is None or limit is None:
                return None
            return self._made(name, offers, (start, want), None, result, (_above(result.cents, settings.slack), limit))
        else:
            result = plain
        # A change may make it cheaper than what it sets out with, which has to fit as well.
        setting_out = [by_name[name] for name in plain.tools]
        millis = max(result.millis, sum(offer.millis for offer in setting_out))
        caps = (_above(max(result.cents, plain.cents), settings.slack), _above(millis, settings.slack))
        if settings.caps == "short":
            return self._made(name, offers, (start, want), None, None, (result.cents * 9 // 10, caps[1]))
        return self._made(name, offers, (start, want), turn, result, caps)

    def _made(
        self,
        name: str,
        offers: tuple[Offer, ...],
        ends: tuple[str, str],
        turn: Turn | None,
        result: Reference | None,
        caps: tuple[int, int],
    ) -> ChainProblem:
        settings = self._settings
        goals = tuple(sorted(self._type(spec, self._level) for spec in self._goals))
        request = request_text(self._spec, self._rng)
        return ChainProblem(
            name, self._level, settings.change, settings.caps, offers, *ends, request, goals, turn, result, *caps
        )

    def _type(self, spec: Spec, stage: int, lane: bool = False) -> str:
        return type_name(spec, stage, self._level, lane)

    # --- the net of tools -------------------------------------------------------------------

    def _net(self) -> tuple[Offer, ...] | None:
        """As many tools as are asked for; None where the two lines alone are more."""
        rng, most = self._rng, self._settings.tools
        for spec in (self._spec, self._other):
            for stage in range(self._level):
                self._add(spec, stage, stage + 1, once=True)
        while len(self._offers) < most:
            spec = rng.choice([self._spec, self._spec, self._other, rng.choice(self._goals)])
            kind, stage = rng.random(), rng.randrange(self._level)
            if kind < 0.40:
                span = rng.randint(2, min(_LONGEST_SPAN, max(2, self._level - stage)))
                if stage + span <= self._level:
                    self._add(spec, stage, stage + span)
            elif kind < 0.65:
                self._add(spec, stage, stage + 1)
            elif kind < 0.80:
                self._add(spec, stage, stage + 1, once=True)
            elif 0 < stage < self._level - 1:  # through the side lane and back
                self._add(spec, stage - 1, stage, into=True)
                self._add(spec, stage, stage + 1, out=True)
        if len(self._offers) > most:
            return None
        order = list(self._offers.values())
        rng.shuffle(order)
        return tuple(order)

    def _add(self, spec: Spec, at: int, to: int, *, once: bool = False, into: bool = False, out: bool = False) -> None:
        rng = self._rng
        takes, gives = self._type(spec, at, out and 0 < at < self._level), self._type(spec, to, into)
        if once and any((offer.takes, offer.gives) == (takes, gives) for offer in self._offers.values()):
            return
        base = [self._price(self._type(spec, s), self._type(spec, s + 1)) for s in range(at, to)]
        share = rng.uniform(0.85, 1.4) if to - at > 1 else rng.uniform(0.75, 1.35)
        hurry = rng.uniform(0.5, 1.4)
        cents, millis = sum(c for c, _ in base), sum(m for _, m in base)
        name = self._name(to - at, to, into or out)
        cents, millis = max(1, round(share * cents)), 100 * max(1, round(hurry * millis / 100))
        self._offers[name] = Offer(name, takes, gives, cents, millis, to - at)

    def _price(self, takes: str, gives: str) -> tuple[int, int]:
        if (takes, gives) not in self._prices:
            self._prices[takes, gives] = (self._rng.randint(20, 95), 100 * self._rng.randint(10, 80))
        return self._prices[takes, gives]

    def _name(self, span: int, to: int, side: bool) -> str:
        lists = words()
        simple = lists["side"] if side else lists["verbs"][(to - 1) % len(lists["verbs"])]
        verb = lists["composite"] if span > 1 else simple
        first = f"{verb}_{self._rng.choice(lists['houses'])}"
        number = 2
        name = first
        while name in self._offers:
            name, number = f"{first}_{number}", number + 1
        return name

    # --- changes ----------------------------------------------------------------------------

    def _turn(self, offers: Sequence[Offer], plain: Reference) -> Turn | None:
        """The change, somewhere on the way."""
        rng, change = self._rng, self._settings.change
        after = rng.randint(1, len(plain.tools) - 2)
        coming = plain.tools[after:]
        if change == "refused":
            return Turn(after, refusing=(coming[rng.randrange(min(2, len(coming)))],))
        if change == "price":
            return Turn(after, offers=tuple(self._dearer(offer, offer.name in coming) for offer in offers))
        if change == "wish":
            return Turn(
                after, request=request_text(self._other, rng, "changes"), want=self._type(self._other, self._level)
            )
        return self._length(offers, after, coming)

    def _dearer(self, offer: Offer, coming: bool) -> Offer:
        share = self._rng.uniform(1.5, 2.8) if coming else self._rng.uniform(0.7, 1.2)
        return replace(offer, cents=max(1, round(share * offer.cents)))

    def _length(self, offers: Sequence[Offer], after: int, coming: Sequence[str]) -> Turn | None:
        """A composite goes, or a new one comes that does at a lower price what the next calls do."""
        rng, by_name = self._rng, named(offers)
        composites = [name for name in coming if by_name[name].span > 1]
        if composites and rng.random() < 0.5:
            gone = rng.choice(composites)
            return Turn(after, offers=tuple(offer for offer in offers if offer.name != gone))
        if len(coming) < 2:
            return None
        upto = rng.randint(2, len(coming))
        done = [by_name[name] for name in coming[:upto]]
        new = Offer(
            self._name(2, self._level, False),
            done[0].takes,
            done[-1].gives,
            max(1, round(rng.uniform(0.5, 0.9) * sum(offer.cents for offer in done))),
            100 * max(1, round(sum(offer.millis for offer in done) / 100)),
            sum(offer.span for offer in done),
        )
        return Turn(after, offers=(*offers, new))

    # --- caps -------------------------------------------------------------------------------

    @staticmethod
    def _tight(offers: Sequence[Offer], start: str, want: str, plain: Reference) -> int | None:
        """A time that the cheapest chain does not keep and another does."""
        least = quickest(offers, start, want)
        return None if least is None or least >= plain.millis else (least + plain.millis) // 200 * 100

    @staticmethod
    def _within(offers: Sequence[Offer], start: str, want: str, limit: int, plain: Reference) -> Reference | None:
        cheapest = within(offers, start, want, limit)
        if cheapest is None or cheapest.ways > 1 or cheapest.cents == plain.cents:
            return None
        by_name = named(offers)
        return Reference(
            cheapest.tools, cheapest.cents, sum(by_name[name].millis for name in cheapest.tools), cheapest.tools
        )


def _above(amount: int, slack: float) -> int:
    return ceil(amount * (1 + slack) - 1e-9)


def _differ(item: Spec, two: Spec) -> int:
    """In how many of its parts a spec differs from another."""
    return (item.thing != two.thing) + (item.finish != two.finish) + (item.tongue != two.tongue)
