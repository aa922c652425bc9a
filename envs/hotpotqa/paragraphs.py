"""The ten paragraphs of the distractor mode: those that answer a question, and others that look like them."""

from __future__ import annotations

import random

from envs.hotpotqa.search import TitledCorpus
from envs.musique.evidence import gold_chain
from envs.musique.question import MusiqueQuestion
from tape.protocols.search import Passage

GIVEN = 10
"""Paragraphs given with a question (SDP appendix A.5)."""

_HARD_SHARE = 0.75
"""Of the distractors: those with the best scores for the question and its answers; the others are drawn at random."""


def with_distractors(question: MusiqueQuestion, corpus: TitledCorpus) -> tuple[Passage, ...]:
    """The given paragraphs of one of our own questions, in a seeded order.

    Distractors are hard by design: they share words or names with the hops (BM25), so many of them state the asked
    relation of another entity.
    """
    passages = corpus.corpus.passages
    chain = gold_chain(question, passages) or []
    gold = list(dict.fromkeys(passage for _, _, passage in chain))
    rng = random.Random(f"hotpotqa:distractors:{question.id}:{question.text}")
    asked = " ".join([question.text, *(f"{query} {passage.text}" for query, _, passage in chain)])
    others = [passage for passage in corpus.by_content(asked, len(passages)) if passage not in gold]
    wanted = GIVEN - len(gold)
    hard = others[: round(_HARD_SHARE * wanted)]
    rest = [passage for passage in passages if passage not in gold and passage not in hard]
    given = [*gold, *hard, *rng.sample(rest, min(len(rest), wanted - len(hard)))]
    rng.shuffle(given)
    return tuple(given)
