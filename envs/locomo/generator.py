"""Invents conversations of two people over many sessions, with questions about them.

Of each conversation all is invented: people, facts and wordings. The questions take one turn or two, or have no answer:
then a true question has one speaker in place of the other, who never stated it (LoCoMo's adversarial questions).

Conversations of different parts share no names of people, towns, things and the like, and no turn; wordings that are
held out are in no conversation for training.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from envs.locomo.dialogue import Dialogue, DialogueHop, DialogueQuestion, Kind
from envs.locomo.errors import LocomoError
from envs.locomo.facts import SpokenWorld, StatedFact, can_cross, draw_world, swappable
from envs.locomo.relations import SpokenWording, by_name, choices, pronouns
from envs.locomo.talk import lay_out
from envs.locomo.words import PARTS, spellings

COUNTS: Mapping[str, int] = {"single": 8, "two": 6, "swapped": 6}
"""Questions of each kind in a conversation: about a third has no answer, as in LoCoMo's categories 4 and 5."""
_SWAPPED_CHAINS = 2
"""Of the questions without an answer those that are made from two turns."""
_HELD_OUT = 0.2
"""Of the questions for evaluation."""


def ask(rng: random.Random, world: SpokenWorld, turns: Mapping[StatedFact, str]) -> tuple[DialogueQuestion, ...]:
    """All questions about a conversation, in an order in which the kinds take turns.

    Args:
        rng: Source of randomness.
        world: The facts.
        turns: The id of the turn that states each fact.
    """
    return _Asking(rng, world, turns).questions()


class _Asking:
    def __init__(self, rng: random.Random, world: SpokenWorld, turns: Mapping[StatedFact, str]) -> None:
        self.rng, self.world, self.turns = rng, world, turns

    def questions(self) -> tuple[DialogueQuestion, ...]:
        world = self.world
        linked = [*world.chains, *world.crossings]
        swapped = [
            pair for pair in world.chains if not world.states(1 - pair[0].speaker, pair[0].relation, pair[0].key)
        ]
        made: dict[str, list[DialogueQuestion]] = {
            "single": [self._single(fact) for fact in self._varied(list(world.facts.values()), COUNTS["single"])],
            "two": [self._two(*pair) for pair in self.rng.sample(linked, min(len(linked), COUNTS["two"]))],
            "swapped": [self._two(*pair, swap=True) for pair in swapped[:_SWAPPED_CHAINS]],
        }
        missing = COUNTS["swapped"] - len(made["swapped"])
        made["swapped"] += [self._single(fact, swap=True) for fact in self._varied(list(swappable(world)), missing)]
        ordered = [
            questions[number]
            for number in range(max(map(len, made.values())))
            for questions in made.values()
            if number < len(questions)
        ]
        return tuple(replace(question, id=f"q{place}") for place, question in enumerate(ordered, 1))

    def _varied(self, facts: Sequence[StatedFact], count: int) -> list[StatedFact]:
        """So many facts, of different relations as far as there are any."""
        shuffled = self.rng.sample(facts, len(facts))
        first = list({fact.relation.name: fact for fact in reversed(shuffled)}.values())[::-1]
        return [*first, *(fact for fact in shuffled if fact not in first)][:count]

    def _single(self, fact: StatedFact, *, swap: bool = False) -> DialogueQuestion:
        wording = self._wording(fact.relation.asked)
        text = wording.filled(**self._person(fact.speaker ^ swap), key=fact.key)
        return self._question(text, "swapped" if swap else "single", [fact], [wording])

    def _two(self, first: StatedFact, second: StatedFact, *, swap: bool = False) -> DialogueQuestion:
        person = self._person(first.speaker ^ swap)
        described = self._wording(first.relation.described)
        if first.relation.crosses:
            wording = self._wording([each for each in second.relation.asked if can_cross(each)])
            text = wording.filled(who=described.filled(**person, key=first.key), key=second.key)
        else:
            wording = self._wording(second.relation.linked)
            named = person if "who" in wording.slots else by_name(person["who"])
            text = wording.filled(**person, key=described.filled(**named, key=first.key))
        return self._question(text, "swapped" if swap else "two", [first, second], [wording, described])

    def _question(
        self, text: str, kind: Kind, facts: Sequence[StatedFact], wordings: Sequence[SpokenWording]
    ) -> DialogueQuestion:
        hops = tuple(DialogueHop(self.turns[fact], fact.sentence, self._plain(fact), fact.value) for fact in facts)
        held_out = any([*(fact.held_out for fact in facts), *(wording.held_out for wording in wordings)])
        return DialogueQuestion(
            id="",  # its place is not known yet
            text=text,
            kind=kind,
            answers=() if kind == "swapped" else spellings(facts[-1].relation.value, facts[-1].value),
            evidence=tuple(hop.turn for hop in hops),
            hops=hops,
            split="heldout" if held_out else "trained",
        )

    def _plain(self, fact: StatedFact) -> str:
        """A sub-question; its wording is one that training has."""
        wording = self.rng.choice(choices(fact.relation.asked, held_out=False))
        return wording.filled(**self._person(fact.speaker), key=fact.key)

    def _person(self, speaker: int) -> Mapping[str, str]:
        name, woman = self.world.speakers[speaker]
        return pronouns(name, woman=woman)

    def _wording(self, wordings: Sequence[SpokenWording]) -> SpokenWording:
        wanted = self.world.part != "train" and self.rng.random() < _HELD_OUT
        # Where questions are picked by what they can be asked of, all or none may be held out.
        return self.rng.choice(choices(wordings, held_out=wanted) or list(wordings))


SIZES = {"dev": 6, "test": 12}
"""Conversations in the sets for evaluation."""


def dialogue(seed: int, part: str) -> Dialogue:
    """Invent a conversation; the same arguments give the same one.

    Args:
        seed: Any integer.
        part: ``train``, ``dev`` or ``test``.

    Raises:
        LocomoError: There is no such part.
    """
    if part not in PARTS:
        raise LocomoError(f"there is no part {part!r}; there is: {', '.join(PARTS)}")
    rng = random.Random(f"locomo:{part}:{seed}")
    world = draw_world(rng, next(each for each in PARTS if each == part))
    passages, turns = lay_out(rng, world)
    names = (world.speakers[0][0], world.speakers[1][0])
    return Dialogue(f"{part}-{seed}", names, passages, ask(rng, world, turns))


@cache
def dialogues(part: str) -> tuple[Dialogue, ...]:
    """The conversations of a set for evaluation, ``dev`` or ``test``.

    Raises:
        LocomoError: There is no such set.
    """
    if part not in SIZES:
        raise LocomoError(f"there is no set {part!r}; there is: {', '.join(SIZES)}")
    return tuple(dialogue(seed, part) for seed in range(SIZES[part]))
