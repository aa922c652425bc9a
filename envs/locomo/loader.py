"""Reads conversations in LoCoMo's public format, one JSON array; that data is CC BY-NC and no part of the project."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from envs.data_files import told
from envs.locomo.dialogue import Dialogue, Kind, Question
from envs.locomo.errors import DialogueFileError
from tape.errors import DataError
from tape.protocols.search import LONGEST_TEXT, Passage
from tape.reading import read_json, short

CATEGORIES: Mapping[int, Kind] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single", 5: "swapped"}
"""LoCoMo's categories of questions, by their numbers."""
PAPER = (4, 5)
"""The categories whose distinct questions are as many as CGDP plays (its section 6 and table 9: 835 and 440)."""

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")


class LeftOutWarning(UserWarning):
    """Questions that came before, and evidence that is no turn, were left out."""


@dataclass
class _File:
    """Where the reader is, and what it left out."""

    name: str
    record: str = ""
    repeated: int = 0
    no_turn: list[str] = field(default_factory=list)

    def error(self, at: str, problem: str) -> DialogueFileError:
        return DialogueFileError(self.name, self.record, at, problem)


def load(path: str | PathLike[str], categories: Sequence[int] = PAPER) -> list[Dialogue]:
    """Load a file: every conversation with its questions of some categories.

    The text of a turn begins with the time of its session and ends with the caption of the picture that goes with it.
    A question that came before in its conversation is left out, and so is evidence that names no turn: the public file
    has both, and a :class:`LeftOutWarning` says how many.

    Args:
        path: The file.
        categories: Keys of :data:`CATEGORIES`.

    Raises:
        DialogueFileError: The file, a record or a field is not as it should be; names all three.
    """
    file = _File(str(path))
    try:
        records = read_json(Path(path))
    except DataError as error:
        line, problem = told(error, file.name)
        file.record = f"line {line}" if line else ""
        raise file.error("", f"{problem}; give one JSON array of conversations") from None
    if not isinstance(records, list) or not records:
        raise file.error("", "holds no array of conversations; give [{...}, ...] with at least one")
    found: dict[str, Dialogue] = {}
    for number, record in enumerate(records, 1):
        dialogue = _dialogue(file, number, record, categories)
        if dialogue.name in found:
            raise file.error("sample_id", f"{short(dialogue.name)} came before; give each conversation its own")
        found[dialogue.name] = dialogue
    if not any(dialogue.questions for dialogue in found.values()):
        raise DialogueFileError(file.name, "", "qa", f"holds no question of category {_listed(categories)}")
    if file.repeated or file.no_turn:
        examples = ", ".join(file.no_turn[:3])
        warnings.warn(
            f"{file.name}: left out: {file.repeated} questions that came before in their conversation, "
            f"{len(file.no_turn)} entries of evidence that name no turn{f' ({examples})' if examples else ''}",
            LeftOutWarning,
            2,
        )
    return list(found.values())


def _dialogue(file: _File, number: int, record: object, categories: Sequence[int]) -> Dialogue:
    file.record = f"conversation {number}"
    record = _object(file, "", record, "give an object with conversation and qa")
    name = _text(file, record, "sample_id") if "sample_id" in record else f"conversation-{number}"
    talk = _object(file, "conversation", record.get("conversation"), "give an object with speakers and sessions")
    speakers = (_text(file, talk, "speaker_a"), _text(file, talk, "speaker_b"))
    sessions = sorted(
        (int(match[1]), each) for each in talk if (match := _SESSION.fullmatch(each)) and len(match[1]) < 10
    )
    passages: dict[str, Passage] = {}
    for _, session in sessions:
        for passage in _session(file, number, session, talk):
            if passage.id in passages:
                raise file.error("dia_id", f"{short(passage.id)} came before; give each turn its own")
            passages[passage.id] = passage
    file.record = f"conversation {number}"
    if not passages:
        raise file.error("conversation", "has no turns; give session_1: [{speaker, dia_id, text}, ...]")
    if not any(re.search(r"\w", f"{one.title} {one.text}") for one in passages.values()):
        raise file.error("conversation", "has no word in it; give turns that can be searched")
    questions: dict[str, Question] = {}
    for place, asked in enumerate(_list(file, record, "qa"), 1):
        file.record = f"conversation {number}, question {place}"
        question = _question(file, place, asked, categories, passages.keys())
        if question is not None and question.text in questions:
            file.repeated += 1
        elif question is not None:
            questions[question.text] = question
    file.record = f"conversation {number}"
    return Dialogue(name, speakers, tuple(passages.values()), tuple(questions.values()))


def _session(file: _File, number: int, session: str, talk: Mapping[str, Any]) -> list[Passage]:
    file.record = f"conversation {number}, {session}"
    time = _text(file, talk, f"{session}_date_time") if f"{session}_date_time" in talk else ""
    found: list[Passage] = []
    for place, entry in enumerate(_list(file, talk, session), 1):
        file.record = f"conversation {number}, {session}, turn {place}"
        turn = _object(file, "", entry, "give an object with speaker, dia_id and text")
        picture = _text(file, turn, "blip_caption") if turn.get("blip_caption") is not None else ""
        text = turn.get("text")
        if not isinstance(text, str) or not (text.strip() or picture):
            raise file.error("text", f"{_got(turn, 'text')}; give what was said")
        said = [*([f"({time})"] if time else []), *text.split(), *([f"[picture: {picture}]"] if picture else [])]
        found.append(Passage(_text(file, turn, "dia_id"), _text(file, turn, "speaker"), " ".join(said)))
    return found


def _question(
    file: _File, place: int, asked: object, categories: Sequence[int], turns: Container[str]
) -> Question | None:
    """A question; None where it is of another category."""
    asked = _object(file, "", asked, "give an object with question, answer, evidence and category")
    category = asked.get("category")
    if isinstance(category, bool) or not isinstance(category, int) or category not in CATEGORIES:
        raise file.error("category", f"{_got(asked, 'category')}; give a number: {_listed(tuple(CATEGORIES))}")
    text = _text(file, asked, "question")
    if len(text) > LONGEST_TEXT:
        raise file.error("question", f"has {len(text)} characters; give at most {LONGEST_TEXT}")
    evidence: list[str] = []
    for entry in _list(file, asked, "evidence"):
        if not isinstance(entry, str):
            raise file.error("evidence", f"holds {short(entry)}; give ids of turns such as D3:7")
        if category in categories:
            evidence += _turns(file, entry, turns)
    kind = CATEGORIES[category]
    answer = asked.get("answer", asked.get("adversarial_answer") if kind == "swapped" else None)
    if answer is None and kind != "swapped":
        raise file.error("answer", f"{_got(asked, 'answer')}; give the answer, a text or a number")
    if answer is not None and (isinstance(answer, bool) or not isinstance(answer, str | int | float)):
        raise file.error("answer", f"is {short(answer)}; give a text or a number")
    answers = () if kind == "swapped" else (str(answer),)
    if answers and not answers[0].strip():
        raise file.error("answer", "is empty; give the answer, a text or a number")
    if category not in categories:
        return None
    return Question(f"q{place}", text, kind, answers, tuple(dict.fromkeys(evidence)))


def _turns(file: _File, entry: str, turns: Container[str]) -> list[str]:
    """The turns that an entry of evidence names; in the public file some name several, or none."""
    found = []
    for piece in re.split(r"[;,\s]+", entry.strip()):
        match = _TURN.fullmatch(piece)
        # Some are written with a leading zero.
        name = f"D{match[1].lstrip('0')}:{match[2].lstrip('0')}" if match else piece
        if name in turns:
            found.append(name)
        else:
            file.no_turn.append(short(piece))
    return found


def _object(file: _File, at: str, value: object, remedy: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise file.error(at, f"is {'missing' if value is None else short(value)}; {remedy}")
    return value


def _list(file: _File, record: Mapping[str, Any], at: str) -> list[Any]:
    value = record.get(at)
    if not isinstance(value, list):
        raise file.error(at, f"{_got(record, at)}; give a list")
    return value


def _text(file: _File, record: Mapping[str, Any], at: str) -> str:
    value = record.get(at)
    if not isinstance(value, str) or not value.strip():
        raise file.error(at, f"{_got(record, at)}; give a text that is not empty")
    return " ".join(value.split())


def _got(record: Mapping[str, Any], at: str) -> str:
    return f"is {short(record[at])}" if at in record else "is missing"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
