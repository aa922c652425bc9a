"""Lays facts out as a conversation: sessions of turns, between greetings, reactions and other small talk."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from importlib import resources

from envs.data_files import Folder, read_toml
from envs.locomo.facts import SpokenWorld, StatedFact
from envs.locomo.words import part_of
from tape.protocols.search import Passage

FILE = "talk.toml"
SESSIONS = (8, 20)
TURNS = (100, 240)
"""Of a conversation; it has a few more where its facts need them."""
WORDS = (6, 30)
"""Of a turn."""
_EDGE = 2
"""Turns at the beginning and the end of a session without a fact."""
_FULL = 0.75
"""The largest share of the turns between that state a fact."""
_PARTS = (
    *("greetings", "answers", "reactions", "remarks"),
    *("openers", "tails", "partings", "farewells"),
)

Talk = Mapping[str, tuple[str, ...]]


def lay_out(rng: random.Random, world: SpokenWorld) -> tuple[tuple[Passage, ...], dict[StatedFact, str]]:
    """Write the turns of a conversation.

    Returns:
        The turns, and the id of the turn that states each fact.
    """
    lengths = _lengths(rng, len(world.facts))
    first = [rng.randrange(2) for _ in lengths]
    places: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for session, length in enumerate(lengths):
        for turn in range(_EDGE, length - _EDGE):
            places[(first[session] + turn) % 2].append((session, turn))
    placed: dict[tuple[int, int], StatedFact] = {}
    for speaker, own in places.items():
        facts = [fact for fact in world.facts.values() if fact.speaker == speaker]
        placed.update(zip(rng.sample(own, len(facts)), facts, strict=True))
    passages: list[Passage] = []
    turns: dict[StatedFact, str] = {}
    for session, length in enumerate(lengths):
        for turn in range(length):
            speaker = (first[session] + turn) % 2
            fact = placed.get((session, turn))
            name = f"D{session + 1}:{turn + 1}"
            text = _text(rng, world, 1 - speaker, turn, length, fact)
            passages.append(Passage(name, world.speakers[speaker][0], text))
            if fact is not None:
                turns[fact] = name
    return tuple(passages), turns


def _lengths(rng: random.Random, facts: int) -> list[int]:
    """How many turns each session has. Even, so that both speakers have as many; enough for the facts of either."""
    sessions = rng.randint(*SESSIONS)
    wanted = rng.randint(*TURNS)
    lengths = [2 * _EDGE + 2] * sessions
    # The facts of one speaker alone may be nearly all.
    while sum(lengths) < wanted or (sum(lengths) - 2 * _EDGE * sessions) * _FULL < facts:
        lengths[rng.randrange(sessions)] += 2
    return lengths


def _text(rng: random.Random, world: SpokenWorld, to: int, turn: int, length: int, fact: StatedFact | None) -> str:
    """The text of a turn; it belongs to the part of the conversation."""
    you, data = world.speakers[to][0], talk()

    def phrase(part: str) -> str:
        return rng.choice(data[part]).replace("{you}", you)

    while True:
        if fact is not None:
            before, after = rng.random() < 0.6, rng.random() < 0.6
            pieces = [*([phrase("openers")] if before else []), fact.sentence, *([phrase("tails")] if after else [])]
        elif turn < _EDGE or turn >= length - _EDGE:
            edge = turn if turn < _EDGE else turn - length
            pieces = [phrase({0: "greetings", 1: "answers", -2: "partings", -1: "farewells"}[edge])]
            if rng.random() < 0.5:
                pieces.append(phrase("remarks"))
        else:
            pieces = [phrase("reactions"), phrase("remarks")]
        text = " ".join(pieces)
        if WORDS[0] <= len(text.split()) <= WORDS[1] and (fact is not None or part_of(text) == world.part):
            return text


def read_talk(folder: Folder) -> Talk:
    """Read the small talk of a folder.

    Raises:
        DataFileError: The file cannot be used.
    """
    entry = read_toml(folder, FILE).only(*_PARTS)
    return {part: entry.texts(part, 6) for part in _PARTS}


@cache
def talk() -> Talk:
    """The small talk of the package."""
    return read_talk(resources.files("envs.locomo") / "data")
