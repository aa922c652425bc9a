"""Training text for the bundled household LM: our own games by the rules of the game, never a shipped one.

Every sequence is one moment of a game and several queries (``envs/alfworld/prompts/lexicon.py``). Where the agent has
not seen the whole household, the answer is what is really so: the model learns how likely it is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.house import House
from envs.alfworld.game.kinds import ALWAYS_OPENABLE, OPENABLE, kind_of
from envs.alfworld.prompts.lexicon import (
    ACT,
    ARROW,
    HINT,
    IS_SHUT,
    LOOK_UP,
    MOST_STEPS,
    NEXT,
    NO,
    NONE,
    PLAN,
    STEPS,
    WHERE,
    WORDS,
    YES,
    command_words,
    instances,
    receptacle_word,
    state_words,
)
from envs.alfworld.state import NEW, SEARCHED, Knowledge
from experiments.training.alfworld.plans import best_plan
from experiments.training.alfworld.world import World
from experiments.training.packing import PAD, Batch, Sequence, collate

ID = {word: i for i, word in enumerate(WORDS)}

SMALL_UNTIL = 600
"""Steps of small rooms only."""

_CHANGE = {"clean": "clean", "heat": "hot", "cool": "cool"}


def renamed(rng: random.Random, house: House) -> dict[str, str]:
    """New numbers for the receptacles, mostly their own: all numbers are to be learned, not only the low ones."""
    names = [r.name for r in house.receptacles]
    if rng.random() < 0.5:
        return {name: name for name in names}
    mapping = {}
    for kind in dict.fromkeys(map(kind_of, names)):
        ours = [name for name in names if kind_of(name) == kind]
        numbers = sorted(rng.sample(range(1, instances(kind) + 1), len(ours)))
        mapping |= {name: f"{kind} {number}" for name, number in zip(ours, numbers, strict=True)}
    return mapping


def example(rng: random.Random, size: float, drawn: list[House] | None = None) -> Sequence | None:
    """One moment of one game with its queries; None if the game is over.

    Args:
        rng: All randomness.
        size: Of the largest room.
        drawn: Takes the household.
    """
    house = draw_house(rng, size=rng.uniform(0.0, size))
    if drawn is not None:
        drawn.append(house)
    full = rng.random() < 0.45
    world = World(house, full=full, names=renamed(rng, house))
    if not full and rng.random() < 0.75:
        world.explore(rng, 2 + len(house.receptacles) * rng.choice((1, 1, 2)) // 2)
    elif full and rng.random() < 0.3:
        world.explore(rng, 2)
    _play_on(rng, world)
    plan = best_plan(world.scene())
    if not plan:
        return None
    state = world.known
    if not full and rng.random() < 0.45:
        state = replace(state, assumed=world.assumed())
    row = Sequence(ID)
    row.prefix(state_words(state))
    _ask_plans(rng, row, plan)
    _ask_next(rng, row, world, state, plan)
    _ask_places(rng, row, world, state)
    return row


def _play_on(rng: random.Random, world: World) -> None:
    """Do part of the best plan, sometimes with a slip."""
    plan = best_plan(world.scene()) or ()
    for command in plan[: rng.randint(0, max(len(plan) - 1, 0)) if rng.random() < 0.8 else 0]:
        world.do(command)
    if rng.random() < 0.15:
        world.do(world.possible(rng))


def _ask_plans(rng: random.Random, row: Sequence, plan: tuple[AlfworldCommand, ...]) -> None:
    words = [word for command in plan for word in command_words(command)]
    row.query([PLAN, ARROW], words)
    row.query([ACT, ARROW], command_words(plan[0]))
    if rng.random() < 0.4:
        row.query([ACT, HINT, *words, ARROW], command_words(plan[0]))
    row.query([STEPS, ARROW], [str(min(len(plan), MOST_STEPS))])


def change_words(world: World, command: AlfworldCommand) -> list[str]:
    """What a command changes, in words; it is undone in no way, so give a world that may change.

    ``none`` where it cannot be done.
    """
    if not world.do(command):
        return [NONE]
    if command.verb == "go":
        return ["at", receptacle_word(command.place), world.known.of(command.place)]
    if command.verb in ("open", "close"):
        return [world.known.of(command.place), receptacle_word(command.place)]
    if command.verb == "take":
        return ["hold", command.thing]
    if command.verb == "put":
        return ["put", command.thing, receptacle_word(command.place)]
    return ["lit", command.thing] if command.verb == "use" else [_CHANGE[command.verb], command.thing]


def _ask_next(
    rng: random.Random, row: Sequence, world: World, state: Knowledge, plan: tuple[AlfworldCommand, ...]
) -> None:
    """What the plan's next command leads to, and some others, possible or not, each from this same moment."""
    asked = {plan[0], *(world.possible(rng) for _ in range(6))}
    for command in sorted(asked, key=lambda c: c.text):
        if command.thing and not _is_known(state, command):
            continue
        row.query([NEXT, *command_words(command), ARROW], change_words(world.twin(), command))


def _is_known(state: Knowledge, command: AlfworldCommand) -> bool:
    """Whether it is known or assumed if the object is where it would be taken or used."""
    if command.verb == "take":
        return state.of(command.place) in SEARCHED or any(place == command.place for _, place in state.assumed)
    return True


def _ask_places(rng: random.Random, row: Sequence, world: World, state: Knowledge) -> None:
    """Where things are: known, for looking up; unknown, for how likely each place is."""
    known = state.pairs(state.layout.goal.kinds)
    if not state.assumed:
        for kind in state.layout.goal.kinds:
            places = sorted({place for name, place in world.hidden() if name == kind})
            places = [place for place in places if state.of(place) not in SEARCHED]
            for place in rng.sample(places, min(len(places), 2)):
                row.query([WHERE, kind, ARROW], [receptacle_word(place)])
    maybe = [r for r in state.layout.receptacles if state.of(r) == NEW and kind_of(r) in OPENABLE - ALWAYS_OPENABLE]
    for place in rng.sample(maybe, min(len(maybe), 2)):
        row.query([IS_SHUT, receptacle_word(place), ARROW], [YES if place in world.openable else NO])
    for kind in state.layout.goal.kinds:
        first = next((place for name, place, _ in known if name == kind), None)
        row.query([LOOK_UP, kind, ARROW], [receptacle_word(first) if first else NONE])
    for place in rng.sample(state.layout.receptacles, min(len(state.layout.receptacles), 4)):
        row.query([LOOK_UP, receptacle_word(place), ARROW], [state.of(place)])


def batch(seed: int, _size: str, count: int, index: int) -> Batch:
    """A batch of moments of games, see :class:`experiments.training.families.Family`."""
    return collate(_rows(seed, count, index, None), ID[PAD])


def _rows(seed: int, batch: int, index: int, drawn: list[House] | None) -> list[Sequence]:
    """The sequences of one batch."""
    rng = random.Random(f"household-lm-data:{seed}:{index}")
    rows: list[Sequence] = []
    largest = 0.15 if index < SMALL_UNTIL else rng.choice((0.3, 0.6, 1.0))
    while len(rows) < batch:
        row = example(rng, largest, drawn)
        if row is not None:
            rows.append(row)
    return rows


def games(seed: int, batch: int, steps: int) -> Iterator[House]:
    """Every household of the first batches."""
    for index in range(steps):
        drawn: list[House] = []
        _rows(seed, batch, index, drawn)
        yield from drawn
