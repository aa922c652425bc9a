"""The word lists and wordings of invented conversations."""

from __future__ import annotations

from envs.locomo.relations import Wording, by_name, choices, leads_to, pronouns, relations
from envs.locomo.words import PARTS, part_of, words


def test_every_relation_has_wordings_for_training_and_some_that_are_held_out() -> None:
    for relation in relations():
        for wordings in (relation.said, relation.asked, relation.linked, relation.described):
            held_out = choices(wordings, held_out=True)
            assert len(held_out) == (1 if wordings else 0)
            assert wordings == () or wordings[-1:] == tuple(held_out)
    firsts = {first.name for first in relations() for second in relations() if leads_to(first, second)}
    assert len(firsts) >= 10
    by = {relation.name: relation for relation in relations()}
    assert [one.name for one in relations() if leads_to(one, by["paid"])] == ["market"]  # a price is of a purchase
    assert not leads_to(by["kin_gift"], by["keeps"])  # it has no description


def test_names_are_divided_between_the_parts() -> None:
    for names in (words().women, words().men):
        assert all(sum(part_of(name) == part for name in names) >= 20 for part in PARTS)
    assert part_of("Runa") == part_of("RUNA")


def test_wordings_are_filled() -> None:
    asked = Wording("What did {who} give {his} {key}?", held_out=False)
    assert asked.slots == {"who", "his", "key"}
    assert asked.filled(**pronouns("Runa", woman=True), key="aunt") == "What did Runa give her aunt?"
    assert asked.filled(**by_name("Otto"), key="aunt") == "What did Otto give Otto's aunt?"
    assert Wording("{key} is fine.", held_out=False).filled(key="the old {one}") == "The old {one} is fine."
    assert Wording("the town of {key}", held_out=False).filled(key="Ada") == "the town of Ada"
