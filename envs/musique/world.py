"""Small worlds of invented people, towns, ships and firms, all of whose facts are known."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from envs.musique.wordings import ENTITY_TYPES, OF_TYPE, RELATIONS, SYLLABLES, TYPES
from envs.musique.words import VOCABULARY

SIZES: Mapping[str, int] = MappingProxyType(
    {
        "person": 18,
        "town": 9,
        "country": 4,
        "river": 5,
        "firm": 9,
        "ship": 6,
        "book": 6,
        "school": 5,
        "festival": 4,
    }
)
"""How many entities of each type a world has where nothing else is asked for."""

MOST_SENTENCES = 4
MOST_FACTS = 3
"""A passage has at most so many sentences, and states at most so many facts."""

_PLAIN = frozenset(VOCABULARY)


@dataclass(frozen=True)
class EntityWorld:
    """Entities and what is stated of them.

    Attributes:
        kinds: The type of each entity.
        stated: What the passage of each entity states of it: relations and answers, in order.
        truth: All that holds, also what follows from what is stated elsewhere, by relation and subject.
    """

    kinds: Mapping[str, str]
    stated: Mapping[str, tuple[tuple[str, str], ...]]
    truth: Mapping[tuple[str, str], str]

    def of_kind(self, kind: str) -> list[str]:
        """The entities of a type."""
        return [name for name, its in self.kinds.items() if its == kind]

    def answer(self, relation: str, subject: str) -> str | None:
        """What the passage of the subject states; None where it does not."""
        return dict(self.stated.get(subject, ())).get(relation)


def _word(rng: random.Random) -> str:
    return rng.choice(SYLLABLES.starts) + rng.choice(SYLLABLES.middles) + rng.choice(SYLLABLES.ends)


def name_maker(rng: random.Random, taken: Container[str]) -> Callable[[str], str]:
    """A function that invents a name for an entity of the type given, so that no language model has heard of it.

    No name that it makes is part of another, and no invented word comes twice.

    Args:
        rng: Source of randomness.
        taken: Lower-case words that are none.
    """
    used: set[str] = set()

    def fresh() -> str:
        while True:
            word = _word(rng)
            lower = word.lower()
            if lower not in taken and not any(lower in other or other in lower for other in used):
                used.add(lower)
                return word

    def make(kind: str) -> str:
        first = fresh()
        if rng.random() < ENTITY_TYPES[kind].alone:
            return first
        second = ENTITY_TYPES[kind].second
        return f"{first} {rng.choice(second) if second else fresh()}"

    return make


def _pairs(rng: random.Random, names: Sequence[str]) -> dict[str, str]:
    mixed = rng.sample(names, len(names))
    pairs = dict(zip(mixed[::2], mixed[1::2], strict=False))
    return pairs | {second: first for first, second in pairs.items()}


def _truth(rng: random.Random, names: Mapping[str, list[str]]) -> dict[tuple[str, str], str]:
    truth: dict[tuple[str, str], str] = {}
    for relation in RELATIONS.values():
        for kind in relation.subjects:
            others = names[relation.answer]
            if relation.symmetric:
                truth |= {(relation.name, a): b for a, b in _pairs(rng, names[kind]).items()}
                continue
            for number, subject in enumerate(names[kind]):
                # Teaching has no cycle: teachers come earlier in the list.
                choices = others[:number] if relation.name == "teacher" else others
                if choices:
                    truth[relation.name, subject] = rng.choice(choices)
    capitals = rng.sample(names["town"], len(names["country"]))
    for country, town in zip(names["country"], capitals, strict=True):
        truth["capital", country] = town
        truth["country", town] = country
    mouths = rng.sample(names["town"], len(names["river"]))
    for river, town in zip(names["river"], mouths, strict=True):
        truth["mouth", river] = town
        truth["river", town] = river
    return truth


def make_world(seed: int | str, sizes: Mapping[str, int] = SIZES) -> EntityWorld:
    """Make a world.

    Args:
        seed: Names the world.
        sizes: How many entities there are of each type; towns must be at least as many as countries and as rivers.
    """
    rng = random.Random(f"musique:world:{seed}")
    new_name = name_maker(rng, _PLAIN)
    names = {kind: [new_name(kind) for _ in range(sizes[kind])] for kind in TYPES}
    truth = _truth(rng, names)
    stated: dict[str, tuple[tuple[str, str], ...]] = {}
    for kind in TYPES:
        for subject in names[kind]:
            known = [(relation, truth[relation, subject]) for relation in OF_TYPE[kind] if (relation, subject) in truth]
            stated[subject] = tuple(rng.sample(known, rng.randint(1, min(MOST_FACTS, len(known)))))
    return EntityWorld({name: kind for kind in TYPES for name in names[kind]}, stated, truth)


def describe(
    rng: random.Random, world: EntityWorld, subject: str, held_out: float = 0.0
) -> tuple[str, tuple[str, ...]]:
    """Write the passage of an entity.

    Args:
        rng: Source of randomness.
        world: Its world.
        subject: The entity.
        held_out: How often a fact is worded in the way that no training text has.

    Returns:
        The text, and the relations that it words in a held-out way.
    """
    kind = world.kinds[subject]
    templates: list[tuple[str, dict[str, str]]] = []
    unseen = []
    for relation, answer in world.stated[subject]:
        sentences = RELATIONS[relation].sentences
        if held_out and rng.random() < held_out:
            unseen.append(relation)
            templates.append((sentences[-1], {"o": answer}))
        else:
            templates.append((rng.choice(sentences[:-1]), {"o": answer}))
    beside = rng.choices((0, 1, 2), (5, 4, 1))[0]
    for template in rng.sample(ENTITY_TYPES[kind].beside, min(beside, MOST_SENTENCES - len(templates))):
        templates.insert(rng.randrange(len(templates) + 1), (template, _others(rng, world, subject, template)))
    text = []
    for number, (template, fillers) in enumerate(templates):
        again = number > 0 and kind != "person" and rng.random() < 0.4
        sentence = template.format(s=f"the {kind}" if again else subject, **fillers)
        text.append(sentence[0].upper() + sentence[1:])
    return " ".join(text), tuple(unseen)


def _others(rng: random.Random, world: EntityWorld, subject: str, template: str) -> dict[str, str]:
    fillers = {}
    for kind in TYPES:
        if f"{{{kind}}}" in template:
            fillers[kind] = rng.choice([name for name in world.of_kind(kind) if name != subject])
    return fillers
