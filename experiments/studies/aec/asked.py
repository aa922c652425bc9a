"""What a household LM predicts of a game when it is asked directly, beside what is so."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from envs.alfworld import prompts
from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game.games import Game
from envs.alfworld.game.kinds import OPENABLE, kind_of
from envs.alfworld.predicates import inside, shut
from envs.alfworld.state import NEW, SEARCHED, Knowledge
from tape.aec.facts import Evidence, GroundedStore
from tape.aec.predictor import PREDICTORS
from tape.budget import Budget, Ledger
from tape.engine.context import RoleContext
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel
from tape.protocols.predicates import Predicate
from tape.seeds import derive
from tape.trace import TraceWriter

LIDS = 3
"""Receptacles of every moment that are asked about by themselves: a request each."""

SEEN = (0.0, 0.25, 0.5)
"""Shares of the receptacles that have been looked into when it is asked."""


@dataclass(frozen=True)
class Asked:
    """A prediction and the truth.

    Attributes:
        predicate: Of what.
        truth: What is so.
        estimates: What each predictor says, by the setting ``sigma``: mu and sigma.
    """

    predicate: Predicate
    truth: bool
    estimates: Mapping[str, tuple[float, float]]


async def ask(model: LanguageModel, game: Game, samples: int, seed: int) -> list[Asked]:
    """Ask where the goal's kinds are, and whether some receptacles are closed, at a few moments of a game.

    Between the moments the agent looks into receptacles in a random order. What is known or follows by rule is not
    asked. The truth is the game's own; no agent sees it.

    Args:
        model: The model.
        game: The game.
        samples: Of every question; or its wordings.
        seed: Root of all randomness.
    """
    environment = AlfworldEnvironment(game)
    trace = TraceWriter(game.name)
    lm = AccountedLM(model, Ledger(Budget({})), trace)
    domain = environment.domain
    context = RoleContext(lm, prompts.prompt_format(domain, lm.prompt_format), domain, trace)
    predictors = {name: made(context, samples, derive(seed, "asked", game.name)) for name, made in PREDICTORS.items()}
    rng = random.Random(f"asked:{seed}:{game.name}")
    store, state = GroundedStore(domain, domain.key), environment.reset(seed).data
    order = list(domain.layout.receptacles)
    rng.shuffle(order)
    found: list[Asked] = []
    looked = 0
    try:
        for part in SEEN:
            while looked < round(part * len(order)):
                state = _look(environment, state, order[looked])
                looked += 1
            store.observe(state, Evidence("observation", looked, "looking around"))
            unknown = _unknown(state, rng)
            predicted = {name: await one.predict(unknown, store.snapshot()) for name, one in predictors.items()}
            found += [
                Asked(p, _truth(game, p), {name: (mine[i].mu, mine[i].sigma) for name, mine in predicted.items()})
                for i, p in enumerate(unknown)
            ]
    finally:
        environment.close()
    return found


def _look(environment: AlfworldEnvironment, state: Knowledge, place: str) -> Knowledge:
    """Go there and open what is closed."""
    if place not in state.at:
        state = environment.step(f"go to {place}")[0].data
    if state.of(place) not in SEARCHED:
        state = environment.step(f"open {place}")[0].data
    return state


def _unknown(state: Knowledge, rng: random.Random) -> list[Predicate]:
    """The places of the goal's kinds that were not looked into, and a few lids that were not seen."""
    places = [place for place in state.layout.receptacles if state.of(place) not in SEARCHED]
    lids = [place for place in places if state.of(place) == NEW and kind_of(place) in OPENABLE]
    asked = [inside(kind, place) for kind in state.layout.goal.kinds for place in places]
    return asked + [shut(place) for place in sorted(rng.sample(lids, min(LIDS, len(lids))))]


def _truth(game: Game, predicate: Predicate) -> bool:
    """What is so before anything was moved; nothing is moved here, and every lid begins closed."""
    if predicate.name == "shut":
        return any(r.name == predicate.args[0] and r.openable for r in game.house.receptacles)
    kind, place = predicate.args
    return any(kind_of(thing) == kind and where == place for thing, where in game.house.inside)
