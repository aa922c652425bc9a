from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.gsm_hard.generator import GsmWords, delexicalise


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
    assert delexicalise(text) == GsmWords(tuple(tokens.split()), tuple(map(float, numbers)))


@given(st.text(alphabet="0123456789.,$%-ax #'é²½ \n", max_size=60) | st.text(max_size=100))
def test_any_text_can_be_taken_apart(text: str) -> None:
    words = delexicalise(text)
    slots = [token for token in words.tokens if token[0] == "n" and token[1:].isdecimal()]
    assert slots == [f"n{number + 1}" for number in range(len(words.numbers))]
    assert not any(character.isspace() or character in "#<>" for token in words.tokens for character in token)
