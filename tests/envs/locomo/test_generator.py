"""Invented conversations: turns state the answers of the questions, and no turn states another one."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.locomo.dialogue import Dialogue, DialogueQuestion
from envs.locomo.errors import LocomoError
from envs.locomo.facts import draw_world
from envs.locomo.generator import SIZES, dialogue, dialogues
from envs.locomo.relations import relations
from envs.locomo.words import PARTS, Part, draw, is_open, known_kinds, part_of, spellings, words
from envs.search.metrics import exact_match
from tests.profiles import examples

A_FEW = 6


@cache
def some(part: Part, count: int = A_FEW) -> tuple[Dialogue, ...]:
    return tuple(dialogue(seed, part) for seed in range(count))


def asked(part: Part) -> list[tuple[Dialogue, DialogueQuestion]]:
    return [(talk, question) for talk in some(part) for question in talk.questions]


@pytest.mark.parametrize("part", PARTS)
def test_evidence_states_the_answer(part: Part) -> None:
    for talk, question in asked(part):
        turns = {passage.id: passage for passage in talk.passages}
        assert question.evidence == tuple(hop.turn for hop in question.hops)
        assert len(set(question.evidence)) == len(question.evidence)
        for hop in question.hops:
            assert hop.quote in turns[hop.turn].text
            assert hop.value in hop.quote
        if question.answerable:
            assert exact_match(question.hops[-1].value, question.answers)
            assert question.sub_questions == tuple(hop.sub_question for hop in question.hops)
        else:
            assert question.answers == question.sub_questions == ()
        if len(question.hops) == 2:
            first, second = question.hops
            matches = first.value in talk.speakers and turns[second.turn].title == first.value
            assert matches or first.value in second.quote
            assert first.value in second.sub_question


@given(st.integers(0, 10_000), st.sampled_from(PARTS))
@examples(8)
def test_nothing_supports_a_question_without_an_answer(seed: int, part: Part) -> None:
    """By brute force: every turn is parsed again by the wordings alone."""
    talk = dialogue(seed, part)
    stated = {name: [fact for p in talk.passages if p.title == name for fact in read(p.text)] for name in talk.speakers}
    for question in talk.questions:
        [name] = [each for each in talk.speakers if re.search(rf"\b{each}\b", question.text)]
        [other] = {*talk.speakers} - {name}
        relation, key, _ = read_hop(talk, question.hops[0].turn, question.hops[0].quote)
        mine = [value for r, k, value in stated[name] if (r, k) == (relation, key)]
        theirs = [value for r, k, value in stated[other] if (r, k) == (relation, key)]
        if question.answerable:
            assert mine == [question.hops[0].value]
        else:
            assert mine == []
            assert theirs == [question.hops[0].value]


def read(text: str) -> list[tuple[str, str, str]]:
    """Every relation, key and value that a turn states, by the wordings of the data files."""
    pairs = []
    for relation, literal, pattern in patterns():
        for match in pattern.finditer(text) if literal in text else ():
            parts = match.groupdict()
            pairs.append((relation, parts.get("key", ""), parts["value"]))
    return pairs


def read_hop(talk: Dialogue, turn: str, quote: str) -> tuple[str, str, str]:
    [passage] = [passage for passage in talk.passages if passage.id == turn]
    assert quote in passage.text
    [fact] = set(read(passage.text))
    return fact


@cache
def patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    """The relation, the longest literal and the pattern of every wording."""
    members = {kind: "|".join(map(re.escape, words().kinds[kind])) for kind in words().kinds}
    name = "|".join([*words().women, *words().men])
    made = f"(?:{'|'.join(words().starts)})(?:{'|'.join(words().ends)})"
    members |= {
        "person": name, "speaker": name, "town": made, "firm": made,
        "pet": f"(?:{'|'.join(words().pets)})(?:{'|'.join(words().pet_ends)})",
        "thing": f"(?:{'|'.join(words().adjectives)}) (?:{'|'.join(words().nouns)})",
        "title": f"The (?:{'|'.join(words().firsts)}) (?:{'|'.join(words().seconds)})",
        "date": f"[0-9]+ (?:{members['month']})",
    }  # fmt: skip
    compiled = []
    for relation in relations():
        for wording in relation.said:
            pattern = re.escape(wording.text)
            for slot, kind in (("key", relation.key), ("value", relation.value)):
                pattern = pattern.replace(rf"\{{{slot}\}}", f"(?P<{slot}>{members.get(kind, '')})")
            # Fact sentences stand at the begin of a turn or behind a sentence.
            literal = max(re.split(r"\{\w+\}", wording.text), key=len)
            compiled.append((relation.name, literal, re.compile(rf"(?:^|(?<=[.!?] )){pattern}(?= |$)")))
    return compiled


def test_parts_share_no_turn_no_question_and_no_name() -> None:
    turns = {part: {passage.text for talk in some(part) for passage in talk.passages} for part in PARTS}
    questions = {part: {question.text for _, question in asked(part)} for part in PARTS}
    speakers = {part: {name for talk in some(part) for name in talk.speakers} for part in PARTS}
    for text, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        for by_part in (turns, questions, speakers):
            assert not by_part[text] & by_part[other]  # type: ignore[index]
    for part in PARTS:
        for seed in range(3):
            for fact in draw_world(random.Random(seed), part).facts.values():
                relation = fact.relation
                assert part_of(fact.sentence) == part
                made = [m for kind, m in ((relation.key, fact.key), (relation.value, fact.value)) if is_open(kind)]
                assert all(part_of(name) == part for name in made)


def test_the_sets_for_evaluation() -> None:
    assert [talk.name for talk in dialogues("dev")] == [f"dev-{n}" for n in range(SIZES["dev"])]
    assert sum(len(talk.questions) for talk in dialogues("test")) == 240
    for call in (lambda: dialogue(0, "exam"), lambda: dialogues("train")):
        with pytest.raises(LocomoError, match="there is no"):
            call()


def test_every_kind_can_be_drawn_and_spelled() -> None:
    rng = random.Random(5)
    for kind in known_kinds(words()):
        if kind != "speaker":
            drawn = {draw(rng, words(), "dev", kind, {"sister"}) for _ in range(40)}
            assert len(drawn) >= 5
            assert "sister" not in drawn
            assert not is_open(kind) or all(part_of(name) == "dev" for name in drawn)
            assert all(spellings(kind, name)[0] == name for name in drawn)
    assert spellings("date", "4 May") == ("4 May", "May 4")
    assert spellings("money", "30 euros") == ("30 euros", "30")
