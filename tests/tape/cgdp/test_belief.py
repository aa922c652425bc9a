"""What enters a belief, and what does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tape.cgdp.belief import MOST_WORDS, updated, verified
from tape.cgdp.prompts.format import Extracted, Finding
from tape.cgdp.view import Belief, Fact
from tape.protocols.search import Passage
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
