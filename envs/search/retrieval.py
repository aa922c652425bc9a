"""Indexes over a corpus: BM25, dense embeddings, and a weighted sum of the two."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.search.encoder import MINILM
from envs.search.errors import SearchError
from tape.plugins import require_extra
from tape.protocols.search import Passage
from tape.reading import short

_KEPT = 8
"""Size functions whose sums an index keeps."""

_WORD = re.compile(r"[^\W_]+")


class Index(ABC):
    """Passages that can be searched.

    Args:
        name: What the retriever is called in options and actions.
        passages: The corpus; ids are unique.

    Raises:
        SearchError: There is no passage, or an id twice.
    """

    least = -np.inf
    """A passage is found where its score is above this."""

    def __init__(self, name: str, passages: Sequence[Passage]) -> None:
        if isinstance(passages, str) or not isinstance(passages, Iterable):
            raise SearchError(f"a corpus is a list of passages, got {short(passages)}")
        self.name, self.passages = name, tuple(passages)
        for passage in self.passages:
            told = (passage.id, passage.title, passage.text) if isinstance(passage, Passage) else (None,)
            if not all(isinstance(text, str) for text in told):
                raise SearchError(f"{short(passage)} is no passage; give Passage(id, title, text), all three texts")
        if not self.passages:
            raise SearchError("a corpus needs at least one passage")
        seen: set[str] = set()
        for passage in self.passages:
            if passage.id in seen:
                raise SearchError(f"the corpus has two passages {passage.id!r}; give each an id of its own")
            seen.add(passage.id)
        self.titles = frozenset(passage.title for passage in self.passages)
        self._sums: OrderedDict[Callable[[Passage], int], list[int]] = OrderedDict()

    @abstractmethod
    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The score of each passage for a query, in the order of the corpus; larger is better."""

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """The passages that suit a query best; of equal ones the earlier first. The same call, the same passages.

        Args:
            query: In words.
            k: How many at most.

        Raises:
            SearchError: k is less than 1.
        """
        if k < 1:
            raise SearchError(f"a search brings at least one passage, got k={k}")
        scores = self.scores(query)
        best = np.argsort(-scores, kind="stable")[:k]
        return tuple(self.passages[i] for i in best if scores[i] > self.least)

    def most(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The largest sum of sizes of so many passages: what a search brings at worst.

        Sizes are asked for once; give the same function again, not a new one, and the answer is looked up.

        Args:
            depth: How many passages.
            size: The size of one.
        """
        return self._sums_of(size)[min(max(depth, 0), len(self.passages))]

    def typical(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The mean sum of sizes of so many passages: what a search is expected to bring."""
        return round(self._sums_of(size)[-1] * min(max(depth, 0), len(self.passages)) / len(self.passages))

    def _sums_of(self, size: Callable[[Passage], int]) -> list[int]:
        """Sums of the largest sizes: of none, one, two and so on."""
        if size not in self._sums:
            self._sums[size] = list(accumulate(sorted(map(size, self.passages), reverse=True), initial=0))
            if len(self._sums) > _KEPT:
                self._sums.popitem(last=False)
        self._sums.move_to_end(size)
        return self._sums[size]


class Bm25(Index):
    """BM25 over the words of title and text; what shares no word with the query is not found.

    Args:
        passages: The corpus.

    Raises:
        MissingExtraError: bm25s is not installed.
        SearchError: The passages have no words.
    """

    least = 0.0

    def __init__(self, passages: Sequence[Passage]) -> None:
        require_extra("search", "bm25s", what="the retriever")
        import bm25s  # It takes a while to import, and most commands do not need it.

        super().__init__("bm25", passages)
        texts = [words(f"{passage.title} {passage.text}") for passage in self.passages]
        self._known = frozenset(word for text in texts for word in text)
        if not self._known:
            raise SearchError("the passages have no words")
        self._index: Any = bm25s.BM25()
        self._index.index(texts, show_progress=False)

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The BM25 score of each passage for a query; 0 where they share no word."""
        known = [word for word in words(query) if word in self._known]
        if not known:
            return np.zeros(len(self.passages))
        return np.asarray(self._index.get_scores(known), dtype=np.float64)


class Hybrid(Index):
    """A weighted sum of BM25 and dense scores, each brought to [0, 1] by its least and largest of the query.

    Args:
        lexical: BM25.
        dense: Embeddings of the same passages; None where alpha is 1.
        alpha: The weight of BM25, in [0, 1]. With 1 this is BM25.
    """

    def __init__(self, lexical: Bm25, dense: Index | None, alpha: float) -> None:
        super().__init__(f"hybrid{alpha:g}", lexical.passages)
        self.lexical, self.dense, self.alpha = lexical, dense, alpha
        self.least = -np.inf if dense is not None else lexical.least

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """Alpha x BM25 + (1 - alpha) x dense."""
        if self.dense is None:
            return self.lexical.scores(query)
        return self.alpha * _spread(self.lexical.scores(query)) + (1 - self.alpha) * _spread(self.dense.scores(query))


def _spread(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """From the least, 0, to the largest, 1; all 0 where they are equal."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def words(text: str) -> list[str]:
    """The words of a text in lower case: letters and digits."""
    return _WORD.findall(text.lower())


def bm25(passages: Sequence[Passage]) -> Index:
    """A BM25 index; needs the extra ``search``.

    Raises:
        SearchError: The passages cannot be indexed.
        MissingExtraError: The extra is not installed.
    """
    return Bm25(passages)


def dense(passages: Sequence[Passage], model: str = MINILM) -> Index:
    """An index of dense embeddings, compared by their cosine.

    Args:
        passages: The corpus.
        model: ``minilm`` (all-MiniLM-L6-v2, the extra ``dense``), or ``hf:PATH``, a local transformers model.

    Raises:
        SearchError: The passages cannot be indexed, or there is no such model.
        MissingExtraError: An extra is not installed.
    """
    from envs.search.embeddings import Dense

    return Dense(passages, model)


def hybrid(passages: Sequence[Passage], alpha: float = 0.5, model: str = MINILM) -> Index:
    """An index that weighs BM25 and dense embeddings.

    The scores of either are brought to [0, 1] for every query, by the least and the largest over the corpus.

    Args:
        passages: The corpus.
        alpha: The weight of BM25, in [0, 1]; with 1 no model is needed.
        model: As in :func:`dense`.

    Raises:
        SearchError: alpha is out of range, or as :func:`dense`.
        MissingExtraError: An extra is not installed.
    """
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 <= alpha <= 1:
        raise SearchError(f"alpha is the weight of BM25, a number from 0 to 1, got {alpha!r}")
    return Hybrid(Bm25(passages), dense(passages, model) if alpha < 1 else None, alpha)
