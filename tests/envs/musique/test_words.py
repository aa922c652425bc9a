"""Names become slots, and queries are read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.musique.words import RELATIONS, VOCABULARY, delexicalise, parse_query, query_text


def test_the_same_name_gets_the_same_slot_in_all_texts() -> None:
    words = delexicalise(["Who founded Belmar Yards?", "The founder of Belmar Yards is Oris. Oris owns Aldera."])
    assert words.tokens == (
        ("who", "founded", "e1", "?"),
        ("the", "founder", "of", "e1", "is", "e2", ".", "e2", "owns", "e3", "."),
    )
    assert words.entities == ("Belmar Yards", "Oris", "Aldera")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Aldera's owner", ("e1", "'s", "owner")), ("Aldera’s owner", ("e1", "’s", "owner")),
        ("By O'Brien-Smith, in 1847!", ("by", "e1", ",", "in", "1847", "!")),
        ("The ship. The Fair Isle", ("the", "ship", ".", "the", "e1")), ("is The Fair", ("is", "e1")),
        ("Ülim is", ("e1", "is")), ("e1 -> <plan> #2", ("e", "1", "-", ">", "<", "plan", ">", "#", "2")), ("", ()),
    ],
)  # fmt: skip
def test_tokens(text: str, tokens: tuple[str, ...]) -> None:
    assert delexicalise([text]).tokens == (tokens,)


def test_the_vocabulary_is_of_lower_case_words() -> None:
    assert all(word == word.lower() and " " not in word for word in VOCABULARY)


@given(st.sampled_from(RELATIONS), st.from_regex(r"[A-Z][a-z]{1,8}( of)?( [A-Z][a-z]{1,8})?", fullmatch=True))
def test_queries_are_read_back(relation: str, entity: str) -> None:
    assert parse_query(query_text(relation, entity)) == (relation, entity)


@pytest.mark.parametrize("text", ["", "founder", "founder of ", "colour of Aldera", "of Aldera", "founder Aldera"])
def test_other_texts_are_no_queries(text: str) -> None:
    assert parse_query(text) is None


@given(st.lists(st.text(max_size=60), max_size=3))
def test_any_text_becomes_lower_case_words_and_slots(texts: list[str]) -> None:
    words = delexicalise(texts)
    assert len(words.tokens) == len(texts)
    slots = {f"e{i + 1}" for i in range(len(words.entities))}
    assert slots <= {token for tokens in words.tokens for token in tokens}
    for token in (token for tokens in words.tokens for token in tokens):
        assert token in slots or token == token.lower()
        assert not any(mark.isspace() for mark in token)
