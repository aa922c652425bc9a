"""Made-up questions with all that leads to their answers: for small cases with known answers, never for comparing."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from envs.musique.asking import WorldQuestion, ask, draw_chain
from envs.musique.corpus import is_held_out
from envs.musique.wordings import RELATIONS
from envs.musique.world import EntityWorld, describe, make_world
from tape.protocols.search import Passage
from tape.seeds import derive

SIZES = {
    "person": 8, "town": 5, "country": 2, "river": 2, "firm": 4, "ship": 3, "book": 3, "school": 3, "festival": 2,
}  # fmt: skip

_WORD = re.compile(r"[a-z]{3,}")
_STEM = 5
"""Letters by which words are compared: founder and founded are equal."""

_PLAIN = frozenset(
    {"the", "that", "which", "what", "who", "whom", "where", "when", "was", "were", "with", "for", "from", "are"}
    | {"name", "give", "find", "person", "town"}
)
"""Words that name no relation."""


@dataclass(frozen=True)
class MadeQuestion:
    """A question about a world of its own.

    Attributes:
        asked: Its text, and relation, subject and answer of each hop.
        gold: The passage of each hop.
        others: Other passages, those about things of the same types first.
        world: The world.
    """

    asked: WorldQuestion
    gold: tuple[Passage, ...]
    others: tuple[Passage, ...]
    world: EntityWorld

    @property
    def answer(self) -> str:
        """The answer."""
        return self.asked.chain[-1][2]

    def passages(self, count: int, rng: random.Random) -> tuple[Passage, ...]:
        """The gold passages among so many in all, in a drawn order."""
        found = [*self.gold, *self.others[: max(0, count - len(self.gold))]]
        return tuple(rng.sample(found, len(found)))


def make_question(seed: int, *names: object) -> MadeQuestion:
    """Make a question of two hops; its wordings are those of training, its text is none of an evaluation set.

    Args:
        seed: With the names it names the question.
        names: What it is for.
    """
    drawn = derive(seed, "musique", "made", *names)
    world, rng = make_world(f"made:{drawn}", SIZES), random.Random(drawn)
    while True:
        chain = draw_chain(rng, world, 2)
        if chain is None:
            continue
        asked = ask(rng, chain)
        if not is_held_out(asked.text):
            break
    texts = {subject: describe(rng, world, subject)[0] for subject in world.kinds}
    passages = {name: Passage(f"p{i}", name, text) for i, (name, text) in enumerate(texts.items(), 1)}
    subjects = [subject for _, subject, _ in chain]
    kinds = {world.kinds[subject] for subject in subjects}
    rest = rng.sample([name for name in world.kinds if name not in subjects], len(world.kinds) - len(set(subjects)))
    others = sorted(rest, key=lambda name: world.kinds[name] not in kinds)
    gold = tuple(passages[subject] for subject in subjects)
    return MadeQuestion(asked, gold, tuple(passages[name] for name in others), world)


def question_of(relation: str, subject: str, number: int = 0) -> str:
    """A question for one relation of a subject, or of a reference."""
    wordings = RELATIONS[relation].questions[:-1] or RELATIONS[relation].questions
    text = wordings[number % len(wordings)].format(x=subject)
    return text[0].upper() + text[1:]


def mentions(text: str, relation: str, subject: str) -> bool:
    """Whether a text in free words asks for a relation of a subject: it names the subject, and has a word of a wording.

    Args:
        text: A query or a question.
        relation: The relation.
        subject: A name or a reference such as ``#1``.
    """
    return subject.lower() in text.lower() and bool(_stems([text.replace(subject, " ")]) & _of(relation))


def _of(relation: str) -> frozenset[str]:
    found = RELATIONS[relation]
    return _stems([relation, *found.sentences, *found.phrases, *found.questions])


def _stems(texts: Sequence[str]) -> frozenset[str]:
    words = (word for text in texts for word in _WORD.findall(re.sub(r"\{\w\}", " ", text.lower())))
    return frozenset(word[:_STEM] for word in words if word not in _PLAIN)
