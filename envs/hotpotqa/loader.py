"""Reads questions in the public HotpotQA format: one JSON array, each question with its own paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from envs.data_files import JsonRecord, array_of
from envs.hotpotqa.errors import HotpotError
from envs.musique.question import MusiqueQuestion
from tape.protocols.search import Passage
from tape.reading import short

HOPS = 2
"""Every question of HotpotQA takes two look-ups (SDP appendix A.5)."""

_HOPS = re.compile(r"([2-4])hop")


def load(path: str | PathLike[str]) -> list[MusiqueQuestion]:
    """Load a file; each question brings its paragraphs.

    ``supporting_facts`` are checked and then not used: they name the right paragraphs. In full-wiki files the context
    is what a search has found, so it may lack those, or be empty.

    Raises:
        DataFileError: The file or a field of it is malformed; names both. Questions are counted from 1.
    """
    questions: dict[str, MusiqueQuestion] = {}
    for number, value in enumerate(array_of(Path(path), "questions"), 1):
        record = JsonRecord.of(value, str(path), number, "give an object")
        question = _question(record)
        if question.id in questions:
            raise record.wrong("_id", f"{short(question.id)} came before; give each question its own id")
        questions[question.id] = question
    return list(questions.values())


def _question(record: JsonRecord) -> MusiqueQuestion:
    context = record.fields.get("context")
    if not isinstance(context, list):
        raise record.wrong("context", "is missing or no list; give [[title, [sentence, ...]], ...]")
    passages = tuple(_passage(record, entry, number) for number, entry in enumerate(context))
    if not all(_is_fact(fact) for fact in record.items("supporting_facts")):
        raise record.wrong("supporting_facts", "is no list of [title, sentence number]")
    for name in ("type", "level"):
        if name in record.fields:
            record.text(name)
    id_, text, answer = record.text("_id"), record.question(), record.text("answer")
    return MusiqueQuestion(id_, text, answer, passages=passages, operations=HOPS)


def _is_fact(fact: object) -> bool:
    return isinstance(fact, list) and len(fact) == 2 and isinstance(fact[0], str) and type(fact[1]) is int


def _passage(record: JsonRecord, entry: object, number: int) -> Passage:
    where = f"context[{number}]"
    if not isinstance(entry, list) or len(entry) != 2:
        raise record.wrong(where, "is no [title, [sentence, ...]]")
    title, sentences = entry
    if not isinstance(title, str) or not title.strip():
        raise record.wrong(where, f"has the title {short(title)}; give a text that is not empty")
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise record.wrong(where, "has sentences that are no list of texts")
    return Passage(str(number), title, " ".join(sentence.strip() for sentence in sentences))


def with_hops(question: MusiqueQuestion) -> MusiqueQuestion:
    """A MuSiQue question with the number of hops that its id names, as in ``3hop1__5_9_12``.

    Raises:
        HotpotError: The id names none.
    """
    match = _HOPS.match(question.id)
    if match is None:
        raise HotpotError(
            f"question {short(question.id)}: the id of a MuSiQue question begins with its number of hops, "
            "as in 2hop__12_34"
        )
    return replace(question, operations=int(match[1]))


def pooled(questions: Sequence[MusiqueQuestion]) -> tuple[Passage, ...]:
    """The paragraphs of all questions of a file as one corpus, each once."""
    texts = dict.fromkeys((p.title, p.text) for question in questions for p in question.passages or ())
    return tuple(Passage(f"p{number}", title, text) for number, (title, text) in enumerate(texts, 1))
