"""Questions of several hops, put into words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from envs.musique.wordings import FRAMES, RELATIONS
from envs.musique.world import EntityWorld


@dataclass(frozen=True)
class WorldQuestion:
    """A question about a world.

    Attributes:
        text: As asked.
        chain: Relation, subject and answer of each hop, in order.
        held_out: Whether any wording in it is held out from training.
    """

    text: str
    chain: tuple[tuple[str, str, str], ...]
    held_out: bool


def draw_chain(rng: random.Random, world: EntityWorld, hops: int) -> tuple[tuple[str, str, str], ...] | None:
    """Draw a chain of facts that passages state, each about the answer of the one before.

    Returns:
        Relation, subject and answer of each hop; None where this draw ended early or came back to an entity.
    """
    subject = rng.choice(list(world.kinds))
    seen = {subject}
    chain: list[tuple[str, str, str]] = []
    for _ in range(hops):
        facts = [fact for fact in world.stated[subject] if fact[1] not in seen]
        if not facts:
            return None
        relation, answer = rng.choice(facts)
        chain.append((relation, subject, answer))
        seen.add(answer)
        subject = answer
    return tuple(chain)


def ask(rng: random.Random, chain: Sequence[tuple[str, str, str]], held_out: float = 0.0) -> WorldQuestion:
    """Put a chain into words: phrases inside each other, and a question around them.

    Args:
        rng: Source of randomness.
        chain: Relation, subject and answer of each hop.
        held_out: How often a wording that training never has is taken.
    """
    unseen = False

    def pick(wordings: Sequence[str], heavy: bool) -> str:
        nonlocal unseen
        if held_out and rng.random() < held_out and (heavy or wordings[-1].endswith("{x}")):
            unseen = True
            return wordings[-1]
        # At most one clause of a question encloses another one: more make it unreadable.
        return rng.choice([wording for wording in wordings[:-1] if heavy or wording.endswith("{x}")])

    phrase = chain[0][1]
    torn = False
    for relation, _, _ in chain[:-1]:
        template = pick(RELATIONS[relation].phrases, heavy=not torn)
        torn = torn or not template.endswith("{x}")
        phrase = template.format(x=phrase)
    last = RELATIONS[chain[-1][0]]
    if rng.random() < 0.5:
        text = pick(last.questions, heavy=True).format(x=phrase)
    else:
        frame = pick(FRAMES.who if last.answer == "person" else FRAMES.what, heavy=True)
        template = pick(last.phrases, heavy=not torn)
        text = frame.format(p=template.format(x=phrase))
    return WorldQuestion(text[0].upper() + text[1:], tuple(chain), unseen)


def hops_of(chain: Sequence[tuple[str, str, str]]) -> tuple[tuple[str, str], ...]:
    """The look-ups of a chain: later subjects are references to earlier answers."""
    return tuple((relation, subject if i == 0 else f"#{i}") for i, (relation, subject, _) in enumerate(chain))
