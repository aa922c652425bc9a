"""Worlds, their passages and the questions about them."""

import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.musique import wordings
from envs.musique.asking import ask, draw_chain, hops_of
from envs.musique.words import VOCABULARY, delexicalise
from envs.musique.world import MOST_SENTENCES, EntityWorld, describe, make_world
from tests.profiles import examples

SEEDS = st.integers(0, 30)


def chains(world: EntityWorld, rng: random.Random, hops: int, count: int) -> list[tuple[tuple[str, str, str], ...]]:
    drawn = (draw_chain(rng, world, hops) for _ in range(100_000))
    return [chain for chain, _ in zip((c for c in drawn if c is not None), range(count), strict=False)]


def words_only(tokens: Iterable[str]) -> set[str]:
    """The words of a text without the slots of its names."""
    return {token for token in tokens if not re.fullmatch(r"e[0-9]+", token)}


def test_held_out_wordings_have_no_word_that_training_has_not() -> None:
    seen = set(wordings.TYPES)
    texts = [*wordings.FRAMES.who[:-1], *wordings.FRAMES.what[:-1]]
    texts += [sentence for kind in wordings.ENTITY_TYPES.values() for sentence in kind.beside]
    for relation in wordings.RELATIONS.values():
        for group in (relation.sentences, relation.phrases, relation.questions):
            texts += group[:-1]
    for text in texts:
        seen.update(delexicalise([re.sub(r"\{\w+\}", " ", text)]).tokens[0])
    assert set(VOCABULARY) - seen <= set(wordings.RELATIONS)


@examples(15)
@given(SEEDS)
def test_worlds_contradict_nothing(seed: int) -> None:
    world = make_world(seed)
    assert world == make_world(seed)
    names = [name.lower() for name in world.kinds]
    assert not [(a, b) for a in names for b in names if a != b and a in b]
    assert not {word for name in names for word in name.split()[:1]} & set(VOCABULARY)
    for subject, facts in world.stated.items():
        assert 1 <= len(facts) <= 3
        assert len({relation for relation, _ in facts}) == len(facts)
        for name, answer in facts:
            relation = wordings.RELATIONS[name]
            assert world.kinds[subject] in relation.subjects
            assert world.kinds[answer] == relation.answer
            assert answer != subject
            assert world.truth[name, subject] == answer == world.answer(name, subject)
            if relation.symmetric:
                assert world.truth[name, answer] == subject
            if name in ("capital", "mouth"):
                assert world.truth[{"capital": "country", "mouth": "river"}[name], answer] == subject


@examples(15)
@given(SEEDS, st.booleans())
def test_passages_state_their_facts_in_known_words(seed: int, held_out: bool) -> None:
    world = make_world(seed)
    rng = random.Random(seed)
    for subject in world.kinds:
        text, unseen = describe(rng, world, subject, 1.0 if held_out else 0.0)
        assert unseen == (tuple(r for r, _ in world.stated[subject]) if held_out else ())
        assert 1 <= text.count(".") <= MOST_SENTENCES
        assert subject in text
        assert all(answer in text for _, answer in world.stated[subject])
        words = delexicalise([text])
        assert set(words.entities) <= set(world.kinds)
        assert words_only(words.tokens[0]) <= set(VOCABULARY)
        assert len(words.tokens[0]) <= 55


@pytest.mark.parametrize("hops", [2, 3, 4])
def test_questions_name_only_their_first_subject(hops: int) -> None:
    world = make_world(7)
    rng = random.Random(hops)
    for chain in chains(world, rng, hops, 200):
        subject = chain[0][1]
        for relation, its_subject, answer in chain:
            assert (its_subject, world.answer(relation, its_subject)) == (subject, answer)
            subject = answer
        assert len({chain[0][1], *(answer for _, _, answer in chain)}) == hops + 1
        asked = ask(rng, chain, held_out=rng.choice([0.0, 0.5]))
        words = delexicalise([asked.text])
        assert words.entities == (chain[0][1],)
        assert words.tokens[0].count("e1") == 1
        assert words_only(words.tokens[0]) <= set(VOCABULARY)
        assert asked.text[0].isupper()
        assert hops_of(chain)[0] == chain[0][:2]
        assert [subject for _, subject in hops_of(chain)[1:]] == [f"#{i}" for i in range(1, hops)]


def test_held_out_wordings_are_taken_only_where_asked_for() -> None:
    world = make_world(3)
    rng = random.Random(0)
    drawn = chains(world, rng, 3, 300)
    assert not any(ask(rng, chain).held_out for chain in drawn)
    assert all(ask(rng, chain, 1.0).held_out for chain in drawn)
