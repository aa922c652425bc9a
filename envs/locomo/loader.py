"""Reads conversations in LoCoMo's public format, one JSON array; that data is CC BY-NC and no part of the project."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from envs.data_files import DataFileError, JsonRecord, array_of
from envs.locomo.dialogue import Dialogue, DialogueQuestion, Kind
from tape.protocols.search import Passage
from tape.reading import short

CATEGORIES: Mapping[int, Kind] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single", 5: "swapped"}
"""LoCoMo's categories of questions, by their numbers."""
PAPER = (4, 5)
"""The categories whose distinct questions are as many as CGDP plays (its section 6 and table 9: 835 and 440)."""

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")


class DialogueLeftOutWarning(UserWarning):
    """Questions that came before, and evidence that is no turn, were left out."""


@dataclass
class _LeftOut:
    """What was left out of a file: how many repeated questions, and evidence that names no turn."""

    repeated: int = 0
    no_turn: list[str] = field(default_factory=list)


def load(path: str | PathLike[str], categories: Sequence[int] = PAPER) -> list[Dialogue]:
    """Load a file: every conversation with its questions of some categories.

    The text of a turn begins with the time of its session and ends with the caption of the picture that goes with it.
    A question that came before in its conversation is left out, and so is evidence that names no turn: the public file
    has both, and a :class:`DialogueLeftOutWarning` reports how many.

    Args:
        path: The file.
        categories: Keys of :data:`CATEGORIES`.

    Raises:
        DataFileError: The file, a record or a field is malformed; names all three.
    """
    left_out = _LeftOut()
    dialogues: dict[str, Dialogue] = {}
    for number, value in enumerate(array_of(Path(path), "conversations"), 1):
        record = _record(value, str(path), f"conversation {number}", "conversation and qa")
        dialogue = _dialogue(record, number, categories, left_out)
        if dialogue.name in dialogues:
            raise record.wrong("sample_id", f"{short(dialogue.name)} came before; give each conversation its own")
        dialogues[dialogue.name] = dialogue
    if not any(dialogue.questions for dialogue in dialogues.values()):
        raise DataFileError(str(path), "", "qa", f"holds no question of category {_listed(categories)}")
    if left_out.repeated or left_out.no_turn:
        examples = ", ".join(left_out.no_turn[:3])
        warnings.warn(
            f"{path}: left out: {left_out.repeated} questions that came before in their conversation, "
            f"{len(left_out.no_turn)} entries of evidence that name no turn{f' ({examples})' if examples else ''}",
            DialogueLeftOutWarning,
            2,
        )
    return list(dialogues.values())


def _record(value: object, file: str, place: str, fields: str) -> JsonRecord:
    return JsonRecord.of(value, file, place, f"give an object with {fields}")


def _text(record: JsonRecord, name: str) -> str:
    """A text without breaks of lines."""
    return " ".join(record.text(name).split())


def _dialogue(record: JsonRecord, number: int, categories: Sequence[int], left_out: _LeftOut) -> Dialogue:
    name = _text(record, "sample_id") if "sample_id" in record.fields else f"conversation-{number}"
    sessions = record.fields.get("conversation")
    if not isinstance(sessions, dict):
        problem = f"{record.got('conversation')}; give an object with speakers and sessions"
        raise record.wrong("conversation", problem)
    talk = JsonRecord(record.file, record.place, sessions)
    speakers = (_text(talk, "speaker_a"), _text(talk, "speaker_b"))
    names = sorted(
        (int(match[1]), each) for each in sessions if (match := _SESSION.fullmatch(each)) and len(match[1]) < 10
    )
    passages: dict[str, Passage] = {}
    for _, session in names:
        for turn, passage in _session(replace(talk, place=f"{record.place}, {session}"), session):
            if passage.id in passages:
                raise turn.wrong("dia_id", f"{short(passage.id)} came before; give each turn its own")
            passages[passage.id] = passage
    if not passages:
        raise record.wrong("conversation", "has no turns; give session_1: [{speaker, dia_id, text}, ...]")
    if not any(re.search(r"\w", f"{item.title} {item.text}") for item in passages.values()):
        raise record.wrong("conversation", "has no word in it; give turns that can be searched")
    questions: dict[str, DialogueQuestion] = {}
    for place, value in enumerate(record.items("qa", needed=True), 1):
        where = f"{record.place}, question {place}"
        asked = _record(value, record.file, where, "question, answer, evidence and category")
        question = _question(asked, place, categories, passages.keys(), left_out)
        if question is not None and question.text in questions:
            left_out.repeated += 1
        elif question is not None:
            questions[question.text] = question
    return Dialogue(name, speakers, tuple(passages.values()), tuple(questions.values()))


def _session(talk: JsonRecord, session: str) -> Iterator[tuple[JsonRecord, Passage]]:
    """The turns of a session, each with its record."""
    time = _text(talk, f"{session}_date_time") if f"{session}_date_time" in talk.fields else ""
    for place, value in enumerate(talk.items(session, needed=True), 1):
        turn = _record(value, talk.file, f"{talk.place}, turn {place}", "speaker, dia_id and text")
        picture = _text(turn, "blip_caption") if turn.fields.get("blip_caption") is not None else ""
        text = turn.fields.get("text")
        if not isinstance(text, str) or not (text.strip() or picture):
            raise turn.wrong("text", f"{turn.got('text')}; give the words of the turn")
        words = [*([f"({time})"] if time else []), *text.split(), *([f"[picture: {picture}]"] if picture else [])]
        yield turn, Passage(_text(turn, "dia_id"), _text(turn, "speaker"), " ".join(words))


def _question(
    asked: JsonRecord, place: int, categories: Sequence[int], turns: Container[str], left_out: _LeftOut
) -> DialogueQuestion | None:
    """A question; None where it is of another category."""
    category = asked.fields.get("category")
    if isinstance(category, bool) or not isinstance(category, int) or category not in CATEGORIES:
        raise asked.wrong("category", f"{asked.got('category')}; give a number: {_listed(tuple(CATEGORIES))}")
    text = " ".join(asked.question().split())
    evidence: list[str] = []
    for entry in asked.items("evidence", needed=True):
        if not isinstance(entry, str):
            raise asked.wrong("evidence", f"holds {short(entry)}; give ids of turns such as D3:7")
        if category in categories:
            evidence += _turns(entry, turns, left_out)
    kind = CATEGORIES[category]
    answer = asked.fields.get("answer", asked.fields.get("adversarial_answer") if kind == "swapped" else None)
    if answer is None and kind != "swapped":
        raise asked.wrong("answer", f"{asked.got('answer')}; give the answer, a text or a number")
    if answer is not None and (isinstance(answer, bool) or not isinstance(answer, str | int | float)):
        raise asked.wrong("answer", f"is {short(answer)}; give a text or a number")
    answers = () if kind == "swapped" else (str(answer),)
    if answers and not answers[0].strip():
        raise asked.wrong("answer", "is empty; give the answer, a text or a number")
    if category not in categories:
        return None
    return DialogueQuestion(f"q{place}", text, kind, answers, tuple(dict.fromkeys(evidence)))


def _turns(entry: str, turns: Container[str], left_out: _LeftOut) -> list[str]:
    """The turns that an entry of evidence names; in the public file some name several, or none."""
    texts = []
    for piece in re.split(r"[;,\s]+", entry.strip()):
        match = _TURN.fullmatch(piece)
        # Some are written with a leading zero.
        name = f"D{match[1].lstrip('0')}:{match[2].lstrip('0')}" if match else piece
        if name in turns:
            texts.append(name)
        else:
            left_out.no_turn.append(short(piece))
    return texts


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
