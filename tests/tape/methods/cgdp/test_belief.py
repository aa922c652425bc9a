"""What enters a belief, which of its facts agree with a question, and what curation keeps."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.methods.cgdp.belief import MOST_WORDS, updated, verified
from tape.methods.cgdp.curation import BeliefCaps, curated, needs_curation, values_of
from tape.methods.cgdp.entailment import aligned, names
from tape.methods.cgdp.prompts import Extracted, Finding
from tape.methods.cgdp.view import Belief, Fact
from tape.protocols.search import Passage
from tests.profiles import examples
from tests.tape.methods.cgdp.policy import PASSAGES

EMPTY = Belief("structured", questions=("Who is the mayor of Tarn?", "Where was Ada born?"))
BY_ID = {passage.id: passage for passage in PASSAGES}


def test_a_quote_becomes_a_fact_with_its_source_and_how_it_was_judged() -> None:
    born, mayor = "Ada was  born in Tarn.", "The mayor of Tarn is Otto Lind."
    findings = Finding("p1", born), Finding("p2", mayor, "Lind governs.")
    update = updated(EMPTY, PASSAGES, Extracted(findings, resolved=(1,), questions=("Who is Otto Lind?",)))
    own = Fact(born, "p1", "Ada", born, "deterministic")
    assert update.belief.facts == (own, Fact("Lind governs.", "p2", "Tarn", mayor, "llm"))
    assert update.belief.questions == ("Who is Otto Lind?", "Who is the mayor of Tarn?")
    assert update.belief.resolved == ("Where was Ada born?",)


def test_what_is_not_in_its_source_is_refused() -> None:
    wrong = {
        Finding("p1", "Ada was born in Weil."): "not in",
        Finding("p9", "Ada was born in Tarn."): "no source",
        Finding("p1", " "): "quotes nothing",
        Finding("p1", "Ada was born in Tar"): "not in",  # half a word
        Finding("p1", "Ada was born in Tarn.", "word " * (MOST_WORDS + 1)): "longer than",
    }
    update = updated(EMPTY, PASSAGES, Extracted(tuple(wrong)))
    assert update.belief.facts == ()
    assert all(part in claim.reason for claim, part in zip(update.refused, wrong.values(), strict=True))


def test_nothing_is_resolved_without_a_fact_and_nothing_is_noted_twice() -> None:
    assert updated(EMPTY, PASSAGES, Extracted(resolved=(0, 1))).belief == EMPTY
    result = Extracted((Finding("p1", "Ada was born in Tarn."),), questions=("Who is the mayor of Tarn?", "New?"))
    once = updated(EMPTY, PASSAGES, result).belief
    twice = updated(once, PASSAGES, result)
    assert once.questions == ("New?", *EMPTY.questions)
    assert twice.belief == once
    assert [claim.reason for claim in twice.refused] == ["known already"]


def test_equal_words_of_two_people_are_two_facts() -> None:
    turns = [Passage(f"D1:{number}", name, "I play the flute.") for number, name in enumerate(("Bo", "Ada", "Ada"))]
    update = updated(EMPTY, turns, Extracted(tuple(Finding(turn.id, turn.text) for turn in turns)))
    assert [fact.subject for fact in update.added] == ["Bo", "Ada"]
    assert [claim.reason for claim in update.refused] == ["known already"]


QUOTES = st.sampled_from([p.text for p in PASSAGES] + PASSAGES[0].text.split()) | st.text()
FINDINGS = st.builds(Finding, st.sampled_from([*BY_ID, "p9"]), QUOTES, st.text(max_size=30))


@given(st.lists(FINDINGS, max_size=6))
def test_every_fact_re_verifies(findings: list[Finding]) -> None:
    update = updated(EMPTY, PASSAGES, Extracted(tuple(findings)))
    assert all(verified(fact, BY_ID) for fact in update.belief.facts)
    assert len(update.added) + len(update.refused) == len(findings)


TITLES = ("Ada", "Tarn", "Weil", "Caro", "Mel")


def about(subject: str, quote: str) -> Fact:
    return Fact(quote, subject.lower(), subject, quote, "deterministic")


def test_a_chain_of_facts_agrees_link_by_link() -> None:
    born = about("Ada", "Ada was born in Tarn.")
    mayor = about("Tarn", "Its mayor is Otto Lind.")
    other = about("Weil", "Its mayor is Ina Voss.")
    assert aligned("Who is the mayor of the town where Ada was born?", [mayor, other, born], TITLES) == (mayor, born)


@pytest.mark.parametrize(("whom", "agrees"), [(" to Mel", False), (" to Caro", True), ("", True)])
def test_a_fact_about_another_person_is_refused(whom: str, agrees: bool) -> None:
    gift = about("Caro", "My grandma gave me a necklace.")
    assert aligned(f"What did grandma give{whom}?", [gift], TITLES) == ((gift,) if agrees else ())


def test_names_are_whole_words_in_order() -> None:
    assert names("Otto Lind", "we met OTTO lind, there")
    assert not any((names("Otto Lind", "Lind Otto"), names("Ann", "Anna"), names("", "anything")))


def size(belief: Belief) -> int:
    """Words, and a few more for the form."""
    return 3 + sum(len(f.text.split()) + 2 for f in belief.facts) + sum(len(q.split()) + 1 for q in belief.questions)


def long_fact(i: int, words: int) -> Fact:
    text = " ".join([f"f{i}"] * words)
    return Fact(text, f"p{i}", "T", text, "deterministic")


@st.composite
def beliefs(draw: st.DrawFn) -> Belief:
    facts = [long_fact(i, words) for i, words in enumerate(draw(st.lists(st.integers(1, 12), max_size=7)))]
    sizes = draw(st.lists(st.integers(1, 6), max_size=5))
    return Belief("structured", tuple(facts), tuple(" ".join([f"q{i}"] * size) for i, size in enumerate(sizes)))


BELIEFS = beliefs()
TOKENS = st.none() | st.integers(0, 60)
CAPS = st.builds(lambda k, more, tokens: BeliefCaps(k + more, k, tokens), st.integers(1, 6), st.integers(0, 4), TOKENS)
RANKINGS = st.lists(st.integers(-1, 14), max_size=8)


@examples(120)
@given(BELIEFS, CAPS, RANKINGS)
def test_it_keeps_the_caps_and_the_words_and_is_idempotent(
    belief: Belief, caps: BeliefCaps, ranking: list[int]
) -> None:
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
def test_the_kept_items_have_the_highest_value(belief: Belief, caps: BeliefCaps, ranking: list[int]) -> None:
    if not needs_curation(belief, caps, size):
        return
    values = values_of(belief, ranking)
    items = [*belief.facts, *belief.questions]

    def of(chosen: tuple[int, ...]) -> Belief:
        facts = tuple(belief.facts[i] for i in chosen if i < len(belief.facts))
        return Belief("structured", facts, tuple(str(items[i]) for i in chosen if i >= len(belief.facts)))

    subsets = [c for n in range(min(caps.target, len(items)) + 1) for c in combinations(range(len(items)), n)]
    allowed = [c for c in subsets if caps.tokens is None or size(of(c)) <= caps.tokens]
    best = max((sum(values[i] for i in c) for c in allowed), default=0.0)
    kept = curated(belief, values, caps, size)
    here = [*kept.facts, *kept.questions]
    assert sum(values[i] for i, item in enumerate(items) if item in here) == best


def test_ranked_items_have_the_highest_values_then_the_newest() -> None:
    belief = Belief("structured", tuple(long_fact(i, 1) for i in range(3)), ("q",))
    values = values_of(belief, (2, 2, 9))
    assert sorted(range(4), key=lambda i: -values[i]) == [3, 2, 1, 0]
    assert values[3] > sum(values[:3])
