"""Actions as text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.hotpotqa.actions import Answer, Find, Finish, Search, read, write
from envs.hotpotqa.errors import HotpotError

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=40).map(lambda text: " ".join(text.split()))


@given(st.integers(1, 9), WORDS, WORDS, WORDS, WORDS)
def test_findings_are_read_as_they_were_written(hop: int, finding: str, title: str, bridge: str, sub: str) -> None:
    made = Find(hop, finding, title, bridge, sub)
    assert read(write(made)) == made


@given(WORDS.filter(bool))
def test_queries_and_answers_are_read_as_they_were_written(text: str) -> None:
    assert read(write(Search(text))) == Search(text)
    assert read(write(Answer(text))) == Answer(text)


def test_the_hop_may_be_left_out_and_extra_fields_are_ignored() -> None:
    text = json.dumps({"finding": "A", "title": "B", "bridge": "C", "why": "because"})
    assert read(f"find: {text}") == Find(1, "A", "B", "C")
    assert read(" finish ") == Finish()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("look: around", "an action is search"),
        ("search:", "an action is search"),
        ("find: Ada", "no JSON"),
        ("find: [1]", "takes an object"),
        ('find: {"finding": 3}', "are texts"),
        ('find: {"hop": 0}', "number from 1"),
        ('find: {"hop": 1' + "0" * 200 + "}", "number from 1"),
        ("find: " + "[" * 1900, "nested deeper"),
        ("find: " + "9" * 1900, "digits"),
        ('find: {"finding": "\\ud800"}', "half of a surrogate pair"),
        ('find: {"hop": NaN}', "NaN is no number"),
        ('find: {"hop": true}', "number from 1"),
        ("answer: " + "x" * 3000, "at most 2000"),
    ],
)
def test_what_is_no_action_is_said(text: str, said: str) -> None:
    with pytest.raises(HotpotError, match=said):
        read(text)
