"""Invents conversations of two people over many sessions, with questions about them.

Of each conversation all is invented: people, facts and wordings. The questions take one turn or two, or have no answer:
then a true question has one speaker in place of the other, who never stated it (LoCoMo's adversarial questions).

Conversations of different parts share no names of people, towns, things and the like, and no turn; wordings that are
held out are in no conversation for training.
"""

from __future__ import annotations

import random
from functools import cache

from envs.locomo.asking import ask
from envs.locomo.dialogue import Dialogue
from envs.locomo.errors import LocomoError
from envs.locomo.facts import draw_world
from envs.locomo.talk import lay_out
from envs.locomo.words import PARTS

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
