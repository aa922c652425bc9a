"""Indexes against brute force, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.search import Index, Passage, SearchError, bm25, dense, hybrid
from envs.search.retrieval import Bm25, Hybrid, words
from tests.envs.search.helpers import PASSAGES, ScriptedDense, scripted_hybrid
from tests.profiles import examples

WORDS = ("ada", "born", "tarn", "mayor", "otto", "lind", "bees", "sea", "holm", "the")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
CORPORA = st.lists(TEXTS, min_size=1, max_size=8).map(
    lambda texts: tuple(Passage(f"p{i}", texts[0].split()[0].title(), text) for i, text in enumerate(texts))
)
FEW = examples(25)


def okapi(passages: Sequence[Passage], query: str, k1: float = 1.5, b: float = 0.75) -> list[float]:
    """BM25 by its formula, with Lucene's inverse document frequency."""
    texts = [words(f"{passage.title} {passage.text}") for passage in passages]
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        total = 0.0
        for word in words(query):
            having = sum(word in other for other in texts)
            if having:
                inverse = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
                count = text.count(word)
                total += inverse * count / (count + k1 * (1 - b + b * len(text) / mean))
        scores.append(total)
    return scores


@FEW
@given(CORPORA, TEXTS)
def test_bm25_is_its_formula(passages: tuple[Passage, ...], query: str) -> None:
    assert Bm25(passages).scores(query).tolist() == pytest.approx(okapi(passages, query), abs=1e-5)


@FEW
@given(CORPORA, TEXTS, st.sampled_from([0.0, 0.25, 0.5, 0.9]), st.integers(1, 9))
def test_hybrid_is_the_weighted_sum(passages: tuple[Passage, ...], query: str, alpha: float, k: int) -> None:
    def spread(scores: Sequence[float]) -> list[float]:
        low, high = min(scores), max(scores)
        return [(score - low) / (high - low) if high > low else 0.0 for score in scores]

    lexical = spread(bm25(passages).scores(query).tolist())
    embedded = spread(ScriptedDense(passages).scores(query).tolist())
    weighed = [alpha * share + (1 - alpha) * other for share, other in zip(lexical, embedded, strict=True)]
    index = scripted_hybrid(passages, alpha)
    assert index.scores(query).tolist() == pytest.approx(weighed)
    exact = index.scores(query).tolist()
    best = sorted(range(len(passages)), key=lambda i: (-exact[i], i))[:k]
    assert index.search(query, k) == tuple(passages[i] for i in best)


@FEW
@given(CORPORA, TEXTS, st.integers(1, 9))
def test_hybrid_of_bm25_alone_is_bm25(passages: tuple[Passage, ...], query: str, k: int) -> None:
    index = hybrid(passages, alpha=1)  # no model is needed
    assert index.name == "hybrid1"
    assert index.search(query, k) == bm25(passages).search(query, k)


@FEW
@given(CORPORA, TEXTS)
def test_renaming_passages_changes_nothing_but_ids(passages: tuple[Passage, ...], query: str) -> None:
    names = {passage.id: f"other-{len(passages) - i}" for i, passage in enumerate(passages)}
    renamed = tuple(Passage(names[passage.id], passage.title, passage.text) for passage in passages)
    for make in (bm25, lambda corpus: scripted_hybrid(corpus, 0.5)):
        result = make(passages).search(query, 5)
        assert [passage.id for passage in make(renamed).search(query, 5)] == [names[passage.id] for passage in result]


@FEW
@given(CORPORA, st.integers(0, 10))
def test_most_is_the_sum_of_the_largest_and_sizes_are_computed_once(passages: tuple[Passage, ...], depth: int) -> None:
    sized: list[str] = []

    def size(passage: Passage) -> int:
        sized.append(passage.id)
        return len(passage.text)

    index = ScriptedDense(passages)
    assert [index.most(k, size) for k in (1, depth, depth)][1:] == [
        sum(sorted((len(passage.text) for passage in passages), reverse=True)[:depth])
    ] * 2
    assert len(sized) == len(passages)


def test_bm25_finds_nothing_where_no_word_is_shared() -> None:
    index = bm25(PASSAGES)
    assert index.search("zebra?!", 5) == index.search("", 5) == ()
    assert [passage.id for passage in index.search("mayor of Tarn", 5)] == ["p2", "p1", "p3"]
    assert len(scripted_hybrid(PASSAGES, 0.5).search("zebra", 9)) == 4
    twins = bm25([Passage(name, "Same", "the same words") for name in "cab"])
    assert [passage.id for passage in twins.search("same words", 2)] == ["c", "a"]  # equal passages keep their order


def test_weights_and_depths_out_of_range() -> None:
    for alpha in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(SearchError, match="alpha is the weight of BM25, a number from 0 to 1"):
            hybrid(PASSAGES, alpha=alpha)
    with pytest.raises(SearchError, match="k=0"):
        bm25(PASSAGES).search("mayor", 0)


def test_corpora_and_models_that_cannot_be_used() -> None:
    twice = [Passage("1", "a", "b"), Passage("1", "c", "d")]
    for passages, message in (
        ([], "at least one passage"),
        ([Passage("1", "!", "?")], "have no words"),
        (twice, "two passages '1'; give each an id of its own"),
    ):
        with pytest.raises(SearchError, match=message):
            bm25(passages)
    with pytest.raises(SearchError, match="'bert' is no local model; give hf:PATH"):
        dense(PASSAGES, "bert")
    assert isinstance(Hybrid(Bm25(PASSAGES), None, 1.0), Index)
