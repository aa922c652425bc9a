"""The same retrievers on dense embeddings of a local model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from envs.musique.errors import MusiqueError
from envs.musique.retrieval import Searchable
from envs.search.encoder import open_encoder
from envs.search.errors import SearchError
from tape.protocols.search import Passage


class DenseCorpus(Searchable):
    """Passages with embeddings: means over the last hidden states of a model, compared by their cosine.

    Args:
        passages: The passages, each with an id of its own.
        model: See :func:`envs.search.encoder.open_encoder`.

    Raises:
        MusiqueError: There is no such model.
        MissingExtraError: torch or transformers is not installed.
    """

    def __init__(self, passages: Sequence[Passage], model: str) -> None:
        try:
            self._encoder = open_encoder(model)
        except SearchError as error:
            raise MusiqueError(str(error)) from error
        super().__init__(passages)
        self._embedded = self._embed([f"{passage.title}. {passage.text}" for passage in self.passages])

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The cosine of each passage with a query."""
        return np.asarray(self._embedded @ self._embed([query])[0], dtype=np.float64)

    def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return self._encoder.encode(texts).astype(np.float64)
