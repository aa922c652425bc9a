"""Which facts agree with a question in what they are about."""

from __future__ import annotations

import pytest

from tape.cgdp.alignment import aligned, names
from tape.cgdp.view import Fact

TITLES = ("Ada", "Tarn", "Weil", "Caro", "Mel")


def fact(subject: str, quote: str) -> Fact:
    return Fact(quote, subject.lower(), subject, quote, "deterministic")


def test_a_chain_of_facts_agrees_link_by_link() -> None:
    born = fact("Ada", "Ada was born in Tarn.")
    mayor = fact("Tarn", "Its mayor is Otto Lind.")
    other = fact("Weil", "Its mayor is Ina Voss.")
    assert aligned("Who is the mayor of the town where Ada was born?", [mayor, other, born], TITLES) == (mayor, born)


@pytest.mark.parametrize(("whom", "agrees"), [(" to Mel", False), (" to Caro", True), ("", True)])
def test_a_fact_about_another_person_is_refused(whom: str, agrees: bool) -> None:
    gift = fact("Caro", "My grandma gave me a necklace.")
    assert aligned(f"What did grandma give{whom}?", [gift], TITLES) == ((gift,) if agrees else ())


def test_names_are_whole_words_in_order() -> None:
    assert names("Otto Lind", "we met OTTO lind, there")
    assert not names("Otto Lind", "Lind Otto")
    assert not names("Ann", "Anna")
    assert not names("", "anything")
