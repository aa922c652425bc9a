"""Examples from a file in the public MuSiQue format: hops of its questions, and gaps made in its paragraphs."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.musique.errors import QuestionFileError
from envs.records import records_of_lines
from envs.search.metrics import normalise
from experiments.training.reader.example import Asked, Sheet, sentences, shortened
from experiments.training.reader.relations import DATE, NAME, NUMBER, asking
from tape.protocols.search import Passage

MOST_WORDS = 110
"""Of a paragraph in training; in evaluation they are whole."""
_REFERENCE = re.compile(r"#(\d)")
_YEAR, _NUMBER, _NAME = re.compile(DATE), re.compile(NUMBER), re.compile(NAME)


@dataclass(frozen=True)
class Hop:
    """One hop of a public question.

    Attributes:
        id: Of the question, and the hop's number.
        question: With the answers of earlier hops put in; ``SUBJECT >> RELATION`` or a sentence.
        answer: As the file has it.
        gold: The paragraph with the answer.
        others: The other paragraphs of its question.
    """

    id: str
    question: str
    answer: str
    gold: Passage
    others: tuple[Passage, ...]


def is_for_training(question: str) -> bool:
    """Half of the questions of a file, by the hash of their ids; what is reported comes from the other half."""
    return hashlib.sha256(question.encode()).digest()[0] % 2 == 0


def load_hops(path: Path) -> list[Hop]:
    """The hops for training; no paragraph of the other half of the questions is among theirs.

    Raises:
        QuestionFileError: The file is not as it should be.
    """
    training: list[Hop] = []
    reported: list[Hop] = []
    for record in (one.fields for one in records_of_lines(path, QuestionFileError)):
        (training if is_for_training(record["id"]) else reported).extend(_hops(record))
    closed = {p.title for hop in reported for p in (hop.gold, *hop.others)}
    kept = []
    for hop in training:
        if hop.gold.title not in closed:
            others = tuple(p for p in hop.others if p.title not in closed)
            kept.append(Hop(hop.id, hop.question, hop.answer, hop.gold, others))
    return kept


def _hops(record: Mapping[str, Any]) -> list[Hop]:
    passages = {p["idx"]: Passage(str(p["idx"]), p["title"], p["paragraph_text"]) for p in record["paragraphs"]}
    steps = record["question_decomposition"]
    found = []
    for number, step in enumerate(steps, 1):
        text = _REFERENCE.sub(lambda match: steps[int(match[1]) - 1]["answer"], step["question"])
        gold = step["paragraph_support_idx"]
        others = tuple(p for idx, p in passages.items() if idx != gold)
        found.append(Hop(f"{record['id']}:{number}", text, step["answer"], passages[gold], others))
    return found


def stating(passage: Passage, question: str, answer: str) -> tuple[str, str] | None:
    """The sentence that answers a question and the answer as it is written there; None where none has it."""
    asked = set(normalise(question).split())
    pattern = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)", re.IGNORECASE)
    found = [(sentence, match[0]) for sentence in sentences(passage.text) if (match := pattern.search(sentence))]
    return max(found, key=lambda pair: len(asked & set(normalise(pair[0]).split())), default=None)


def hop_sheet(rng: random.Random, hops: Sequence[Hop], count: int) -> Sheet | None:
    """The paragraph of a hop among others, asked in two or three ways; None where this draw has no answer in it."""
    hop = rng.choice(hops)
    sentence = stating(hop.gold, hop.question, hop.answer)
    if sentence is None:
        return None
    quote, answer = sentence
    others = rng.sample(hop.others, min(len(hop.others), count))
    there = rng.random() >= 0.06
    shown = [shortened(hop.gold, quote, MOST_WORDS), *others[: count - 1]] if there else others
    shown = [shortened(p, quote if p.title == hop.gold.title else "", MOST_WORDS) for p in shown]
    rng.shuffle(shown)
    texts = dict.fromkeys(reworded(rng, hop.question) for _ in range(3))
    asked = [Asked(text, quote, answer, hop.gold.title) if there else Asked(text) for text in texts]
    # Other paragraphs are asked about too, so that the place of the gold one gives nothing away.
    others_asked = [(asking(rng, passage) or [gap(rng, passage)])[0] for passage in shown]
    return Sheet(tuple(shown), (*asked, *[one for one in others_asked if one is not None]))


def reworded(rng: random.Random, question: str) -> str:
    """``SUBJECT >> RELATION`` in one of several ways; a question as it is."""
    subject, arrow, relation = question.partition(" >> ")
    if not arrow:
        return question if question.endswith("?") or rng.random() < 0.5 else f"{question}?"
    return rng.choice(
        (
            question,
            f"{relation} of {subject}",
            f"What is the {relation} of {subject}?",
            f"{subject}: {relation}",
            f"Who or what is the {relation} of {subject}?",
        )
    )


def stated_sheet(rng: random.Random, passages: Sequence[Passage], count: int, questions: int) -> Sheet | None:
    """Paragraphs with questions for the relations that they state, and for gaps; None where this draw has too few."""
    shown = [shortened(passage, "", MOST_WORDS) for passage in rng.sample(passages, count)]
    asked: dict[str, Asked] = {}
    for passage in shown:
        for one in asking(rng, passage)[: questions - 2]:
            asked.setdefault(one.answer, one)
    for _ in range(3 * questions):
        made = gap(rng, rng.choice(shown))
        if made is not None and len(asked) < questions:
            asked.setdefault(made.answer, made)
    if rng.random() < 0.3:
        other = rng.choice(passages)
        absent = (asking(rng, other) or [gap(rng, other)])[0]
        if absent is not None and absent.title not in {p.title for p in shown}:
            asked[""] = Asked(absent.question, gap=absent.gap)
    return Sheet(tuple(shown), tuple(asked.values())) if len(asked) > 1 else None


def gap(rng: random.Random, passage: Passage) -> Asked | None:
    """A question whose answer is a name, year or number of a sentence; None where the one drawn has none."""
    sentence = rng.choice(sentences(passage.text))
    spans = [match.span() for pattern in (_YEAR, _NAME, _NUMBER) for match in pattern.finditer(sentence)]
    spans = [(a, b) for a, b in spans if a > 12 and normalise(sentence[a:b]) and sentence.count(sentence[a:b]) == 1]
    if not spans or len(sentence.split()) > 60:
        return None
    first, last = rng.choice(spans)
    answer, before, after = sentence[first:last], sentence[:first].rstrip(), sentence[last:].strip(" .,;")
    before = re.sub(r"^(?:It|He|She|They|This|The [a-z]+) (?=\w)", f"{passage.title} ", before)
    known = passage.title.split(" (")[0].split()[0].lower() in before.lower()
    lead = before if known or rng.random() < 0.3 else f"{passage.title}: {before}"
    lead = " ".join(lead.split()[-22:])
    how = rng.random()
    if how < 0.25:
        return Asked(lead, sentence, answer, passage.title, gap=True)
    if how < 0.4:
        return Asked(f"{lead} ... {' '.join(after.split()[:8])}".strip(), sentence, answer, passage.title, gap=True)
    if how < 0.55:
        relation = " ".join(re.sub(r"[^\w\s]", " ", before).split()[-3:])
        return Asked(f"{passage.title} >> {relation}", sentence, answer, passage.title)
    return Asked(f"{lead} {_asking(rng, answer, before)}?", sentence, answer, passage.title)


def _asking(rng: random.Random, answer: str, before: str) -> str:
    if _YEAR.fullmatch(answer):
        return rng.choice(("which year", "what year", "when"))
    if _NUMBER.fullmatch(answer):
        return rng.choice(("how many", "what number"))
    if before.endswith((" by", " with", " to")):
        return rng.choice(("whom", "whom or what", "which person or group"))
    if before.endswith((" in", " at", " near", " from")):
        return rng.choice(("which place", "where", "what"))
    return rng.choice(("who or what", "what", "which name"))
