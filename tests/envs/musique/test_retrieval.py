"""Retrievers on BM25: their measured quality, and that calls repeat."""

from collections.abc import Sequence

import numpy as np
import pytest

from envs.musique.corpus import load_corpus
from envs.musique.errors import MusiqueError
from envs.musique.retrieval import RETRIEVERS, Corpus
from envs.musique.scripted_reader import read
from envs.musique.wordings import RELATIONS, query_text
from tape.protocols.search import Passage


def gold() -> list[tuple[str, str]]:
    """Every single-hop query that a passage answers about what it is of, with the title of that passage."""
    asked = [(query_text(relation, item.title), item) for item in load_corpus() for relation in RELATIONS]
    return [(query, passage.title) for query, passage in asked if read(query, [passage]) is not None]


def recall(corpus: Corpus, queries: Sequence[tuple[str, str]], variant: str, seed: int) -> float:
    flags = [any(p.title == title for p in corpus.retrieve(query, variant, seed)) for query, title in queries]
    return sum(flags) / len(flags)


def test_measured_recall_is_the_declared_quality() -> None:
    corpus, queries = Corpus(load_corpus()), gold()
    assert len(queries) > 300
    measured = [recall(corpus, queries, variant.name, seed=0) for variant in RETRIEVERS]
    assert measured == sorted(measured)
    for variant, share in zip(RETRIEVERS, measured, strict=True):
        assert variant.quality is not None
        assert share == pytest.approx(variant.quality, abs=0.05)


def test_without_noise_the_index_finds_every_gold_passage() -> None:
    corpus = Corpus(load_corpus())
    for query, title in gold():
        best = np.argsort(-corpus.scores(query), kind="stable")[:3]
        assert title in {corpus.passages[i].title for i in best}


def test_the_same_call_gives_the_same_passages() -> None:
    first, second = Corpus(load_corpus()), Corpus(load_corpus())
    calls = [(q, v.name, s) for q in ("founder of Ulimar Partners", "nonsense") for v in RETRIEVERS for s in (0, "a")]
    once = [first.retrieve(*call) for call in calls]
    assert once == [second.retrieve(*call) for call in reversed(calls)][::-1]
    assert all(len(passages) == 3 for passages in once)
    assert len({tuple(passages) for passages in once}) > len(calls) // 2


def test_unknown_words_and_small_and_broken_corpora() -> None:
    corpus = Corpus(load_corpus())
    for query in ("", "?!", "zzzz"):
        assert not corpus.scores(query).any()
        assert len(corpus.retrieve(query, "v5", 0, k=5)) == 5
    item = Corpus([Passage("1", "Aldera", "Tal built Aldera.")])
    assert item.retrieve("builder of Aldera", "v5", 0) in ([], list(item.passages))
    with pytest.raises(MusiqueError, match="at least one passage"):
        Corpus([])
    with pytest.raises(MusiqueError, match="no words"):
        Corpus([Passage("1", "!", "?")])
    with pytest.raises(MusiqueError, match="no retriever 'v9'; there is: v1, v2"):
        item.retrieve("builder of Aldera", "v9", 0)
