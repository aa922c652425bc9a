"""Five retrievers over a local corpus, from fast, cheap and poor to slow, dear and good, and budgets that fit them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from envs.musique.errors import MusiqueError
from envs.search.errors import SearchError
from envs.search.retrieval import Bm25
from tape.budget import Budget, Resources
from tape.protocols.search import Passage
from tape.tools.tool import ToolVariant

RETRIEVERS: tuple[ToolVariant, ...] = tuple(
    ToolVariant(f"v{number}", Resources.of(seconds=seconds, usd=usd, steps=1), quality)
    for number, (quality, seconds, usd) in enumerate(
        [
            (0.1, "0.2", "0.01"),
            (0.3, "0.4", "0.025"),
            (0.5, "0.8", "0.045"),
            (0.7, "1.6", "0.25"),
            (0.9, "3.2", "1.00"),
        ],
        1,
    )
)
"""Cheapest first. The quality is the share of single-hop queries whose passage is among the three retrieved."""

NOISE: Mapping[str, float] = MappingProxyType({"v1": 0.24, "v2": 0.21, "v3": 0.18, "v4": 0.14, "v5": 0.1})
"""Standard deviation of what is added to each score, as a share of the largest score."""

MASKED: Mapping[str, float] = MappingProxyType({"v1": 0.89, "v2": 0.69, "v3": 0.5, "v4": 0.29, "v5": 0.09})
"""How often a passage that would be retrieved is withheld, and the next one retrieved in its place."""

TIGHTNESSES = ("tight", "loose")

_PER_HOP = {"tight": {"seconds": 1_400, "usd": 130_000}, "loose": {"seconds": 4_800, "usd": 1_300_000}}
"""Milliseconds and micro-dollars. ``tight`` pays a look-up by the middle retriever in each hop and, about every other
hop, a second one by the next better; ``loose`` the best one in each hop and a second try by the one below."""


def budget(hops: int, tightness: str) -> Budget:
    """A budget for a question: dollars and seconds for so many hops, steps for four tries at each and the answer.

    Raises:
        MusiqueError: Fewer than one hop, or an unknown tightness.
    """
    if hops < 1:
        raise MusiqueError(f"a budget is for at least one hop, got {hops}")
    if tightness not in _PER_HOP:
        raise MusiqueError(f"there is no budget {tightness!r}; there is: {', '.join(TIGHTNESSES)}")
    return Budget({"steps": 4 * hops + 3, **{kind: count * hops for kind, count in _PER_HOP[tightness].items()}})


class Searchable(ABC):
    """Passages that can be scored, and retrieved as well as each retriever can.

    Args:
        passages: The passages, each with an id of its own.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        if not passages:
            raise MusiqueError("a corpus needs at least one passage")
        self.passages = tuple(passages)

    @abstractmethod
    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The score of each passage for a query; larger is better."""

    def retrieve(self, query: str, variant: str, seed: int | str, k: int = 3) -> list[Passage]:
        """Retrieve passages as the retriever named does; the same call always gives the same passages.

        Args:
            query: For instance ``founder of Aldera``.
            variant: The name of one of :data:`RETRIEVERS`.
            seed: Names the noise.
            k: How many passages at most.

        Raises:
            MusiqueError: There is no such retriever.
        """
        if variant not in NOISE:
            raise MusiqueError(f"there is no retriever {variant!r}; there is: {', '.join(NOISE)}")
        scores = self.scores(query)
        low, high = float(scores.min()), float(scores.max())
        rng = random.Random(f"musique:retrieve:{seed}:{variant}:{query}")
        sigma = NOISE[variant]
        # Scores between 0 and 1 take the same noise for every length of query and kind of score.
        noisy = [(s - low) / ((high - low) or 1.0) + rng.gauss(0.0, sigma) for s in scores.tolist()]
        ranked = sorted(range(len(noisy)), key=lambda i: (-noisy[i], i))
        masked = MASKED[variant]
        passages: list[Passage] = []
        for i in ranked:
            if len(passages) == k:
                break
            if rng.random() >= masked:
                passages.append(self.passages[i])
        return passages


class Corpus(Searchable):
    """Passages with a BM25 index."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        super().__init__(passages)
        try:
            self._index = Bm25(self.passages)
        except SearchError as error:
            raise MusiqueError(str(error)) from error

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The BM25 score of each passage for a query."""
        return self._index.scores(query)
