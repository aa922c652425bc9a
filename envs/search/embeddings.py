"""Dense retrieval: embeddings of passages, kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from envs.search.encoder import Encoder, open_encoder
from envs.search.errors import SearchError
from envs.search.index import Index
from tape.files import cache_folder, replace_file
from tape.protocols.search import Passage

LAYOUT = 1
"""Of what is kept; a change makes all embeddings anew."""

LONG = 1000
"""From so many passages on, the progress is printed on standard error."""

_OTHERS = (FileExistsError, FileNotFoundError)
"""What writing a file comes to where another process writes the same one at this moment."""

_DIGITS = 6
"""Scores are rounded to so many: the same text in another batch differs in the last ones, and should tie."""


class Dense(Index):
    """Embeddings of title and text, compared with the query's by their cosine. Every passage is found.

    Raises:
        SearchError: The passages cannot be indexed, there is no such model, or the cache cannot be written.
        MissingExtraError: An extra is not installed.
    """

    def __init__(self, passages: Sequence[Passage], model: str) -> None:
        super().__init__("dense", passages)
        self._encoder = open_encoder(model)
        texts = [f"{passage.title}: {passage.text}" for passage in self.passages]
        self._vectors = _kept(texts, self._encoder)

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The cosine of each passage with a query."""
        cosines = self._vectors @ self._encoder.vector(query)
        return np.asarray(np.round(cosines.astype(np.float64), _DIGITS))


def _kept(texts: Sequence[str], encoder: Encoder) -> npt.NDArray[np.float32]:
    """The vectors of texts, from the cache if they are there."""
    described = json.dumps([LAYOUT, encoder.digest, list(texts)])
    file = cache_folder("embeddings") / f"{hashlib.sha256(described.encode()).hexdigest()[:32]}.npy"
    result = _read(file, len(texts))
    if result is not None:
        return result
    # Sorted by length, texts are padded least; the first mention of a text stands for all.
    different = sorted(dict.fromkeys(texts), key=lambda text: (len(text), text))
    made = encoder.encode(different, _Progress(len(different)))
    row = {text: number for number, text in enumerate(different)}
    vectors = made[[row[text] for text in texts]]
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(*_OTHERS):
            replace_file(file, content.getvalue())
    except OSError as error:
        raise SearchError(
            f"cannot write embeddings to the cache {file.parent}: {error.strerror}; point XDG_CACHE_HOME elsewhere"
        ) from error
    return vectors


def _read(file: Path, count: int) -> npt.NDArray[np.float32] | None:
    """The vectors in a file of the cache; None where it is not there or is not what was written."""
    try:
        content = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = (
        isinstance(content, np.ndarray) and content.ndim == 2 and len(content) == count and content.dtype == np.float32
    )
    return content if whole and bool(np.isfinite(content).all()) else None


class _Progress:
    """Prints on standard error how many passages are embedded, after each tenth."""

    def __init__(self, total: int) -> None:
        self._total, self._said = total, 0

    def __call__(self, done: int) -> None:
        tenth = 10 * done // self._total
        if self._total >= LONG and tenth > self._said:
            self._said = tenth
            print(f"embedding passages: {done:,} of {self._total:,}", file=sys.stderr, flush=True)
