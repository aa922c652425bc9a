from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.gsm_hard.errors import ArgumentError, TooManyNumbersError
from envs.gsm_hard.templates import CONSTANTS
from envs.gsm_hard.words import MOST_NUMBERS, Words, argument_token, argument_value, delexicalise, unknown_words


@pytest.mark.parametrize(
    ("text", "tokens", "numbers"),
    [
        ("Ada's 1,234,567 cups.", "ada 's n1 cups .", (1234567,)),
        ("It costs $90 or $3.50?", "it costs dollars n1 or dollars n2 ?", (90, 3.5)),
        ("30% of 0.5", "n1 percent of n2", (30, 0.5)),
        ("a 25-page book; 25 pages!", "a n1 page book , n2 pages .", (25, 25)),
        ("Wendi’s .5 l, 12,34 and 1,234,5678", "wendi 's n1 l , n2 , n3 and n4 , n5", (0.5, 12, 34, 1234, 5678)),
        ("n1 v2 #3 -> <plan> text:", "n n1 v n2 n3 plan text ,", (1, 2, 3)),
        ("", "", ()),
    ],
)
def test_texts_are_taken_apart(text: str, tokens: str, numbers: tuple[float, ...]) -> None:
    assert delexicalise(text) == Words(tuple(tokens.split()), tuple(map(float, numbers)))


@given(st.text(alphabet="0123456789.,$%-ax #'é²½ \n", max_size=60) | st.text(max_size=100))
def test_any_text_can_be_taken_apart(text: str) -> None:
    try:
        words = delexicalise(text)
    except TooManyNumbersError:
        assert sum(character.isdigit() for character in text) > MOST_NUMBERS
        return
    slots = [token for token in words.tokens if token[0] == "n" and token[1:].isdecimal()]
    assert slots == [f"n{number + 1}" for number in range(len(words.numbers))]
    assert all(map(math.isfinite, words.numbers))
    assert not any(character.isspace() or character in "#<>" for token in words.tokens for character in token)


def test_too_many_or_too_long_numbers_are_refused() -> None:
    assert len(delexicalise("7 " * MOST_NUMBERS).numbers) == MOST_NUMBERS
    with pytest.raises(TooManyNumbersError, match="13 numbers"):
        delexicalise("7 " * 13)
    with pytest.raises(TooManyNumbersError, match="digits"):
        delexicalise("9" * 400)


def test_unknown_words_are_listed_once() -> None:
    assert unknown_words("Ada sold 5 zeppelins, five zeppelins and 7 gizmos.") == ("zeppelins", "five", "gizmos")


def test_arguments_are_written_and_read_back() -> None:
    words = delexicalise("5 cups, 3.5 plates, 5 hats")
    for argument, token in ((5.0, "n1"), (3.5, "n2"), ("#4", "#4"), (100.0, "100"), (2.0, "2")):
        assert argument_token(argument, words) == token
        assert argument_value(token, words) == argument
    assert argument_value("n3", words) == 5.0
    assert {argument_value(str(constant), words) for constant in CONSTANTS} == set(map(float, CONSTANTS))


@pytest.mark.parametrize(
    "token", ["n4", "n0", "n", "#0", "#10", "#", "5", "02", "1e3", "", "n" + "9" * 5000, "ñ1", "n²"]
)
def test_what_is_no_argument_is_refused(token: str) -> None:
    words = delexicalise("5 cups, 3.5 plates, 5 hats")
    with pytest.raises(ArgumentError, match="3 numbers of the text"):
        argument_value(token, words)


@pytest.mark.parametrize("argument", [6.0, math.nan, "n1", "#12", "#0"])
def test_an_argument_that_cannot_be_written_is_refused(argument: float | str) -> None:
    with pytest.raises(ArgumentError, match="none of the constants"):
        argument_token(argument, delexicalise("5 cups"))
