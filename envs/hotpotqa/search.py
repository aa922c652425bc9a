"""BM25 with title boosting: names in the query go before its words (SDP appendix A.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envs.hotpotqa.evidence import STOP_WORDS
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
