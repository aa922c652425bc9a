"""Exact match and F1 against cases worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.search.metrics import exact_match, f1, normalise


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
