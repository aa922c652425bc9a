"""The shipped corpus: retrievers on BM25, their measured quality, and the scripted reader."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.musique.corpus import PARTS, load_corpus, load_questions
from envs.musique.environment import tools
from envs.musique.errors import MusiqueError
from envs.musique.evidence import gold_chain
from envs.musique.plugin import PLUGIN
from envs.musique.retrieval import RETRIEVERS, Corpus
from envs.musique.scripted_reader import read
from envs.musique.wordings import RELATIONS, parse_query, query_text
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


@given(st.sampled_from(sorted(RELATIONS)), st.from_regex(r"[A-Z][a-z]{1,8}( of)?( [A-Z][a-z]{1,8})?", fullmatch=True))
def test_queries_are_read_back(relation: str, entity: str) -> None:
    assert parse_query(query_text(relation, entity)) == (relation, entity)


@pytest.mark.parametrize("text", ["", "founder", "founder of ", "colour of Aldera", "of Aldera", "founder Aldera"])
def test_other_texts_are_no_queries(text: str) -> None:
    assert parse_query(text) is None


def test_sizes_and_balance() -> None:
    assert 150 <= len({passage.id for passage in load_corpus()}) == len(load_corpus()) <= 250
    parts, whole = [load_questions(part) for part in PARTS], load_questions()
    assert [len(part) for part in parts] == [40, 80]
    assert {question.id for part in parts for question in part} == {question.id for question in whole}
    assert len({question.id for question in whole}) == 120
    assert Counter(question.operations for question in whole) == {2: 40, 3: 40, 4: 40}
    with pytest.raises(MusiqueError, match="no part 'train'; there is dev and test"):
        load_questions("train")


def test_every_question_is_answered_by_the_passages_alone() -> None:
    for question in load_questions()[::4]:
        chain = gold_chain(question, load_corpus())
        assert question.passages is None
        assert chain is not None
        assert question.operations == len(chain)
        assert chain[-1][1] == question.answer
        assert all(answer in passage.text for _, answer, passage in chain)


def test_it_reads_every_fact_of_every_passage_and_invents_none() -> None:
    seen = 0
    for passage in load_corpus():
        for relation in RELATIONS:
            stated = read(query_text(relation, passage.title), [passage])
            assert stated is None or stated in passage.text, (passage.text, relation)
            seen += stated is not None
    assert seen > 300
    assert read("who is there?", list(load_corpus())) is None


def test_it_is_named_wherever_it_is_used() -> None:
    options = {"data": None, "questions": "dev", "tightness": "tight", "reader": "scripted"}
    assert {task.level_set for task in PLUGIN.tasks(options)} == {"musique-dev-scripted-reader-tight"}
    with pytest.raises(MusiqueError, match="own passages alone"):
        PLUGIN.tasks({**options, "data": "x.jsonl"})
    with pytest.raises(MusiqueError, match="no reader"):
        tools(Corpus(load_corpus()), "oracle")
