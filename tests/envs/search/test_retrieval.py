"""Indexes against brute force, what they refuse, the options that name them, and measures of answers."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.search import Index, Passage, SearchError, bm25, dense, hybrid
from envs.search.environment import DEPTHS
from envs.search.metrics import exact_match, f1, meteor_exact_stem, normalise, stem
from envs.search.options import Retrieval, add_arguments, read_options
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


def read(*arguments: str) -> Retrieval:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return read_options(vars(parser.parse_args(arguments)))


def test_what_is_left_out_is_bm25_at_the_usual_depths() -> None:
    assert read() == read_options({}) == Retrieval(("bm25",), 0.5, DEPTHS, "minilm")
    assert read().label == "bm25"
    [index] = read().indexes(PASSAGES)
    assert index.name == "bm25"
    assert read().indexes(PASSAGES)[0] is index


def test_what_differs_is_named() -> None:
    assert read("--retriever", "hybrid, bm25", "--alpha", "0.9").label == "hybrid0.9-bm25"
    assert read("--depths", "10").label == "bm25-depths-10"
    assert read("--retriever", "dense", "--embeddings", "hf:model").label == "dense-hf:model"
    assert [index.name for index in read("--retriever", "hybrid,bm25", "--alpha", "1").indexes(PASSAGES)] == [
        "hybrid1",
        "bm25",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--retriever", "tfidf"], "there is no retriever 'tfidf'; there is: bm25, dense, hybrid"),
        (["--retriever", "bm25,bm25"], "names one twice"),
        (["--alpha", "0.5"], "--alpha weighs BM25 in hybrid"),
        (["--retriever", "hybrid", "--alpha", "1.5"], "a number from 0 to 1, got 1.5"),
        (["--retriever", "hybrid", "--alpha", "0.9000001"], "six digits at most"),
        (["--retriever", "hybrid", "--alpha", "nan"], "a number from 0 to 1, got nan"),
        (["--depths", "0"], "--depths are numbers of passages"),
        (["--depths", "5,,3"], "--depths are numbers of passages"),
        (["--depths", "5,5"], "names one twice: 5,5"),
        (["--depths", "9" * 4000], "--depths are numbers of passages"),
        (["--embeddings", "hf:model"], "--embeddings are for dense and hybrid"),
        (["--retriever", "hybrid", "--alpha", "1", "--embeddings", "hf:model"], "--embeddings are for"),
    ],
)
def test_what_cannot_be_read(arguments: list[str], message: str) -> None:
    with pytest.raises(SearchError, match=re.escape(message)):
        read(*arguments)


def test_calibration_is_of_the_options_that_were_measured() -> None:
    calibration = read("--retriever", "hybrid,bm25", "--depths", "5,7").calibration("musique-own-corpus")
    assert set(calibration) == {"hybrid0.5-5", "bm25-5"}
    assert all(0 < success <= 1 for success in calibration.values())
    lexical = read("--retriever", "hybrid", "--alpha", "1").calibration("musique-own-corpus")
    assert lexical == {f"hybrid1-{k}": read().calibration("musique-own-corpus")[f"bm25-{k}"] for k in (5, 3, 10)}
    deeper = read("--depths", "1,3,5,10,20").calibration("musique-own-corpus")
    assert list(deeper.values()) == sorted(deeper.values())
    assert len(deeper) == 5
    other = read("--retriever", "dense,bm25", "--embeddings", "hf:model")
    assert other.calibration("musique-own-corpus") == read().calibration("nobody knows it") == {}


def test_normal_form() -> None:
    normal = {"The  Belmar-Yards!": "belmaryards", "an A. the": "", "Theodor Another": "theodor another", "a\tb": "b"}
    assert {text: normalise(text) for text in normal} == normal


@pytest.mark.parametrize(
    ("given_answer", "answers", "match", "score"),
    [
        ("the Belmar Yards.", ["Belmar yards"], True, 1.0),
        ("Belmar", ["Belmar Yards"], False, 2 / 3),  # precision 1, recall 1/2
        ("big big fish", ["big fish fish fish"], False, 4 / 7),  # 2 in common of 3 and 4
        ("Tal", ["Aldera", "Tal of Oris", "The Tal"], True, 1.0),
        ("Tal", ["Aldera", "Tal of Oris"], False, 0.5),  # precision 1, recall 1/3
        ("", ["Aldera"], False, 0.0),
        ("the", ["a"], True, 1.0),
        ("Tal", [], False, 0.0),
    ],
)
def test_by_hand(given_answer: str, answers: list[str], match: bool, score: float) -> None:
    assert exact_match(given_answer, answers) is match
    assert f1(given_answer, answers) == pytest.approx(score)


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=4))
def test_f1_is_a_share_and_one_exactly_where_the_words_are_the_same(given_answer: str, answers: list[str]) -> None:
    score = f1(given_answer, answers)
    assert 0.0 <= score <= 1.0
    if exact_match(given_answer, answers):
        assert score == 1.0
    same_words = any(sorted(normalise(given_answer).split()) == sorted(normalise(a).split()) for a in answers)
    assert (score == pytest.approx(1.0)) == same_words


@given(st.text(max_size=30), st.text(max_size=30))
def test_f1_does_not_care_which_is_which(first: str, second: str) -> None:
    assert f1(first, [second]) == pytest.approx(f1(second, [first]))


@pytest.mark.parametrize(
    ("given_answer", "answers", "score"),
    [
        ("Tarn", ["Tarn"], 0.5),  # m = 1, one chunk: 1 (1 - .5)
        ("the old mayor of Tarn", ["the old mayor of Tarn"], 1 - 0.5 / 125),  # m = 5, one chunk
        ("a cat sat", ["sat a cat"], 1 - 0.5 * (2 / 3) ** 3),  # m = 3, chunks "a cat" and "sat"
        ("he paints ships", ["She painted a ship"], 10 / 3 / 6.5 * 0.5),  # stems: m = 2, P = 2/3, R = 1/2, two chunks
        ("x y", ["x y z w", "q"], 10 * 0.5 / (0.5 + 9) * (1 - 0.5 / 8)),  # P = 1, R = 1/2, one chunk
        ("a b", ["b c a b"], 10 * 0.5 / (0.5 + 9) * (1 - 0.5 / 8)),  # the run "a b", not the first b
        ("Bo", ["Tarn"], 0.0),
        ("", ["Tarn"], 0.0),
    ],
)
def test_meteor_by_hand(given_answer: str, answers: list[str], score: float) -> None:
    assert meteor_exact_stem(given_answer, answers) == pytest.approx(score)


PORTER = (
    "caresses caress ponies poni cats cat feed feed agreed agre plastered plaster bled bled motoring motor sing sing "
    "conflated conflat troubled troubl sized size hopping hop falling fall hissing hiss failing fail filing file happy "
    "happi sky sky relational relat conditional condit valenci valenc digitizer digit operator oper feudalism feudal "
    "hopefulness hope formaliti formal triplicate triplic formative form electrical electr goodness good revival reviv "
    "adoption adopt replacement replac irritant irrit effective effect probate probat rate rate cease ceas controll "
    "control roll roll generalizations gener oscillators oscil by by"
)


def test_stems_are_those_that_porter_published() -> None:
    words = PORTER.split()
    assert {word: stem(word) for word in words[::2]} == dict(zip(words[::2], words[1::2], strict=True))
