"""Corpora and indexes for tests: embeddings by a script in the place of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from envs.search.index import Index
from envs.search.retrieval import Bm25, Hybrid
from tape.protocols.search import Passage

PASSAGES = (
    Passage("p1", "Ada", "Ada was born in Tarn."),
    Passage("p2", "Tarn", "The mayor of Tarn is Otto Lind."),
    Passage("p3", "Otto Lind", "Otto Lind keeps bees.\nHe is mayor."),
    Passage("p4", "Holm", "Holm lies by the sea."),
)


class ScriptedDense(Index):
    """Embeddings that count letters: no model, but a cosine that differs from BM25's order."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        super().__init__("dense", passages)
        self._vectors = np.stack([_vector(f"{passage.title}: {passage.text}") for passage in self.passages])

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        return np.round(self._vectors @ _vector(query), 6)


def _vector(text: str) -> npt.NDArray[np.float64]:
    counts = np.array([text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"], dtype=np.float64) + 0.1
    return np.asarray(counts / np.linalg.norm(counts))


def scripted_hybrid(passages: Sequence[Passage], alpha: float) -> Index:
    return Hybrid(Bm25(passages), ScriptedDense(passages), alpha)
