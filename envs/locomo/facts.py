"""Draws the facts of a conversation, each stated once, in groups that are easily mistaken for each other.

Of every relation there are several facts: of the same speaker about another key, of the other speaker about the same
key, and of the other speaker about another key. So neither the words of a question nor its relation point to one turn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from envs.locomo.relations import SpokenRelation, SpokenWording, choices, leads_to, relations
from envs.locomo.words import Part, draw, draw_speakers, is_open, part_of, words

CHAINS, CROSSINGS, GROUPS = 6, 3, 6
"""Pairs of facts of one speaker, pairs of facts of both, and groups of facts that lead nowhere."""
_HELD_OUT = 0.2
"""Of the sentences for evaluation."""
_PATIENCE = 200
"""Tries at a sentence that belongs to the right part: one in four does, or in two."""


@dataclass(frozen=True)
class StatedFact:
    """A fact that a speaker states.

    Attributes:
        speaker: 0 or 1.
        relation: What kind of thing it is.
        key: The thing it is about; empty where the relation has no key.
        value: The stated value.
        sentence: The sentence.
        held_out: Whether no training text has the wording.
    """

    speaker: int
    relation: SpokenRelation
    key: str
    value: str
    sentence: str
    held_out: bool


@dataclass
class SpokenWorld:
    """The facts that two people state.

    Attributes:
        part: Where the conversation belongs.
        speakers: Their names, each with whether it is a woman's.
        facts: By speaker, relation and key: there is one of each at most.
        chains: Pairs of facts of which the value of the first is the key of the second.
        crossings: Pairs of facts of which the value of the first is the speaker of the second.
    """

    part: Part
    speakers: tuple[tuple[str, bool], ...]
    facts: dict[tuple[int, str, str], StatedFact] = field(default_factory=dict)
    chains: list[tuple[StatedFact, StatedFact]] = field(default_factory=list)
    crossings: list[tuple[StatedFact, StatedFact]] = field(default_factory=list)

    def states(self, speaker: int, relation: SpokenRelation, key: str) -> bool:
        """Whether a speaker states such a fact about a key."""
        return (speaker, relation.name, key) in self.facts


def draw_world(rng: random.Random, part: Part) -> SpokenWorld:
    """Draw the facts of a conversation."""
    return _Drawing(rng, part).world


class _Drawing:
    """A world in the making."""

    def __init__(self, rng: random.Random, part: Part) -> None:
        self.rng, self.used = rng, set[str]()
        self.world = SpokenWorld(part, draw_speakers(rng, words(), part, self.used))
        pairs = [(a, b) for a in relations() for b in relations() if leads_to(a, b)]
        for name in rng.sample(sorted({first.name for first, _ in pairs}), CHAINS):
            self._chain(*rng.choice([pair for pair in pairs if pair[0].name == name]))
        for _ in range(CROSSINGS):
            self._crossing()
        for relation in rng.sample([each for each in relations() if not each.after], GROUPS):
            self._group(rng.randrange(2), relation)

    def _chain(self, first: SpokenRelation, second: SpokenRelation) -> None:
        """Two facts in a row, another two beside them, and one of the other speaker about where the first leads."""
        speaker = self.rng.randrange(2)
        main = self._row(speaker, first, second)
        if main is None:
            return
        self.world.chains.append(main)
        if self.rng.random() < 0.7:
            self._row(speaker, first, second)
        else:
            self._state(speaker, first)
        if not second.of_key and self.rng.random() < 0.4:
            self._state(1 - speaker, second, main[0].value)
        if not self.world.states(1 - speaker, first, main[0].key) and self.rng.random() < 0.7:
            self._state(1 - speaker, first, but=main[0].key)

    def _row(self, speaker: int, first: SpokenRelation, second: SpokenRelation) -> tuple[StatedFact, StatedFact] | None:
        state = self._state(speaker, first)
        two = self._state(speaker, second, state.value) if state else None
        return (state, two) if state and two else None

    def _crossing(self) -> None:
        """A fact that names the other speaker, a fact of that speaker, and the same relation of the first one."""
        first = self.rng.choice([relation for relation in relations() if relation.crosses])
        fit = [each for each in relations() if not each.crosses and not each.after and any(map(can_cross, each.asked))]
        second = self.rng.choice(fit)
        speaker = self.rng.randrange(2)
        state = self._state(speaker, first)
        two = self._state(1 - speaker, second) if state else None
        if state and two:
            self.world.crossings.append((state, two))
            if not second.of_key and self.rng.random() < 0.7:
                self._state(speaker, second, two.key)
            self._state(speaker, first)

    def _group(self, speaker: int, relation: SpokenRelation) -> None:
        """Facts of one relation that lead nowhere."""
        fact = self._state(speaker, relation)
        if fact is None or not relation.key:
            return
        self._state(speaker, relation, but=fact.key)
        self._state(1 - speaker, relation, but=fact.key)
        if not relation.of_key and self.rng.random() < 0.4:
            self._state(1 - speaker, relation, fact.key)

    def _state(
        self, speaker: int, relation: SpokenRelation, key: str | None = None, but: str = ""
    ) -> StatedFact | None:
        """Add a fact; None where it exists already, or no sentence belongs to the part.

        Args:
            speaker: The speaker.
            relation: What kind of thing.
            key: Its key; drawn where None.
            but: A key that is not drawn.
        """
        world, rng = self.world, self.rng
        stated = {fact.value for fact in world.facts.values() if fact.relation == relation}
        for _ in range(_PATIENCE):
            about = self._key(relation) if key is None else key
            if (but and about == but) or world.states(speaker, relation, about):
                if key is not None or not relation.key:
                    return None
                continue
            held_out = world.part != "train" and rng.random() < _HELD_OUT
            wording = rng.choice(choices(relation.said, held_out=held_out))
            value = self._value(relation, speaker)
            sentence = wording.filled(key=about, value=value)
            fresh = relation.crosses or (value not in stated and value != about)
            if fresh and part_of(sentence) == world.part:
                fact = StatedFact(speaker, relation, about, value, sentence, held_out)
                world.facts[speaker, relation.name, about] = fact
                self.used |= {name for kind, name in ((relation.key, about), (relation.value, value)) if is_open(kind)}
                return fact
        return None

    def _key(self, relation: SpokenRelation) -> str:
        return draw(self.rng, words(), self.world.part, relation.key, self.used) if relation.key else ""

    def _value(self, relation: SpokenRelation, speaker: int) -> str:
        if relation.crosses:
            return self.world.speakers[1 - speaker][0]
        return draw(self.rng, words(), self.world.part, relation.value, self.used)


def can_cross(wording: SpokenWording) -> bool:
    """Whether a question can be asked of a description of a speaker, whose pronouns would be unclear."""
    return not wording.slots & {"he", "his", "him"} and "{who}'s" not in wording.text


def swappable(world: SpokenWorld) -> Iterator[StatedFact]:
    """Facts that the other speaker states nothing like: a question to that speaker has no answer."""
    for fact in world.facts.values():
        if not world.states(1 - fact.speaker, fact.relation, fact.key):
            yield fact
