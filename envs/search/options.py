"""The options of search environments on the command line: which retrievers, which depths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from math import ceil
from typing import Any

from envs.search.encoder import MINILM
from envs.search.environment import DEPTHS
from envs.search.errors import SearchError
from envs.search.index import Index
from envs.search.retrieval import bm25, dense, hybrid
from tape.protocols.search import Passage
from tape.reading import short

RETRIEVERS = ("bm25", "dense", "hybrid")
ALPHA = 0.5
"""The weight of BM25 that most harnesses of the paper have (CGDP section 6)."""


@dataclass(frozen=True)
class Retrieval:
    """How a corpus is searched.

    Attributes:
        retrievers: Of :data:`RETRIEVERS`; the first is the default.
        alpha: The weight of BM25 in ``hybrid``.
        depths: How many passages a search brings; the first is the default.
        embeddings: The model of ``dense`` and ``hybrid``; see :func:`envs.search.encoder.open_encoder`.
    """

    retrievers: tuple[str, ...] = ("bm25",)
    alpha: float = ALPHA
    depths: tuple[int, ...] = DEPTHS
    embeddings: str = MINILM

    @property
    def label(self) -> str:
        """For the name of a set of tasks: what differs from BM25 at the usual depths is named."""
        names = [f"hybrid{self.alpha:g}" if name == "hybrid" else name for name in self.retrievers]
        model = self.embeddings if self.embeddings != MINILM and self.names_model else ""
        depths = "depths-" + "-".join(map(str, self.depths)) if self.depths != DEPTHS else ""
        return "-".join(filter(None, ["-".join(names), model, depths]))

    @property
    def names_model(self) -> bool:
        """Whether embeddings take part."""
        return "dense" in self.retrievers or ("hybrid" in self.retrievers and self.alpha < 1)

    def indexes(self, passages: tuple[Passage, ...]) -> tuple[Index, ...]:
        """The indexes over a corpus; the last few are kept.

        Raises:
            SearchError: The passages cannot be indexed.
            MissingExtraError: An extra is not installed.
        """
        return _indexes(passages, self)

    def calibration(self, corpus: str) -> dict[str, float]:
        """How often the options find what is asked for, as far as that was measured; by the option's name.

        Args:
            corpus: One that ``data/calibration.json`` has; of another nothing is known.
        """
        measured = {} if self.embeddings != MINILM and self.names_model else _success(corpus)
        names = {f"hybrid{self.alpha:g}" if name == "hybrid" else name: name for name in self.retrievers}
        numbers: dict[str, float] = {}
        for name, kind in names.items():
            # With all the weight on BM25 it finds what BM25 finds.
            alike = "bm25" if kind == "hybrid" and self.alpha == 1 else name
            numbers |= {f"{name}-{k}": measured[f"{alike}-{k}"] for k in self.depths if f"{alike}-{k}" in measured}
        return numbers


def add_arguments(parser: Any) -> None:
    """``--retriever``, ``--alpha``, ``--depths``, ``--embeddings`` and ``--sub-questions``."""
    listed = ",".join(map(str, DEPTHS))
    parser.add_argument(
        "--retriever", default="bm25", help=f"of {', '.join(RETRIEVERS)}; several as bm25,dense (default: bm25)"
    )
    parser.add_argument("--alpha", type=float, help=f"the weight of BM25 in hybrid, from 0 to 1 (default: {ALPHA})")
    parser.add_argument(
        "--depths", default=listed, help=f"how many passages a search brings, the default first (default: {listed})"
    )
    parser.add_argument(
        "--embeddings", help=f"hf:PATH, another local model for dense and hybrid (default: {MINILM}, all-MiniLM-L6-v2)"
    )
    parser.add_argument(
        "--sub-questions",
        choices=("none", "gold"),
        default="none",
        help="gold: agents are given the sub-questions, answers filled in; an upper bound (default: none)",
    )


def gives_gold(options: Mapping[str, Any]) -> bool:
    """Whether agents are to be given gold sub-questions."""
    return options.get("sub_questions") == "gold"


def level_set(name: str, retrieval: Retrieval, *, given: bool) -> str:
    """The name of a set of tasks: the questions, how they are searched, and whether gold sub-questions are given."""
    return f"{name}-{retrieval.label}" + ("-gold-sub-questions" if given else "")


def read_options(options: Mapping[str, Any]) -> Retrieval:
    """Read the options that :func:`add_arguments` adds.

    Raises:
        SearchError: One of them is malformed, or they contradict each other.
    """
    retrievers = tuple(name.strip() for name in str(options.get("retriever") or "bm25").split(","))
    for name in retrievers:
        if name not in RETRIEVERS:
            raise SearchError(f"--retriever: there is no retriever {short(name)}; there is: {', '.join(RETRIEVERS)}")
    if len(set(retrievers)) < len(retrievers):
        raise SearchError(f"--retriever names one twice: {', '.join(retrievers)}")
    given = options.get("alpha")
    if given is not None and "hybrid" not in retrievers:
        raise SearchError("--alpha weighs BM25 in hybrid; add --retriever hybrid, or leave --alpha out")
    alpha = ALPHA if given is None else float(given)
    if not 0 <= alpha <= 1:
        raise SearchError(f"--alpha is the weight of BM25, a number from 0 to 1, got {alpha:g}")
    if float(f"{alpha:g}") != alpha:
        raise SearchError(f"--alpha has six digits at most, for it is part of an option's name, got {alpha!r}")
    listed = options.get("depths")
    depths = DEPTHS if listed is None else _depths(str(listed))
    retrieval = Retrieval(retrievers, alpha, depths, options.get("embeddings") or MINILM)
    if options.get("embeddings") and not retrieval.names_model:
        raise SearchError("--embeddings are for dense and hybrid; add --retriever dense, or leave --embeddings out")
    return retrieval


def _depths(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= len(part) <= 6 and int(part) for part in parts):
        raise SearchError(f"--depths are numbers of passages such as 5,3,10, got {short(text)}")
    depths = tuple(map(int, parts))
    if len(set(depths)) < len(depths):
        raise SearchError(f"--depths names one twice: {text}")
    return depths


@lru_cache(maxsize=4)
def _indexes(passages: tuple[Passage, ...], retrieval: Retrieval) -> tuple[Index, ...]:
    return tuple(_index(name, passages, retrieval) for name in retrieval.retrievers)


def _index(name: str, passages: Sequence[Passage], retrieval: Retrieval) -> Index:
    if name == "hybrid":
        return hybrid(passages, retrieval.alpha, retrieval.embeddings)
    return bm25(passages) if name == "bm25" else dense(passages, retrieval.embeddings)


def usual_hops(corpus: str) -> int:
    """How many facts a question about a corpus takes: the mean of its development questions, rounded up; else 1."""
    mean: float = _calibration().get(corpus, {}).get("hops", 1)
    return ceil(mean)


def _success(corpus: str) -> dict[str, float]:
    options = _calibration().get(corpus, {}).get("options", {})
    return {name: option["success"] for name, option in options.items()}


@cache
def _calibration() -> dict[str, dict[str, Any]]:
    """What was measured, by corpus; ``experiments/studies/cgdp/calibration.py`` does."""
    text = (resources.files("envs.search") / "data" / "calibration.json").read_text(encoding="utf-8")
    corpora: dict[str, dict[str, Any]] = json.loads(text)["corpora"]
    return corpora
