"""Names become slots, and queries are read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.musique.errors import TooManyEntitiesError
from envs.musique.words import RELATIONS, VOCABULARY, delexicalise, parse_query, query_text, unknown_words


def test_the_same_name_gets_the_same_slot_in_all_texts() -> None:
    words = delexicalise(["Who founded Belmar Yards?", "The founder of Belmar Yards is Oris. Oris owns Aldera."])
    assert words.tokens == (
        ("who", "founded", "e1", "?"),
        ("the", "founder", "of", "e1", "is", "e2", ".", "e2", "owns", "e3", "."),
    )
    assert words.entities == ("Belmar Yards", "Oris", "Aldera")
    assert [words.slot(name) for name in (*words.entities, "Tal")] == ["e1", "e2", "e3", None]
    names = [words.name(slot) for slot in ("e1", "e3", "e4", "e0", "none")]
    assert names == ["Belmar Yards", "Aldera", None, None, None]


def test_given_entities_keep_the_first_slots() -> None:
    words = delexicalise(["Tal built Aldera."], ["Aldera", "Nobody", "Aldera"])
    assert words.tokens == (("e3", "built", "e1", "."),)
    assert words.entities == ("Aldera", "Nobody", "Tal")


def test_given_entities_without_capitals_are_found_by_their_words() -> None:
    words = delexicalise(["The house of the Old fox fell. House of the old fox."], ["old fox", "house of the old fox"])
    assert words.tokens == (("the", "e2", "fell", ".", "e2", "."),)
    assert delexicalise(["River Run is long."], ["River Run"]).tokens == (("e1", "is", "long", "."),)


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


def test_more_than_forty_names_are_refused() -> None:
    names = [f"A{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(41)]
    assert len(delexicalise([", ".join(names[:40])]).entities) == 40
    with pytest.raises(TooManyEntitiesError, match="more than 40 different names"):
        delexicalise([", ".join(names)])


def test_unknown_words() -> None:
    assert unknown_words(["the", "e1", "e40", "e41", "zebra", "owner", "zebra"]) == ["e41", "zebra"]
    assert not unknown_words(VOCABULARY)
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
