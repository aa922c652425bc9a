"""Which passages answer a question, hop by hop: for making tasks and for measures; no agent sees it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from envs.data_files import JsonRecord, records_of_lines
from envs.musique.question import MusiqueQuestion
from envs.musique.scripted_reader import read
from envs.musique.wordings import RELATIONS, query_text
from tape.protocols.search import Passage
from tape.reading import short

_REFERENCE = re.compile(r"#([0-9]{1,3})")


@dataclass(frozen=True)
class Gold:
    """What answers a question.

    Attributes:
        evidence: Ids of the passages, one for each hop, in order.
        sub_questions: What each of them answers, what the hops before led to filled in.
    """

    evidence: tuple[str, ...]
    sub_questions: tuple[str, ...]


def gold_chain(question: MusiqueQuestion, passages: Sequence[Passage]) -> list[tuple[str, str, Passage]] | None:
    """Query, answer and paragraph of each hop of one of our own questions; None where its hops are not known."""
    if question.hops is None:
        return None
    texts: list[tuple[str, str, Passage]] = []
    for relation, subject in question.hops:
        name = texts[int(subject[1:]) - 1][1] if subject.startswith("#") else subject
        query = query_text(relation, name)
        stated = ((passage, read(query, [passage])) for passage in passages)
        hit = next(((passage, answer) for passage, answer in stated if answer is not None), None)
        if hit is None:
            return None
        texts.append((query, hit[1], hit[0]))
    return texts


def own_gold(question: MusiqueQuestion, passages: Sequence[Passage]) -> Gold:
    """What answers one of our own questions."""
    chain = gold_chain(question, passages)
    assert chain is not None, f"the shared corpus answers {question.id}"
    asked = []
    for (relation, subject), _ in zip(question.hops or (), chain, strict=True):
        name = chain[int(subject[1:]) - 1][1] if subject.startswith("#") else subject
        worded = RELATIONS[relation].questions[0].format(x=name)
        asked.append(worded[0].upper() + worded[1:])
    return Gold(tuple(passage.id for *_, passage in chain), tuple(asked))


def public_gold(path: str | PathLike[str]) -> dict[str, Gold]:
    """What answers the answerable questions of a file in the public format, by the question's id.

    Call :func:`envs.musique.loader.load` first, which checks the rest of the file.

    Raises:
        DataFileError: A question has no decomposition, or one that refers to what is not there.
    """
    mapping = {}
    for record in records_of_lines(Path(path)):
        if record.flag("answerable"):
            mapping[record.text("id")] = _gold(record)
    return mapping


def _gold(record: JsonRecord) -> Gold:
    ids = [str(paragraph.get("idx", number)) for number, paragraph in enumerate(record.items("paragraphs"))]
    steps = record.items("question_decomposition")
    if not steps:
        problem = "is missing or empty; it names the paragraphs that answer the question"
        raise record.wrong("question_decomposition", problem)
    evidence: list[str] = []
    answers: list[str] = []
    asked: list[str] = []
    for number, step in enumerate(steps):
        where = f"question_decomposition[{number}]"
        fields = step if isinstance(step, dict) else {}
        question, answer = fields.get("question"), fields.get("answer")
        support = fields.get("paragraph_support_idx")
        if not (isinstance(question, str) and question.strip() and isinstance(answer, str) and answer.strip()):
            raise record.wrong(where, "is no object with the texts question and answer")
        if str(support) not in ids:
            raise record.wrong(f"{where}.paragraph_support_idx", f"is {short(support)}; give the idx of a paragraph")
        if any(not 1 <= int(k) <= number for k in _REFERENCE.findall(question)):
            raise record.wrong(f"{where}.question", "refers to a step that is not before it")
        asked.append(_REFERENCE.sub(lambda match: answers[int(match[1]) - 1], question))
        evidence.append(str(support))
        answers.append(answer)
    return Gold(tuple(evidence), tuple(asked))
