"""Commitments on facts of which some are wrong, without a language model: the test of AEC theorem 3.4 itself.

An agent whose world model sees the truth is seldom misled by a wrong fact, so few of its commitments fail. Here nothing
but the grounded facts decides: receptacles are looked into in a random order, and the first path that the verifier
accepts is committed to. The verifier, the declarations and the engine are the real ones; the errors are simulated.

A test has to be able to fail, so verifiers that leave out coverage now and then are put to it too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game.games import Game, held_out
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.predicates import inside, shut, two
from envs.alfworld.prompts.placing import placed
from envs.alfworld.state import SEARCHED, Knowledge
from experiments.studies.aec.bound import feasibility_bound
from experiments.training.alfworld.plans import Scene, best_plan
from tape.aec.facts import Evidence, GroundedStore
from tape.aec.noisy_environment import NoisyDomain, Rates
from tape.aec.verifier import Rulebook, Verdict, Verifier
from tape.errors import ConfigError
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Predicate
from tape.reading import json_lines
from tape.seeds import derive

EVERY = ""
"""As the predicates that err: all of them."""


class Case(NamedTuple):
    """What is played.

    Attributes:
        rate: Of simulated query errors.
        erring: Name of the predicates that err; :data:`EVERY`, or one name.
        leak: The share of verdicts that leave out coverage: 0 for the verifier as it is, else a broken one.
    """

    rate: float
    erring: str = EVERY
    leak: float = 0.0

    @property
    def rates(self) -> Rates:
        """The rates by predicate."""
        return self.rate if self.erring == EVERY else {self.erring: self.rate}


class Injected(NamedTuple):
    """One episode.

    Attributes:
        committed: Whether a path was committed to.
        bound: The least probability that the theorem gives it.
        rested: The same, had the theorem counted only the facts that the path rests on; it does not.
        feasible: Whether the engine says that it wins.
    """

    committed: bool
    bound: float
    rested: float
    feasible: bool


class Tour:
    """A tour of a game that looks into everything, and the engine's verdicts on paths that leave it.

    What is looked into does not depend on its report, so one tour serves all rates.

    Args:
        game: The game.
        seed: Of the order of looking.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self.environment = AlfworldEnvironment(game)
        self.order = list(self.environment.domain.layout.receptacles)
        random.Random(f"injected:{seed}:{game.name}").shuffle(self.order)
        self.states: list[Knowledge] = [self.environment.reset(seed).data]
        self._done: list[tuple[Action, ...]] = [()]
        self._judged: dict[tuple[int, tuple[Action, ...]], bool] = {}
        for place in self.order:
            state, done = self.states[-1], []
            if place not in state.at:
                done.append(f"go to {place}")
                state = self.environment.step(done[-1])[0].data
            if state.of(place) not in SEARCHED:
                done.append(f"open {place}")
                state = self.environment.step(done[-1])[0].data
            self.states.append(state)
            self._done.append((*self._done[-1], *done))

    def wins(self, looks: int, path: Sequence[Action]) -> bool:
        """Whether a path wins by the engine after so many looks; played there once."""
        key = looks, tuple(path)
        if key not in self._judged:
            self.environment.reset(0)
            for action in (*self._done[looks], *path):
                if not self.environment.success():
                    self.environment.step(action)
            self._judged[key] = self.environment.success()
        return self._judged[key]

    def close(self) -> None:
        """Give the engine back."""
        self.environment.close()


def commit(tour: Tour, case: Case, seed: int) -> Injected:
    """Look around until a path is certified, and have the engine judge it.

    Args:
        tour: What is seen.
        case: What is reported wrongly, and by which verifier paths are certified.
        seed: Of the errors.
    """
    domain = NoisyDomain(tour.environment.domain, case.rates, seed, closed=True)
    store, verifier = GroundedStore(domain, domain.key), Verifier(domain, Rulebook(domain.rules()))
    leaks = random.Random(f"leak:{seed}")
    for looks, state in enumerate(tour.states):
        seen = Evidence("query", looks, tour.order[looks - 1]) if looks else Evidence("observation", 0, "a look around")
        store.observe(state, seen)
        facts = store.snapshot()
        known: Assignment = verifier.closure(facts).assignment
        trusting = case.leak > 0 and leaks.random() < case.leak
        if trusting and looks < len(tour.order):
            known = _supposed(state, known, tour.order[looks])
        path = _path(state, known)
        verdict = verifier.verify(path, [], facts, {}) if path else None
        if verdict is None or not (verdict.accepted or (trusting and verdict.open)):
            continue
        later = store.grounded_later()
        return Injected(
            committed=True,
            bound=feasibility_bound(later, case.rates),
            rested=feasibility_bound(later & _rests_on(verdict), case.rates),
            feasible=tour.wins(looks, path),
        )
    return Injected(committed=False, bound=1.0, rested=1.0, feasible=False)


def _rests_on(verdict: Verdict) -> set[Predicate]:
    """What a path's certificate names, and what that was concluded from."""
    found: set[Predicate] = set()
    todo = list(verdict.evidence)
    while todo:
        predicate = todo.pop()
        if predicate not in found:
            found.add(predicate)
            todo += verdict.closure[predicate].evidence.premises
    return found


def _supposed(state: Knowledge, known: Assignment, place: str) -> Assignment:
    """What is known, and that what the goal still needs is in a place that has not been looked into."""
    seen = {p.args[0] for p, value in known.items() if p.name == "in" and value}
    return {**{inside(kind, place): True for kind in state.layout.goal.kinds if kind not in seen}, **known}


def _path(state: Knowledge, known: Assignment) -> list[Action]:
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


def drawn_games(count: int) -> list[Game]:
    """Fresh games beside the shipped ones, all types in turn; none is among those, and nothing was learned from them.

    Args:
        count: How many.
    """
    found, taken = [], set(held_out())
    for i in range(count):
        rng = random.Random(f"alfworld:theorem:{i}")
        house = draw_house(rng, TASK_TYPES[i % len(TASK_TYPES)])
        while house.digest() in taken:
            house = draw_house(rng, TASK_TYPES[i % len(TASK_TYPES)])
        taken.add(house.digest())
        found.append(Game(f"theorem-{i}", "theorem", house))
    return found


def injected(games: Sequence[Game], cases: Sequence[Case], seeds: int, file: Path) -> dict[Case, dict[str, Injected]]:
    """All episodes, by the game and the seed; those that a file has are not played again, and new ones are kept in it.

    Args:
        games: The games.
        cases: What is played on each.
        seeds: Episodes of each game in each case, with other errors and another order of looking.
        file: JSON lines.

    Raises:
        ConfigError: The file holds something else.
    """
    held = _held(file)
    found: dict[Case, dict[str, Injected]] = {case: {} for case in cases}
    with file.open("a", encoding="utf-8") as lines:
        for game in games:
            for seed in range(seeds):
                name = f"{game.house.digest()[:16]}-{seed}"
                for case, one in _played(game, seed, [case for case in cases if _key(name, case) not in held]):
                    held[_key(name, case)] = one
                    lines.write(json.dumps({"key": _key(name, case), **one._asdict()}) + "\n")
                for case in cases:
                    found[case][name] = held[_key(name, case)]
    return found


def _key(name: str, case: Case) -> str:
    return f"{name}-{case.rate:g}-{case.erring or 'every'}-{case.leak:g}"


def _held(file: Path) -> dict[str, Injected]:
    """What a file has; a last line without an end was cut off by a kill, and is dropped from the file too."""
    if not file.exists():
        return {}
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rfind(b"\n") + 1])
    rows = [row for _, row in json_lines(file, dict[str, Any])]
    if any(not {"key", *Injected._fields} <= set(row) for row in rows):
        raise ConfigError(f"{file} was written by another version; name another --out")
    return {row["key"]: Injected(**{name: row[name] for name in Injected._fields}) for row in rows}


def _played(game: Game, seed: int, cases: Sequence[Case]) -> Iterator[tuple[Case, Injected]]:
    """The episodes of one tour."""
    if not cases:
        return
    tour = Tour(game, seed)
    try:
        for case in cases:
            yield case, commit(tour, case, derive(seed, "errors", game.name, *case))
    finally:
        tour.close()
