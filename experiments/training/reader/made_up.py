"""Examples from our own worlds of invented names, in wordings that are not held out."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache

from envs.musique.wordings import OF_TYPE, RELATIONS
from envs.musique.words import query_text
from envs.musique.world import World, describe, make_world
from experiments.training.reader.example import Asked, Sheet, sentences
from tape.protocols.search import Passage

WORLDS = 256
"""So many worlds are drawn from; passages are worded anew each time."""
NONE_SHARE = 0.1
"""How often something is asked that the paragraphs do not say."""


@lru_cache(maxsize=32)
def _world(number: int) -> World:
    return make_world(f"reader:{number}")


def sheet(rng: random.Random, count: int, questions: int) -> Sheet:
    """Draw paragraphs and questions.

    Args:
        rng: Source of randomness.
        count: How many paragraphs.
        questions: How many questions at most.
    """
    world = _world(rng.randrange(WORLDS))
    asked = rng.choice(list(world.kinds))
    shown = [asked]
    # What is retrieved beside a paragraph speaks of the same things: of its answers, of its own kind.
    near = [answer for _, answer in world.stated[asked]] + rng.sample(world.of_kind(world.kinds[asked]), 3)
    while len(shown) < count:
        other = rng.choice(near) if rng.random() < 0.7 else rng.choice(list(world.kinds))
        if other not in shown:
            shown.append(other)
    rng.shuffle(shown)
    passages = tuple(Passage(name, name, describe(rng, world, name)[0]) for name in shown)
    facts = _facts(world, passages)
    wanted = rng.sample(sorted(facts), min(questions, len(facts)))
    wanted = (2 * wanted)[:questions]  # paragraphs cost more than questions: all is asked in two ways
    found = [_asked(rng, facts[pair], pair) for pair in wanted]
    for number in range(len(found)):
        if rng.random() < NONE_SHARE:
            absent = _absent(rng, world, shown, facts)
            found[number] = Asked(question(rng, *absent)) if absent else found[number]
    return Sheet(passages, tuple(found))


Fact = tuple[str, str, str]


def _facts(world: World, passages: Sequence[Passage]) -> dict[tuple[str, str], Fact]:
    """Sentence, answer and title of what is stated, by relation and subject; both ways round where it holds so."""
    found: dict[tuple[str, str], Fact] = {}
    for passage in passages:
        for relation, answer in world.stated[passage.title]:
            sentence = _stating(world, passage, relation, answer)
            found[relation, passage.title] = (sentence, answer, passage.title)
            if RELATIONS[relation].symmetric:
                found.setdefault((relation, answer), (sentence, passage.title, passage.title))
    return found


def _stating(world: World, passage: Passage, relation: str, answer: str) -> str:
    subject = f"(?:{re.escape(passage.title)}|the {world.kinds[passage.title]})"
    forms = [re.escape(form) for form in RELATIONS[relation].sentences]
    forms = [form.replace(r"\{s\}", subject).replace(r"\{o\}", re.escape(answer)) for form in forms]
    pattern = re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)
    [sentence] = {sentence for sentence in sentences(passage.text) if pattern.fullmatch(sentence)}
    return sentence


def _asked(rng: random.Random, fact: Fact, pair: tuple[str, str]) -> Asked:
    relation, subject = pair
    sentence, answer, title = fact
    if rng.random() < 0.1:
        return Asked(f"The {relation} of {subject} is", sentence, answer, title, gap=True)
    return Asked(question(rng, relation, subject), sentence, answer, title)


def question(rng: random.Random, relation: str, subject: str) -> str:
    """One way to ask, in wordings that are not held out."""
    how = rng.random()
    if how < 0.35:
        return query_text(relation, subject)
    if how < 0.75:
        text = rng.choice(RELATIONS[relation].questions[:-1]).format(x=subject)
        return text[0].upper() + text[1:]
    phrase = rng.choice(RELATIONS[relation].phrases[:-1]).format(x=subject)
    return rng.choice((phrase, f"What is {phrase}?", f"Name {phrase}.", f"{subject} >> {relation}"))


def _absent(
    rng: random.Random, world: World, shown: Sequence[str], facts: dict[tuple[str, str], Fact]
) -> tuple[str, str] | None:
    """Something that the paragraphs do not say, also not in other words or by what follows."""
    subject = rng.choice(shown) if rng.random() < 0.7 else rng.choice(list(world.kinds))
    options = [relation for relation in OF_TYPE[world.kinds[subject]] if (relation, subject) not in facts]
    turned = {"country": "capital", "river": "mouth", "capital": "country", "mouth": "river"}
    options = [
        r for r in options if not any(r2 == turned.get(r) and a == subject for (r2, _), (_, a, _) in facts.items())
    ]
    return (rng.choice(options), subject) if options else None
