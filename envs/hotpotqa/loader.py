"""Reads questions in the public HotpotQA format: one JSON array, each question with its own paragraphs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from envs.data_files import told
from envs.hotpotqa.errors import HotpotError
from envs.musique.errors import QuestionFileError
from envs.musique.loader import question_field, text_field
from envs.musique.question import Question
from tape.errors import DataError
from tape.protocols.search import Passage
from tape.reading import read_json, short

HOPS = 2
"""Every question of HotpotQA takes two look-ups (SDP appendix A.5)."""

_HOPS = re.compile(r"([2-4])hop")


def load(path: str | PathLike[str]) -> list[Question]:
    """Load a file; each question brings its paragraphs.

    ``supporting_facts`` are checked and then not used: they name the right paragraphs. In full-wiki files
    the context is what a search has found, so it may lack those, or be empty.

    Raises:
        QuestionFileError: The file or a field of it is not as it should be; names both. Questions are counted from 1.
    """
    file = str(path)
    try:
        records = read_json(Path(path))
    except DataError as error:
        line, problem = told(error, file)
        raise QuestionFileError(file, line, None, f"{problem}; give one JSON array of questions") from None
    if not isinstance(records, list) or not records:
        raise QuestionFileError(file, None, None, "holds no array of questions; give [{...}, ...] with at least one")
    questions: list[Question] = []
    ids: set[str] = set()
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise QuestionFileError(file, number, None, f"is a JSON {type(record).__name__}; give an object")
        question = _question(record, file, number)
        if question.id in ids:
            raise QuestionFileError(
                file, number, "_id", f"{short(question.id)} came before; give each question its own id"
            )
        ids.add(question.id)
        questions.append(question)
    return questions


def _question(record: Mapping[str, Any], file: str, number: int) -> Question:
    context = record.get("context")
    if not isinstance(context, list):
        raise QuestionFileError(file, number, "context", "is missing or no list; give [[title, [sentence, ...]], ...]")
    passages = tuple(_passage(entry, i, file, number) for i, entry in enumerate(context))
    facts = record.get("supporting_facts", [])
    if not isinstance(facts, list) or not all(_is_fact(fact) for fact in facts):
        raise QuestionFileError(file, number, "supporting_facts", "is no list of [title, sentence number]")
    for name in ("type", "level"):
        if name in record:
            text_field(record, name, file, number)
    return Question(
        id=text_field(record, "_id", file, number),
        text=question_field(record, file, number),
        answer=text_field(record, "answer", file, number),
        passages=passages,
        operations=HOPS,
    )


def _is_fact(fact: object) -> bool:
    return isinstance(fact, list) and len(fact) == 2 and isinstance(fact[0], str) and type(fact[1]) is int


def _passage(entry: object, index: int, file: str, number: int) -> Passage:
    where = f"context[{index}]"
    if not isinstance(entry, list) or len(entry) != 2:
        raise QuestionFileError(file, number, where, "is no [title, [sentence, ...]]")
    title, sentences = entry
    if not isinstance(title, str) or not title.strip():
        raise QuestionFileError(file, number, where, f"has the title {short(title)}; give a text that is not empty")
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise QuestionFileError(file, number, where, "has sentences that are no list of texts")
    return Passage(str(index), title, " ".join(sentence.strip() for sentence in sentences))


def with_hops(question: Question) -> Question:
    """A MuSiQue question with the number of hops that its id names, as in ``3hop1__5_9_12``.

    Raises:
        HotpotError: The id names none.
    """
    found = _HOPS.match(question.id)
    if found is None:
        raise HotpotError(
            f"question {short(question.id)}: the id of a MuSiQue question begins with its number of hops, "
            "as in 2hop__12_34"
        )
    return replace(question, operations=int(found[1]))


def pooled(questions: Sequence[Question]) -> tuple[Passage, ...]:
    """The paragraphs of all questions of a file as one corpus, each once."""
    texts = dict.fromkeys((p.title, p.text) for question in questions for p in question.passages or ())
    return tuple(Passage(f"p{number}", title, text) for number, (title, text) in enumerate(texts, 1))
