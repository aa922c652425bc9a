"""BM25 with title boosting: names in the query go before its words (SDP appendix A.5)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from envs.hotpotqa.evidence import STOP_WORDS
from envs.musique.evidence import gold_chain
from envs.musique.question import MusiqueQuestion
from envs.musique.retrieval import Corpus
from tape.protocols.search import Passage

TOP_K = 10
"""Paragraphs per search (SDP tables 10 and 11)."""

_LONGEST_NAME = 8
_WORD = re.compile(r"[^\W_]+")
_SUFFIX = re.compile(r"\s*\([^()]*\)\s*\Z")
_SMALL = "a an and as at by did for had has he her his in is it its of on or she the to was who"
_SHORT = frozenset(_SMALL.split())


class TitledCorpus:
    """A corpus whose titles are looked at first."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.corpus = Corpus(passages)
        self._titles: dict[tuple[str, ...], list[int]] = {}
        for number, passage in enumerate(self.corpus.passages):
            # A title is found as it stands, and by its beginning where a disambiguation such as "(film)" follows.
            for title in {passage.title, _SUFFIX.sub("", passage.title)}:
                words = _words(title)
                if words:
                    self._titles.setdefault(words, []).append(number)

    def by_title(self, query: str) -> list[Passage]:
        """The paragraphs whose titles the query names, the longest name first."""
        words, mapping = _words(query), dict[int, None]()
        for length in range(min(_LONGEST_NAME, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                gram = words[start : start + length]
                if not all(word in STOP_WORDS or word in _SHORT for word in gram):
                    mapping.update(dict.fromkeys(self._titles.get(gram, ())))
        return [self.corpus.passages[number] for number in mapping]

    def by_content(self, query: str, k: int) -> list[Passage]:
        """The paragraphs with the best BM25 scores; none that shares no word with the query."""
        scores = self.corpus.scores(query)
        best = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
        return [self.corpus.passages[i] for i in best if scores[i] > 0]

    def search(self, query: str, k: int = TOP_K) -> tuple[Passage, ...]:
        """Retrieve at most ``k`` paragraphs, those with a title in the query first."""
        return tuple(dict.fromkeys([*self.by_title(query), *self.by_content(query, k)]))[:k]


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


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
