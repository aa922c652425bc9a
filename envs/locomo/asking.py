"""Questions about a conversation: for one turn, for two, and without an answer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.locomo.dialogue import DialogueHop, DialogueQuestion, Kind
from envs.locomo.facts import SpokenWorld, StatedFact, can_cross, swappable
from envs.locomo.relations import SpokenWording, by_name, choices, pronouns
from envs.locomo.words import spellings

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
