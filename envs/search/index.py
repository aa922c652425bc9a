"""The base of indexes: passages that can be searched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from envs.search.errors import SearchError
from tape.protocols.search import Passage
from tape.reading import short

_KEPT = 8
"""Size functions whose sums an index keeps."""


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
            texts = (passage.id, passage.title, passage.text) if isinstance(passage, Passage) else (None,)
            if not all(isinstance(text, str) for text in texts):
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
