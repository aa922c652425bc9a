"""Questions about invented conversations (:mod:`envs.locomo`), of the part that is for training."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from envs.locomo.dialogue import Dialogue, Question
from envs.locomo.generator import dialogue
from envs.search.index import Index
from envs.search.retrieval import bm25
from experiments.training.search.task import Hop, Task, distinct, keywords
from tape.cgdp.prompts.lexicon import sentences, vocabulary
from tape.protocols.search import UNANSWERABLE

DIALOGUES = 3_000


def draw(rng: random.Random) -> list[Task]:
    """Draw a conversation and questions about it."""
    talk, index = _corpus(rng.randrange(DIALOGUES))
    chosen = rng.sample(talk.questions, min(8, len(talk.questions)))
    return [_task(talk, question, index) for question in chosen]


@lru_cache(maxsize=64)
def _corpus(seed: int) -> tuple[Dialogue, Index]:
    try:
        found = dialogue(seed, "train")
    except ValueError:  # one speaker has more to say than there are turns
        return _corpus(seed + DIALOGUES)
    return found, bm25(found.passages)


def _task(talk: Dialogue, question: Question, index: Index) -> Task:
    names = talk.speakers
    if not question.answerable:
        # A statement that was not made is searched for as one that was made.
        asked = keywords(question.text, names)
        rare = " ".join(word for word in asked.split() if word not in vocabulary())
        queries = distinct([asked, _without(asked, names), rare])
        return Task("dialogues", question.text, (Hop(question.text, queries, "", frozenset()),), UNANSWERABLE, index)
    texts = {passage.id: (passage.title, passage.text) for passage in talk.passages}
    hops: list[Hop] = []
    for hop in question.hops:
        asked = question.text if len(question.hops) == 1 else hop.sub_question
        speaker, text = texts[hop.turn]
        queries = (
            keywords(asked, names),
            f"{speaker} {keywords(hop.quote.replace(hop.value, ' '), names)}",
            _without(keywords(hop.sub_question, names), names),
        )
        evidence = frozenset((hop.turn, sentence) for sentence in sentences(text) if hop.quote in sentence)
        needs = tuple(i for i, before in enumerate(hops) if before.answer.lower() in hop.sub_question.lower())
        hops.append(Hop(hop.sub_question, distinct(queries), hop.value, evidence, needs))
    return Task("dialogues", question.text, tuple(hops), question.hops[-1].value, index)


def _without(query: str, names: Sequence[str]) -> str:
    return " ".join(word for word in query.split() if word not in names)
