"""Commitments on facts of which some are wrong, without a language model: the test of AEC theorem 3.4 itself.

An agent whose world model sees the truth is seldom misled by a wrong fact, so few of its commitments fail. Here nothing
but the grounded facts decides: receptacles are looked into in a random order, and the first path that the verifier
accepts is committed to. The verifier, the declarations and the engine are the real ones; the errors are simulated.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game.games import Game
from envs.alfworld.predicates import inside, shut, two
from envs.alfworld.prompts.placing import placed
from envs.alfworld.state import SEARCHED, Knowledge
from experiments.training.household.plans import Scene, best_plan
from tape.aec.bound import NoisyDomain, feasibility_bound
from tape.aec.facts import Evidence, GroundedStore
from tape.aec.verifier import Rulebook, Verifier
from tape.protocols import Action
from tape.protocols.predicates import Assignment
from tape.reading import json_lines
from tape.seeds import derive


class Injected(NamedTuple):
    """One episode.

    Attributes:
        rate: Of simulated query errors.
        committed: Whether a path was committed to.
        bound: The least probability that the theorem gives it.
        feasible: Whether the engine says that it wins.
    """

    rate: float
    committed: bool
    bound: float
    feasible: bool


def commit(game: Game, rate: float, seed: int) -> Injected:
    """Look around until a path is certified, and play it on the engine.

    Args:
        game: The game.
        rate: The chance that a predicate which comes to light after the start is told wrongly.
        seed: Of the errors and of the order of looking.
    """
    environment = AlfworldEnvironment(game)
    domain = NoisyDomain(environment.domain, rate, derive(seed, "errors", game.name, rate), closed=True)
    store, verifier = GroundedStore(domain), Verifier(domain, Rulebook(domain.rules()))
    order = list(environment.domain.layout.receptacles)
    random.Random(f"injected:{seed}:{game.name}").shuffle(order)
    try:
        state: Knowledge = environment.reset(seed).data
        store.observe(state, Evidence("observation", 0, "what was seen first"))
        for number, place in enumerate(order, 1):
            state = _look(environment, state, place)
            store.observe(state, Evidence("query", number, f"a look into {place}"))
            walk = _walk(state, verifier.closure(store.snapshot()).assignment)
            if walk and verifier.verify(walk, [], store.snapshot(), {}).accepted:
                bound = feasibility_bound(store.grounded_later(), rate)
                for action in walk:
                    if not environment.success():
                        environment.step(action)
                return Injected(rate, committed=True, bound=bound, feasible=environment.success())
    finally:
        environment.close()
    return Injected(rate, committed=False, bound=1.0, feasible=False)


def _look(environment: AlfworldEnvironment, state: Knowledge, place: str) -> Knowledge:
    """Go there and open what is closed."""
    if place not in state.at:
        state = environment.step(f"go to {place}")[0].data
    return state if state.of(place) in SEARCHED else environment.step(f"open {place}")[0].data


def _walk(state: Knowledge, known: Assignment) -> list[Action]:
    """The shortest path to the goal if what is known is right; empty where there is none."""
    layout = state.layout
    pairs = tuple(
        (kind, place, ())
        for kind in layout.goal.kinds
        for place in layout.receptacles
        for _ in range(int(known.get(inside(kind, place), False)) + int(known.get(two(kind, place), False)))
    )
    closed = frozenset(place for place in layout.receptacles if known.get(shut(place), False))
    plan = best_plan(Scene(layout, state.at, "", (), pairs, closed))
    return [] if plan is None else [command.text for command in placed(state, plan)]


def injected(games: Sequence[Game], rates: Sequence[float], seeds: int, file: Path) -> list[Injected]:
    """All episodes; those that a file has are not played again, and new ones are kept in it.

    Args:
        games: The games.
        rates: The rates of errors.
        seeds: Episodes of each game at each rate.
        file: JSON lines.
    """
    held: dict[str, Mapping[str, Any]] = {}
    if file.exists():
        whole = file.read_bytes()
        file.write_bytes(whole := whole[: whole.rfind(b"\n") + 1])
        held = {row["key"]: row for _, row in json_lines(file, dict[str, Any])}
    found = []
    for rate in rates:
        for game in games:
            for seed in range(seeds):
                key = f"{game.house.digest()[:16]}-{rate:g}-{seed}"
                if key not in held:
                    held[key] = {"key": key, **commit(game, rate, seed)._asdict()}
                    with file.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(held[key]) + "\n")
                found.append(Injected(**{name: held[key][name] for name in Injected._fields}))
    return found
