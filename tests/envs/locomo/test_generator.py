"""Invented conversations, of which turns state the answers of questions and no turn states another; public files."""

from __future__ import annotations

import os
import random
import re
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.data_files import DataFileError
from envs.locomo.dialogue import Dialogue, DialogueQuestion
from envs.locomo.errors import LocomoError
from envs.locomo.facts import draw_world
from envs.locomo.generator import SIZES, dialogue, dialogues
from envs.locomo.loader import CATEGORIES, DialogueLeftOutWarning, load
from envs.locomo.relations import relations
from envs.locomo.words import PARTS, Part, draw, is_open, known_kinds, part_of, spellings, words
from envs.search.metrics import exact_match
from tape.protocols.search import Passage
from tests.envs.locomo.helpers import conversation, turn, write
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


def test_turns_come_with_their_time_and_picture(tmp_path: Path) -> None:
    [talk] = load(write(tmp_path, conversation()))
    assert (talk.name, talk.speakers) == ("conv-1", ("Runa", "Otto"))
    assert talk.passages == (
        Passage("D1:1", "Runa", "(10:00 am on 2 May, 2031) Hello Otto, I planted beans today."),
        Passage("D1:2", "Otto", "(10:00 am on 2 May, 2031) Nice! My bench is green now. [picture: a green bench]"),
        Passage("D2:1", "Otto", "I am off to Tarn with my aunt."),
    )


def test_the_paper_s_categories_are_the_default(tmp_path: Path) -> None:
    file = write(tmp_path, conversation())
    [talk] = load(file)
    assert talk.questions == (
        DialogueQuestion("q1", "What did Runa plant?", "single", ("beans",), ("D1:1",)),
        DialogueQuestion("q2", "What did Otto plant?", "swapped", (), ("D1:1",)),
    )
    assert [question.answerable for question in talk.questions] == [True, False]
    [talk] = load(file, tuple(CATEGORIES))
    assert [(q.id, q.kind) for q in talk.questions[2:]] == [
        ("q3", "multi-hop"),
        ("q4", "temporal"),
        ("q5", "open-domain"),
    ]
    several, number, none = talk.questions[2:]
    assert several.evidence == ("D1:2", "D2:1")  # two in one entry, one of them with a leading zero
    assert number.answers == ("2031",)
    assert none.evidence == ()
    assert all(question.sub_questions == () for question in talk.questions)


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    qa = conversation()["qa"]
    again = {"question": "What did  Runa plant?", "answer": "peas", "evidence": ["D1:1", "D", "D7:7"], "category": 4}
    file = write(tmp_path, conversation(qa=[*qa, again]))
    with pytest.warns(
        DialogueLeftOutWarning, match=r"1 questions that came before.*, 2 entries of evidence .*'D', 'D7:7'"
    ):
        [talk] = load(file)
    assert [question.answers for question in talk.questions] == [("beans",), ()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write(tmp_path, conversation()))


def talking(**changes: Any) -> dict[str, Any]:
    talk = {name: value for name, value in (conversation()["conversation"] | changes).items() if value is not ...}
    return conversation(conversation=talk)


def asking(**changes: Any) -> dict[str, Any]:
    first, *others = conversation()["qa"]
    asked = {name: value for name, value in (first | changes).items() if value is not ...}
    return conversation(qa=[*others, asked])


ASKED = "conversation 1, question 5"
TURN = "conversation 1, session_1, turn 1"


@pytest.mark.parametrize(
    ("bad", "record", "field", "problem"),
    [
        ('{\n"a": 1,\n}', "line 3", "", "no JSON"),
        ("[]", "", "", "holds no array of conversations"),
        (7, "conversation 1", "", "is 7; give an object"),
        (conversation(conversation=...), "conversation 1", "conversation", "is missing"),
        (conversation(sample_id=3), "conversation 1", "sample_id", "is 3"),
        (conversation(qa=...), "conversation 1", "qa", "is missing; give a list"),
        (conversation(qa=[]), "", "qa", "holds no question of category 4, 5"),
        (talking(speaker_b=" "), "conversation 1", "speaker_b", "not empty"),
        (talking(session_1=..., session_2=...), "conversation 1", "conversation", "has no turns"),
        (
            talking(session_1=[turn(1, "-", "...")], session_1_date_time=..., session_2=...),
            "conversation 1",
            "conversation",
            "has no word",
        ),
        (talking(session_1_date_time=5), "conversation 1, session_1", "session_1_date_time", "is 5"),
        (talking(session_1=[turn(1, "", "x")]), TURN, "speaker", "not empty"),
        (talking(session_1=[turn(1, "Runa", "")]), TURN, "text", "give the words of the turn"),
        (talking(session_1=[turn(1, "Runa", "x", dia_id=7)]), TURN, "dia_id", "is 7"),
        (talking(session_1=[turn(1, "Runa", "x", 2)]), "conversation 1, session_2, turn 1", "dia_id", "came before"),
        (asking(category="4"), ASKED, "category", "is '4'; give a number: 1, 2, 3, 4, 5"),
        (asking(question="why " * 600), ASKED, "question", "at most 2000"),
        (asking(answer=...), ASKED, "answer", "is missing; give the answer"),
        (asking(category=1, answer=None), ASKED, "answer", "is None"),  # though it is not played
        (asking(evidence=[3]), ASKED, "evidence", "holds 3"),
    ],
)
def test_errors_name_the_place_and_the_problem(bad: Any, record: str, field: str, problem: str, tmp_path: Path) -> None:
    file = write(tmp_path, bad)
    with pytest.raises(DataFileError) as caught:
        load(file)
    error = caught.value
    assert (error.file, error.place, error.field) == (str(file), record, field)
    assert problem in error.problem


def test_two_conversations_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"conversation 2: field 'sample_id': 'conv-1' came before"):
        load(write(tmp_path, conversation(), conversation()))
    first, second = load(write(tmp_path, conversation(sample_id=...), conversation(sample_id=...)))
    assert (first.name, second.name) == ("conversation-1", "conversation-2")


PUBLIC = Path(os.environ.get("TAPE_TEST_DATA", "")) / "locomo" / "locomo-dev.json"


@pytest.mark.skipif(not PUBLIC.is_file(), reason="set TAPE_TEST_DATA to a folder with locomo/locomo-dev.json")
def test_the_public_file_is_read() -> None:
    with pytest.warns(DialogueLeftOutWarning, match=r"left out: 1 questions that came before .* 1 entries of evidence"):
        talks = load(PUBLIC)
    assert len(talks) == 5
    assert Counter(question.kind for talk in talks for question in talk.questions) == {"single": 398, "swapped": 218}
    assert sum(len(talk.passages) for talk in talks) == 2648
    for talk in talks:
        assert {passage.title for passage in talk.passages} == set(talk.speakers)
        assert all(question.evidence for question in talk.questions)
