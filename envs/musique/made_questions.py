"""Our own questions with all that leads to their answers: for small cases with known answers, never for comparing."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from envs.musique.corpus import load_corpus, load_questions
from envs.musique.evidence import gold_chain
from envs.musique.scripted_reader import read
from envs.musique.wordings import RELATIONS, parse_query, query_text
from tape.protocols.search import Passage

MOST_HOPS = 3
"""Longer questions have prompts that are too long for small models."""

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
    """A question of ``dev``.

    Attributes:
        text: As asked.
        chain: Relation, subject and answer of each hop, in order.
        gold: The passage of each hop.
        others: Passages of the corpus about nothing that the question leads to.
    """

    text: str
    chain: tuple[tuple[str, str, str], ...]
    gold: tuple[Passage, ...]
    others: tuple[Passage, ...]

    @property
    def answer(self) -> str:
        """The answer."""
        return self.chain[-1][2]

    def passages(self, count: int, rng: random.Random) -> tuple[Passage, ...]:
        """The gold passages among so many in all, in a drawn order."""
        passages = [*self.gold, *rng.sample(self.others, max(0, count - len(self.gold)))]
        return tuple(rng.sample(passages, len(passages)))


def made_question(seed: int, number: int) -> MadeQuestion:
    """The question of a number; another seed begins elsewhere among them."""
    questions = _questions()
    return questions[(7 * seed + number) % len(questions)]


@cache
def _questions() -> tuple[MadeQuestion, ...]:
    corpus = load_corpus()
    titled = {passage.title: passage for passage in corpus}
    made = []
    for question in load_questions("dev"):
        pairs = gold_chain(question, corpus) if question.operations <= MOST_HOPS else None
        if pairs is None:
            continue
        hops = [(parse_query(query), answer) for query, answer, _ in pairs]
        chain = tuple((*asked, answer) for asked, answer in hops if asked is not None)
        about = {name for _, subject, answer in chain for name in (subject, answer)}
        gold = tuple(titled[subject] for _, subject, _ in chain)
        if all(read(query_text(*hop[:2]), [passage]) == hop[2] for hop, passage in zip(chain, gold, strict=True)):
            others = tuple(passage for passage in corpus if passage.title not in about)
            made.append(MadeQuestion(question.text, chain, gold, others))
    return tuple(made)


def question_of(relation: str, subject: str, number: int = 0) -> str:
    """A question for one relation of a subject, or of a reference."""
    wordings = RELATIONS[relation].questions
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
    result = RELATIONS[relation]
    return _stems([relation, *result.sentences, *result.phrases, *result.questions])


def _stems(texts: Sequence[str]) -> frozenset[str]:
    words = (word for text in texts for word in _WORD.findall(re.sub(r"\{\w\}", " ", text.lower())))
    return frozenset(word[:_STEM] for word in words if word not in _PLAIN)
