"""Multi-hop questions over small worlds of invented entities, with passages that no evaluation set has.

Wordings that are held out and questions that :func:`envs.musique.corpus.is_held_out` reserves never occur. In one of
five tasks the last fact is stated nowhere.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache

from envs.musique.asking import Asked, ask, draw_chain
from envs.musique.corpus import is_held_out
from envs.musique.wordings import ENTITY_TYPES, OF_TYPE, RELATIONS
from envs.musique.world import MOST_SENTENCES, World, make_world
from envs.search.index import Index
from envs.search.retrieval import bm25
from experiments.training.search.task import Hop, Task, distinct, keywords
from tape.protocols.search import UNANSWERABLE, Passage

WORLDS = 4_000
UNANSWERABLE_SHARE = 0.2
Stated = Mapping[tuple[str, str], tuple[str, str]]
"""Passage id and sentence that state a relation of a subject."""


def draw(rng: random.Random) -> list[Task]:
    """Draw a world and questions about it."""
    number = rng.randrange(WORLDS)
    world, index, stated = _corpus(f"search:{number}")
    tasks: list[Task] = []
    while len(tasks) < 8:
        task = _task(rng, world, index, stated)
        if task is not None:
            tasks.append(task)
    return tasks


@lru_cache(maxsize=64)
def _corpus(name: str) -> tuple[World, Index, Stated]:
    world, rng = make_world(name), random.Random(f"search-passages:{name}")
    passages: list[Passage] = []
    stated: dict[tuple[str, str], tuple[str, str]] = {}
    subjects = list(world.kinds)
    rng.shuffle(subjects)
    for number, subject in enumerate(subjects, 1):
        sentences = _sentences(rng, world, subject)
        for sentence, relation in sentences:
            if relation:
                stated[relation, subject] = (f"p{number}", sentence)
        passages.append(Passage(f"p{number}", subject, " ".join(sentence for sentence, _ in sentences)))
    return world, bm25(passages), stated


def _sentences(rng: random.Random, world: World, subject: str) -> list[tuple[str, str]]:
    """The sentences of a passage with the relation that each states, as :func:`envs.musique.world.describe` does."""
    kind = world.kinds[subject]
    templates: list[tuple[str, str, dict[str, str]]] = []
    for relation, answer in world.stated[subject]:
        templates.append((rng.choice(RELATIONS[relation].sentences[:-1]), relation, {"o": answer}))
    beside = rng.choices((0, 1, 2), (5, 4, 1))[0]
    for template in rng.sample(ENTITY_TYPES[kind].beside, min(beside, MOST_SENTENCES - len(templates))):
        fillers = {
            other: rng.choice([name for name in world.of_kind(other) if name != subject])
            for other in ENTITY_TYPES
            if f"{{{other}}}" in template
        }
        templates.insert(rng.randrange(len(templates) + 1), (template, "", fillers))
    found = []
    for number, (template, relation, fillers) in enumerate(templates):
        again = number > 0 and kind != "person" and rng.random() < 0.4
        sentence = template.format(s=f"the {kind}" if again else subject, **fillers)
        found.append((sentence[0].upper() + sentence[1:], relation))
    return found


def _task(rng: random.Random, world: World, index: Index, stated: Stated) -> Task | None:
    hops = rng.choices((1, 2, 3, 4), (3, 5, 3, 1))[0]
    unanswerable = rng.random() < UNANSWERABLE_SHARE
    chain = draw_chain(rng, world, hops - 1 if unanswerable and hops > 1 else hops)
    if chain is None:
        return None
    if unanswerable:
        missing = _missing(rng, world, chain[-1][2] if hops > 1 else chain[0][1])
        if missing is None:
            return None
        chain = (*(chain if hops > 1 else ()), missing)
    asked = ask(rng, chain)
    if is_held_out(asked.text):
        return None
    return Task(
        "musique",
        asked.text,
        tuple(_hop(rng, asked, number, stated) for number in range(len(chain))),
        UNANSWERABLE if unanswerable else chain[-1][2],
        index,
    )


def _missing(rng: random.Random, world: World, subject: str) -> tuple[str, str, str] | None:
    """A relation of a subject that no passage states, not even from the other side."""
    reverse = {"country": "capital", "capital": "country", "river": "mouth", "mouth": "river"}
    open_ones = []
    for relation in OF_TYPE[world.kinds[subject]]:
        answer = world.truth.get((relation, subject))
        back = relation if RELATIONS[relation].symmetric else reverse.get(relation, "")
        if answer is not None and world.answer(relation, subject) is None and world.answer(back, answer) != subject:
            open_ones.append((relation, subject, answer))
    return rng.choice(open_ones) if open_ones else None


def _hop(rng: random.Random, asked: Asked, number: int, stated: Stated) -> Hop:
    relation, subject, answer = asked.chain[number]
    wordings = RELATIONS[relation]
    # The words that the question itself has, where one of the known wordings is in it.
    known = (*wordings.phrases[:-1], *wordings.questions[:-1])
    fitting = [wording for wording in known if all(part.strip(" ?") in asked.text for part in wording.split("{x}"))]
    phrase = max(fitting, key=len) if fitting else rng.choice(wordings.phrases[:-1])
    names = (subject, answer)
    other = rng.choice(wordings.sentences[:-1]).format(s=subject, o="")
    queries = (
        keywords(phrase.format(x=subject), names),
        f"{relation} {subject}",
        keywords(other, names),
        subject,
    )
    question = rng.choice(wordings.questions[:-1]).format(x=subject)
    evidence = frozenset([stated[relation, subject]]) if (relation, subject) in stated else frozenset()
    return Hop(question[0].upper() + question[1:], distinct(queries), answer, evidence, (number - 1,) if number else ())
