"""A small partially observable world: a gem lies in one of some boxes, lids are closed, and some are locked."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger, Resources
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.settings import TapeConfig
from tape.errors import InvalidOutputError
from tape.lm.accounting import AccountedLM
from tape.lm.base import Forced, LanguageModel, OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, Environment, Observation, Plan, State
from tape.protocols.predicates import Assignment, Effects, InferenceRule, Predicate, QueryMacro
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.result import EpisodeResult
from tape.trace import Event, TraceWriter
from tests.tape.methods.aec.declared import Declared


@dataclass(frozen=True, order=True)
class Seen:
    """What was seen so far of each box: whether it is open, locked and holds the gem (None: unknown)."""

    opened: tuple[bool, ...]
    locked: tuple[bool | None, ...]
    gem: tuple[bool | None, ...]
    holding: bool = False


def put(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def open_(box: int) -> Predicate:
    return Predicate("open", (str(box),))


def locked(box: int) -> Predicate:
    return Predicate("locked", (str(box),))


def gem_in(box: int) -> Predicate:
    return Predicate("gem_in", (str(box),))


HOLDING = Predicate("holding_gem")


@dataclass(frozen=True)
class OnePlace:
    """The gem is in one place: elsewhere it is not."""

    boxes: int
    name: str = "one place"

    def __call__(self, known: Assignment) -> Assignment:
        places = [gem_in(i) for i in range(self.boxes)] + [HOLDING]
        if any(known.get(place) for place in places):
            return {place: bool(known.get(place)) for place in places}
        closed = [place for place in places if known.get(place) is None]
        return {closed[0]: True} if len(closed) == 1 else {}


@dataclass(frozen=True)
class OpenIsUnlocked:
    """What is open is not locked."""

    boxes: int
    name: str = "open is unlocked"

    def __call__(self, known: Assignment) -> Assignment:
        return {locked(i): False for i in range(self.boxes) if known.get(open_(i))}


@dataclass
class BoxDomain(Declared):
    """Declares the predicates; knows nothing that was not seen."""

    boxes: int
    extra_rules: tuple[InferenceRule, ...] = ()

    def key(self, state: Any) -> str:
        marks = {True: "1", False: "0", None: "?"}
        boxes = zip(state.opened, state.locked, state.gem, strict=True)
        marked = " ".join(f"{'o' if o else 'c'}{marks[k]}{marks[g]}" for o, k, g in boxes)
        return marked + (" held" if state.holding else "")

    def cost(self, state: State, action: Action) -> Resources:
        return Resources({"steps": 2 if action.startswith("unlock") else 1})

    def ground(self, state: Any) -> Assignment:
        known: dict[Predicate, bool] = {HOLDING: state.holding}
        for i in range(self.boxes):
            known[open_(i)] = state.opened[i]
            if state.locked[i] is not None:
                known[locked(i)] = state.locked[i]
            if state.gem[i] is not None:
                known[gem_in(i)] = state.gem[i]
        return known

    def preconditions(self, action: Action) -> Assignment:
        verb, box = parse(action)
        if verb == "open":
            return {open_(box): False, locked(box): False}
        if verb == "take":
            return {open_(box): True, gem_in(box): True, HOLDING: False}
        return {open_(box): False}

    def effects(self, action: Action, known: Assignment) -> Effects:
        verb, box = parse(action)
        if verb == "open":
            return {open_(box): True}
        if verb == "take":
            return {HOLDING: True, gem_in(box): False}
        return {locked(box): False} if verb == "unlock" else {}

    def goals(self) -> Sequence[Assignment]:
        return [{HOLDING: True}]

    def rules(self) -> Sequence[InferenceRule]:
        return [OnePlace(self.boxes), OpenIsUnlocked(self.boxes), *self.extra_rules]

    def query(self, state: Any, predicate: Predicate) -> QueryMacro | None:
        if predicate.name == "locked":
            return QueryMacro(predicate, (f"rattle {predicate.args[0]}",))
        if predicate.name != "gem_in" or state.opened[int(predicate.args[0])]:
            return None
        box = int(predicate.args[0])
        unlock = (f"unlock {box}",) if state.locked[box] else ()
        return QueryMacro(predicate, (*unlock, f"open {box}"))

    def establishing(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        return [f"unlock {predicate.args[0]}"] if predicate.name == "locked" and not value else None


def parse(action: Action) -> tuple[str, int]:
    verb, box = action.split()
    return verb, int(box)


def outcome(seen: Seen, action: Action, gem: int, locks: Sequence[bool]) -> Seen:
    """The rules of the world."""
    verb, box = parse(action)
    if verb == "rattle":
        return replace(seen, locked=put(seen.locked, box, not seen.opened[box] and bool(locks[box])))
    if verb == "unlock" and not seen.opened[box]:
        return replace(seen, locked=put(seen.locked, box, False))
    if verb == "open" and not seen.opened[box]:
        if locks[box]:
            return replace(seen, locked=put(seen.locked, box, True))
        seen = replace(seen, opened=put(seen.opened, box, True), locked=put(seen.locked, box, False))
        return replace(seen, gem=put(seen.gem, box, gem == box and not seen.holding))
    if verb == "take" and seen.opened[box] and gem == box and not seen.holding:
        return replace(seen, gem=put(seen.gem, box, False), holding=True)
    return seen


@dataclass
class BoxWorld(Environment):
    """The environment: where the gem really is, and which lids are really locked."""

    gem: int
    locks: tuple[bool, ...]
    domain: Any = None
    tricks: tuple[Action, ...] = ()
    """Actions that do nothing, whatever is declared of them."""
    shown: bool = False
    """Whether it is seen from the start which lids are locked."""

    def __post_init__(self) -> None:
        self.domain = self.domain or BoxDomain(len(self.locks))

    def reset(self, seed: int) -> Observation:
        boxes = len(self.locks)
        self._locks = list(self.locks)
        self._seen = Seen((False,) * boxes, self.locks if self.shown else (None,) * boxes, (None,) * boxes)
        return self._shown()

    def step(self, action: Action) -> tuple[Observation, Resources]:
        cost = self.domain.cost(self._seen, action)
        if action not in self.tricks:
            self._seen = outcome(self._seen, action, self.gem, self._locks)
            verb, box = parse(action)
            if verb == "unlock":
                self._locks[box] = False
        return self._shown(), cost

    def prompt_format(self, name: str) -> BoxFormat:
        return BoxFormat(self.domain)

    def _shown(self) -> Observation:
        return Observation(self.domain.key(self._seen), self._seen)

    def success(self) -> bool:
        return self._seen.holding


def encoded(state: Any) -> str:
    return json.dumps([state.opened, state.locked, state.gem, state.holding])


def parsed(text: str) -> Seen:
    opened, lock, gem, holding = json.loads(text)
    return Seen(tuple(opened), tuple(lock), tuple(gem), holding)


class BoxFormat(PromptFormat):
    """Prompts are JSON: fit for a fake."""

    def __init__(self, domain: BoxDomain) -> None:
        self._domain = domain

    def _request(self, role: str, state: State, *more: str, constraint: Any = None) -> Request:
        return Request("|".join([role, encoded(state), *more]), 60, constraint, role=role)

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        return self._request("plan", state)

    def read_plan(self, state: State, text: str) -> Plan:
        return Plan(tuple(part.strip() for part in text.split(";") if part.strip()))

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        return self._request("next", state, action)

    def read_next(self, state: State, text: str) -> State | None:
        return None if text == "invalid" else parsed(text)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        return self._request("score", state, constraint=OneOf(("won", "open"))), {"won": 1.0, "open": 0.0}

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        return self._request("act", state, *plan[:1], constraint=None if action is None else Forced(action))

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        return "", text

    def predict_request(self, state: State, predicates: Sequence[Predicate]) -> Any:
        places = [p for p in predicates if p.name == "gem_in"]
        asked = [(self._request("predict", state, "where"), places)] if places else []
        return [*asked, *((self._request("predict", state, str(p)), [p]) for p in predicates if p.name != "gem_in")]

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        if text in ("yes", "no"):
            return {predicates[0]: text == "yes"}
        if not text.strip().isdigit():
            raise InvalidOutputError(f"{text!r} is no answer")
        return {p: p.args == (text,) for p in predicates}


class BoxModel(ScriptedLM):
    """A fake LM: guesses where the gem is, plans for that, and predicts that any box holds it.

    Args:
        gem: Where it thinks the gem is.
        locks: Which lids it thinks are locked.
        skill: How often it answers what it thinks; else anything.
        careful: How often its plans unlock first.
        plans: Plans it proposes in turn, instead.
    """

    def __init__(
        self,
        gem: int,
        locks: Sequence[bool],
        skill: float = 1.0,
        careful: float = 0.5,
        plans: Sequence[str] | None = None,
    ) -> None:
        self.gem, self.locks, self.skill, self.careful, self.plans = gem, tuple(locks), skill, careful, plans
        self._proposed = 0
        super().__init__(self._answer)

    def _answer(self, request: Request, sample: int) -> str:
        assert isinstance(request.prompt, str)
        role, text, *more = request.prompt.split("|")
        seen, rng = parsed(text), random.Random(f"{request.seed}/{sample}/{request.prompt}")
        if role == "plan":
            return self._plan(seen, rng)
        if role == "next":
            return self._after(seen, more[0])
        if role == "score":
            return "won" if seen.holding else "open"
        if role == "predict":
            return self._predict(seen, more[0], rng)
        assert isinstance(request.constraint, Forced), role
        return request.constraint.text

    def _where(self, seen: Seen, rng: random.Random) -> int:
        possible = [i for i, here in enumerate(seen.gem) if here is None] or [0]
        if True in seen.gem:
            return seen.gem.index(True)
        return self.gem if rng.random() < self.skill and self.gem in possible else rng.choice(possible)

    def _plan(self, seen: Seen, rng: random.Random) -> str:
        if self.plans is not None:
            self._proposed += 1
            return self.plans[(self._proposed - 1) % len(self.plans)]
        box = self._where(seen, rng)
        steps = [] if seen.opened[box] else [f"open {box}"]
        if steps and (seen.locked[box] or (seen.locked[box] is None and rng.random() < self.careful)):
            steps.insert(0, f"unlock {box}")
        return "; ".join([*steps, f"take {box}"])

    def _after(self, seen: Seen, action: Action) -> str:
        """As if the gem were in the box and no lid were locked that is not known to be."""
        _, box = parse(action)
        gem = -1 if seen.gem[box] is False else box
        after = outcome(seen, action, gem, [bool(value) for value in seen.locked])
        return "invalid" if after == seen else encoded(after)

    def _predict(self, seen: Seen, what: str, rng: random.Random) -> str:
        if what == "where":
            return str(self._where(seen, rng))
        truth = self.locks[int(what.removesuffix(")").split("(")[1])]
        return "yes" if (truth if rng.random() < self.skill else rng.random() < 0.5) else "no"


def play(
    world: BoxWorld,
    model: ScriptedLM,
    *,
    steps: int = 30,
    budget: Budget | None = None,
    seed: int = 0,
    execution: str = "forced",
    aec: Mapping[str, Any] | bool = True,
    **settings: Any,
) -> tuple[EpisodeResult, list[Event]]:
    """Play one episode under verification: ``aec`` has its settings; False: without."""
    writer = TraceWriter("toy")
    agent = TapeAgent(model, execution=execution, aec=aec, **settings)
    return agent.run(world, budget=budget or Budget({"steps": steps}), seed=seed, trace=writer), writer.events


OPEN = (False, False, False)
"""No box is locked."""


def of_type(events: Sequence[Event], kind: type[Any]) -> list[Any]:
    """The events of a type."""
    return [event for event in events if isinstance(event, kind)]


def begun(world: BoxWorld, model: LanguageModel, *, steps: int = 30) -> Episode:
    """Reset the world and observe."""
    ledger, trace = Ledger(Budget({"steps": steps})), TraceWriter("toy")
    lm = AccountedLM(model, ledger, trace)
    roles = RoleContext(lm, world.prompt_format(lm.prompt_format), world.domain, trace)
    config = TapeConfig.make(execution="forced", aec=True)
    episode = Episode(world, config, ledger, trace, roles, 0, None)
    asyncio.run(episode.reset(0))
    return episode
