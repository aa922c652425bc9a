"""Scripted parts for simulated episodes: they know what they really spent, and they lie, fail and wait by chance."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tape.agents.base import Agent
from tape.budget import Budget, Resources, declare
from tape.engine.episode import Episode
from tape.errors import ModelError
from tape.lm.base import Completion, Request, TokenPrice, Usage
from tape.protocols import Action, Environment, Observation, PromptFormat, State
from tape.protocols.domain import Domain

declare("coal", "piece")
KINDS = ("steps", "seconds", "coal", "usd")
ACTIONS = ("dig", "buy", "ask")
PRICE = TokenPrice(Decimal("3e-6"), Decimal("15e-6"))


@dataclass
class Faults:
    """How often something goes wrong.

    Attributes:
        tool_fails: Probability that a step raises.
        lm_fails: Probability that a call raises.
        waits: Probability that a step or call waits for the event loop.
        modest: Probability that a model reports less than it used.
        greedy: Probability that a tool or model uses more than it declared.
        cached: Probability that an answer comes from a cache.
    """

    tool_fails: float = 0.0
    lm_fails: float = 0.0
    waits: float = 0.0
    modest: float = 0.0
    greedy: float = 0.0
    cached: float = 0.0

    @classmethod
    def drawn(cls, rng: random.Random) -> Faults:
        """A mix; half of all episodes have only honest parts."""
        greedy = rng.choice([0.0, rng.random() / 4])
        return cls(
            rng.random() / 8, rng.random() / 8, rng.choice([0.0, 0.3]), rng.random() / 2, greedy, rng.random() / 2
        )


@dataclass
class Truth:
    """What was really spent, by kind.

    Attributes:
        used: By calls and steps that ended; what a model hid is part of it where it can be counted here.
        paid: The same without cached answers.
        worst: What calls and steps that failed may have spent at most.
        broken: How often more was used than declared.
    """

    used: Resources = field(default_factory=Resources)
    paid: Resources = field(default_factory=Resources)
    worst: Resources = field(default_factory=Resources)
    broken: int = 0


class Costs(Domain):
    """What the tools cost at most.

    Args:
        rng: The source of all chance.
    """

    deterministic = False

    def __init__(self, rng: random.Random) -> None:
        self.worst = {
            action: Resources({kind: rng.randint(0, 40) for kind in rng.sample(KINDS, 3)} | {"steps": 1})
            for action in ACTIONS
        }

    def key(self, state: State) -> str:
        return str(state)

    render = key

    def project(self, observation: Observation) -> State:
        return observation.text

    def admissible(self, state: State) -> Sequence[Action]:
        return ACTIONS

    def cost(self, state: State, action: Action) -> Resources:
        return self.worst[action]


class Tools(Environment):
    """An environment of tools with random costs.

    Args:
        rng: The source of all chance.
        faults: What goes wrong.
        truth: Adds up what is spent.
    """

    def __init__(self, rng: random.Random, faults: Faults, truth: Truth) -> None:
        self.domain: Costs = Costs(rng)
        self._rng, self._faults, self._truth = rng, faults, truth
        self._steps, self._goal = 0, rng.randint(2, 12)

    def reset(self, seed: int) -> Observation:
        return Observation("0")

    def success(self) -> bool:
        return self._steps >= self._goal

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        rng, worst = self._rng, self.domain.worst[action]
        if rng.random() < self._faults.waits:
            await asyncio.sleep(0)
        if rng.random() < self._faults.tool_fails:
            self._truth.worst = self._truth.worst + worst
            raise RuntimeError("the tool is down")
        self._steps += 1
        cost = {kind: rng.choice([0, count, rng.randint(0, count or 0)]) for kind, count in worst.items()}
        if rng.random() < self._faults.greedy:
            kind = rng.choice(list(worst))
            cost[kind] = (worst[kind] or 0) + rng.randint(1, 50)
            self._truth.broken += 1
        used = Resources(cost)
        self._truth.used, self._truth.paid = self._truth.used + used, self._truth.paid + used
        return Observation(str(self._steps)), used

    def step(self, action: Action) -> tuple[Observation, Resources]:
        raise AssertionError("astep takes its place")

    def prompt_format(self, name: str) -> Any:
        return PromptFormat()


class Model:
    """A metered model with random usage; its arguments are those of the tools."""

    name = identity = "sweep"
    prompt_format = "chat"
    price = PRICE

    def __init__(self, rng: random.Random, faults: Faults, truth: Truth) -> None:
        self._rng, self._faults, self._truth = rng, faults, truth

    def prompt_tokens(self, request: Request) -> int:
        return len(request.prompt)

    def scoring_tokens(self, request: Request) -> int:
        return 1

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        rng, faults = self._rng, self._faults
        if rng.random() < faults.waits:
            await asyncio.sleep(0)
        if rng.random() < faults.lm_fails:
            self._truth.worst = self._truth.worst + sum(
                (_cost(len(request.prompt), request.n * request.max_tokens) for request in requests), Resources()
            )
            raise ModelError("the model is down")
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Completion:
        rng, faults, most = self._rng, self._faults, request.n * request.max_tokens
        prompt, completion = len(request.prompt), rng.choice([0, most, rng.randint(0, most)])
        if rng.random() < faults.greedy:
            completion = most + rng.randint(1, 60)
            self._truth.broken += 1
        cached = rng.random() < faults.cached
        cost = _cost(prompt, completion)
        self._truth.used = self._truth.used + cost
        self._truth.paid = self._truth.paid + (Resources() if cached else cost)
        # What it hides of the prompt is counted here; it may also report nonsense.
        reported = rng.choice([0, prompt // 2, -5]) if rng.random() < faults.modest else prompt
        return Completion(
            ("x",) * request.n, ("stop",) * request.n, (0.0,) * request.n, Usage(reported, completion, cached=cached)
        )

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        raise AssertionError("not asked")


def _cost(prompt: int, completion: int) -> Resources:
    micro = (PRICE.prompt * prompt + PRICE.completion * completion) * 1_000_000
    return Resources({"calls": 1, "tokens": prompt + completion, "usd": int(micro.to_integral_value("ROUND_CEILING"))})


class Simulated(Agent):
    """Calls and acts at random until something ends it."""

    name = "simulated"

    async def _play(self, episode: Episode) -> None:
        rng = random.Random(episode.seed)
        while True:
            episode.require_affordable_action()
            count = rng.choice([0, 1, 1, 3])
            await episode.roles.lm.generate(
                [Request("p" * rng.randint(1, 60), rng.randint(1, 40), n=rng.randint(1, 2)) for _ in range(count)]
            )
            await episode.step(rng.choice(ACTIONS))


def drawn_budget(rng: random.Random) -> Budget:
    """Caps on some kinds, from nothing to plenty."""
    most = {"steps": 12, "seconds": 200, "coal": 200, "usd": 6000, "tokens": 900, "calls": 12}
    chosen = rng.sample(sorted(most), rng.randint(1, 6))
    return Budget({kind: rng.randint(0, most[kind]) for kind in chosen})
