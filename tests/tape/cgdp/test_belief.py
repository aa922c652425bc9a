"""What enters a belief, which of its facts agree with a question, and what curation keeps."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.cgdp.alignment import aligned, names
from tape.cgdp.belief import MOST_WORDS, updated, verified
from tape.cgdp.curation import Caps, curated, needs_curation, values_of
from tape.cgdp.prompts.format import Extracted, Finding
from tape.cgdp.view import Belief, Fact
from tape.protocols.search import Passage
from tests.profiles import examples
from tests.tape.cgdp.policy import PASSAGES

EMPTY = Belief("structured", questions=("Who is the mayor of Tarn?", "Where was Ada born?"))
BY_ID = {passage.id: passage for passage in PASSAGES}


def test_a_quote_becomes_a_fact_with_its_source_and_how_it_was_judged() -> None:
    findings = (
        Finding("p1", "Ada was  born in Tarn."),
        Finding("p2", "The mayor of Tarn is Otto Lind.", "Lind governs."),
    )
    update = updated(EMPTY, PASSAGES, Extracted(findings, resolved=(1,), questions=("Who is Otto Lind?",)))
    first, second = update.belief.facts
    quote = "Ada was  born in Tarn."
    assert first == Fact(quote, "p1", "Ada", quote, "deterministic")
    assert (second.text, second.quote, second.judged) == ("Lind governs.", "The mayor of Tarn is Otto Lind.", "llm")
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
    assert all(part in one.reason for one, part in zip(update.refused, wrong.values(), strict=True))


def test_nothing_is_resolved_without_a_fact_and_nothing_is_noted_twice() -> None:
    assert updated(EMPTY, PASSAGES, Extracted(resolved=(0, 1))).belief == EMPTY
    found = Extracted((Finding("p1", "Ada was born in Tarn."),), questions=("Who is the mayor of Tarn?", "New?"))
    once = updated(EMPTY, PASSAGES, found).belief
    twice = updated(once, PASSAGES, found)
    assert once.questions == ("New?", *EMPTY.questions)
    assert twice.belief == once
    assert [one.reason for one in twice.refused] == ["known already"]


def test_what_two_people_say_in_the_same_words_is_two_facts() -> None:
    turns = [Passage(f"D1:{number}", name, "I play the flute.") for number, name in enumerate(("Bo", "Ada", "Ada"))]
    update = updated(EMPTY, turns, Extracted(tuple(Finding(turn.id, turn.text) for turn in turns)))
    assert [fact.subject for fact in update.added] == ["Bo", "Ada"]
    assert [one.reason for one in update.refused] == ["known already"]


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
    assert not names("Otto Lind", "Lind Otto")
    assert not names("Ann", "Anna")
    assert not names("", "anything")


def size(belief: Belief) -> int:
    """Words, and a few more for the form."""
    return 3 + sum(len(f.text.split()) + 2 for f in belief.facts) + sum(len(q.split()) + 1 for q in belief.questions)


def long_fact(i: int, words: int) -> Fact:
    text = " ".join([f"f{i}"] * words)
    return Fact(text, f"p{i}", "T", text, "deterministic")


BELIEFS = st.builds(
    lambda facts, questions: Belief(
        "structured",
        tuple(long_fact(i, words) for i, words in enumerate(facts)),
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
    belief = Belief("structured", tuple(long_fact(i, 1) for i in range(3)), ("q",))
    worth = values_of(belief, (2, 2, 9))
    assert sorted(range(4), key=lambda i: -worth[i]) == [3, 2, 1, 0]
    assert worth[3] > sum(worth[:3])
