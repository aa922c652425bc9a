"""Indexes over a corpus: BM25, dense embeddings, and a weighted sum of the two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.search.encoder import MINILM
from envs.search.errors import SearchError
from envs.search.index import Index
from tape.plugins import require_extra
from tape.protocols.search import Passage

_WORD = re.compile(r"[^\W_]+")


class Bm25(Index):
    """BM25 over the words of title and text; what shares no word with the query is not found.

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
