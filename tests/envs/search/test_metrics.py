"""Exact match, F1 and METEOR against cases worked out by hand, and stems against published ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.search.metrics import exact_match, f1, meteor_exact_stem, normalise, stem


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
