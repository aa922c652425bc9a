"""Actions as text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.hotpotqa.actions import Find, Finish, HotpotAnswer, ParagraphSearch, read, write
from envs.hotpotqa.errors import HotpotError

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=40).map(lambda text: " ".join(text.split()))


@given(st.integers(1, 9), WORDS, WORDS, WORDS, WORDS)
def test_findings_are_read_as_they_were_written(hop: int, finding: str, title: str, bridge: str, sub: str) -> None:
    made = Find(hop, finding, title, bridge, sub)
    assert read(write(made)) == made


@given(st.sampled_from([ParagraphSearch, HotpotAnswer]), WORDS.filter(bool))
def test_queries_and_answers_are_read_as_they_were_written(
    kind: type[ParagraphSearch | HotpotAnswer], text: str
) -> None:
    assert read(write(kind(text))) == kind(text)


def test_the_hop_may_be_left_out_and_extra_fields_are_ignored() -> None:
    text = json.dumps({"finding": "A", "title": "B", "bridge": "C", "why": "because"})
    assert read(f"find: {text}") == Find(1, "A", "B", "C")
    assert read(" finish ") == Finish()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("look: around", "an action is search"), ("search:", "an action is search"), ("find: Ada", "no JSON"),
        ("find: [1]", "takes an object"), ('find: {"finding": 3}', "are texts"), ('find: {"hop": 0}', "number from 1"),
        ('find: {"hop": 1' + "0" * 200 + "}", "number from 1"), ('find: {"hop": NaN}', "NaN is no number"),
        ('find: {"hop": true}', "number from 1"), ("answer: " + "x" * 3000, "at most 2000"),
    ],
)  # fmt: skip
def test_what_is_no_action_is_refused(text: str, message: str) -> None:
    with pytest.raises(HotpotError, match=message):
        read(text)
