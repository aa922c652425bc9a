"""Curation against all subsets."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tape.cgdp.curation import Caps, curated, needs_curation, values_of
from tape.cgdp.view import Belief, Fact
from tests.profiles import examples


def size(belief: Belief) -> int:
    """Words, and a few more for the form."""
    return 3 + sum(len(f.text.split()) + 2 for f in belief.facts) + sum(len(q.split()) + 1 for q in belief.questions)


def fact(i: int, words: int) -> Fact:
    text = " ".join([f"f{i}"] * words)
    return Fact(text, f"p{i}", "T", text, "deterministic")


BELIEFS = st.builds(
    lambda facts, questions: Belief(
        "structured",
        tuple(fact(i, words) for i, words in enumerate(facts)),
        tuple(" ".join([f"q{i}"] * words) for i, words in enumerate(questions)),
    ),
    st.lists(st.integers(1, 12), max_size=7),
    st.lists(st.integers(1, 6), max_size=5),
)
CAPS = st.builds(
    lambda target, more, tokens: Caps(target + more, target, tokens),
    st.integers(1, 6),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(0, 60)),
)
RANKINGS = st.lists(st.integers(-1, 14), max_size=8)


@examples(120)
@given(BELIEFS, CAPS, RANKINGS)
def test_it_keeps_the_caps_and_the_words_and_is_idempotent(belief: Belief, caps: Caps, ranking: list[int]) -> None:
    kept = curated(belief, values_of(belief, ranking), caps, size)
    if needs_curation(belief, caps, size):
        assert kept.items <= caps.target
        assert caps.tokens is None or size(kept) <= caps.tokens or not kept.items
    else:
        assert kept == belief
    assert set(kept.facts) <= set(belief.facts)
    assert set(kept.questions) <= set(belief.questions)
    assert curated(kept, values_of(kept, ()), caps, size) == kept


@examples(60)
@given(BELIEFS, CAPS, RANKINGS)
def test_what_is_kept_is_worth_most(belief: Belief, caps: Caps, ranking: list[int]) -> None:
    if not needs_curation(belief, caps, size):
        return
    worth = values_of(belief, ranking)
    items = [*belief.facts, *belief.questions]

    def of(chosen: tuple[int, ...]) -> Belief:
        facts = tuple(belief.facts[i] for i in chosen if i < len(belief.facts))
        return Belief("structured", facts, tuple(str(items[i]) for i in chosen if i >= len(belief.facts)))

    subsets = [c for n in range(min(caps.target, len(items)) + 1) for c in combinations(range(len(items)), n)]
    allowed = [c for c in subsets if caps.tokens is None or size(of(c)) <= caps.tokens]
    best = max((sum(worth[i] for i in c) for c in allowed), default=0.0)
    kept = curated(belief, worth, caps, size)
    here = [*kept.facts, *kept.questions]
    assert sum(worth[i] for i, item in enumerate(items) if item in here) == best


def test_what_is_ranked_first_is_worth_most_and_the_newest_of_the_rest() -> None:
    belief = Belief("structured", tuple(fact(i, 1) for i in range(3)), ("q",))
    worth = values_of(belief, (2, 2, 9))
    assert sorted(range(4), key=lambda i: -worth[i]) == [3, 2, 1, 0]
    assert worth[3] > sum(worth[:3])
