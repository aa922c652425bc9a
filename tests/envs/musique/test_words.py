"""Queries are read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.musique.wordings import RELATIONS, parse_query, query_text


@given(st.sampled_from(sorted(RELATIONS)), st.from_regex(r"[A-Z][a-z]{1,8}( of)?( [A-Z][a-z]{1,8})?", fullmatch=True))
def test_queries_are_read_back(relation: str, entity: str) -> None:
    assert parse_query(query_text(relation, entity)) == (relation, entity)


@pytest.mark.parametrize("text", ["", "founder", "founder of ", "colour of Aldera", "of Aldera", "founder Aldera"])
def test_other_texts_are_no_queries(text: str) -> None:
    assert parse_query(text) is None
