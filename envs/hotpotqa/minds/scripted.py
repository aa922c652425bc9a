"""The scripted reader as reader and verifier of our own corpus, and simulated errors of reading.

No model reads: :mod:`envs.musique.scripted_reader` knows the wordings of our own passages. Its results are labelled
"scripted reader" wherever they are shown, and with ``errors`` "simulated errors". Only the reader errs. The verifier
sees finding and paragraph as any other verifier does, never what was injected.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from envs.hotpotqa.actions import Find
from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.state import Certified
from envs.musique.scripted_reader import read
from envs.musique.wordings import parse_query, query_text
from envs.search.metrics import normalise
from tape.methods.sdp.operators import How
from tape.protocols.search import Passage

MISREADINGS = ("wrong_paragraph", "wrong_entity", "wrong_title")
"""The relation of another entity; another name of the right paragraph; the right finding under another title."""

_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")


class ScriptedReader:
    """Implements :class:`envs.hotpotqa.minds.base.Reader`.

    Args:
        errors: How often a finding is misread, in [0, 1).
        seed: Names the errors.
    """

    def __init__(self, errors: float = 0.0, seed: int = 0) -> None:
        self._errors, self._seed = errors, seed

    async def query(self, task: HopTask) -> str | None:
        """The sub-question such as ``founder of Aldera``, then its parts, the most precise first."""
        parsed = parse_query(task.sub_question)
        parts = () if parsed is None else (f"{parsed[1]} {parsed[0]}", parsed[1])
        options = (task.sub_question, *parts, task.question)
        return next((query for query in options if query not in task.queries), None)

    async def guess(self, task: HopTask) -> str | None:
        """None: it knows no names but those it reads."""
        del task
        return None

    async def answer(self, question: str, findings: Sequence[Certified], rejected: Sequence[str]) -> str | None:
        """The finding of the last hop, unless it was rejected."""
        del question
        return findings[-1].finding if findings and findings[-1].finding not in rejected else None

    async def find(self, task: HopTask) -> Find:
        """The statement of a paragraph, misread with the probability ``errors``."""
        for passage in task.paragraphs:
            answer = read(task.sub_question, [passage])
            if answer is not None:
                return self._perhaps_wrong(task, Find(task.hop, answer, passage.title, answer), passage)
        return Find(task.hop, NOT_FOUND, "")

    def _perhaps_wrong(self, task: HopTask, right: Find, passage: Passage) -> Find:
        # Equal typed inputs give equal findings: earlier attempts are part of the input, earlier calls are not.
        where = f"{task.question}:{task.sub_question}:{len(task.failures)}:{len(task.queries)}"
        rng = random.Random(f"hotpotqa:errors:{self._seed}:{where}")
        if rng.random() >= self._errors:
            return right
        return misread(rng, rng.choice(MISREADINGS), task, right, passage)


def misread(rng: random.Random, kind: str, task: HopTask, right: Find, passage: Passage) -> Find:
    """A finding misread in one of the ways of :data:`MISREADINGS`; the right one where there is nothing to confuse."""
    if kind == "wrong_title":
        others = [other.title for other in task.paragraphs if other.title != right.title]
        return replace(right, title=rng.choice([*others, "Overview"]))
    if kind == "wrong_entity":
        names = sorted({name for name in _NAME.findall(passage.text) if name not in (right.finding, passage.title)})
        wrong = rng.choice(names) if names else right.finding
        return replace(right, finding=wrong, bridge=wrong)
    parsed = parse_query(task.sub_question)
    assert parsed is not None, "it has been read"
    stated = [(other.title, read(query_text(parsed[0], other.title), [other])) for other in task.paragraphs]
    wrongs = [(title, result) for title, result in stated if result is not None and title != passage.title]
    if not wrongs:
        return right
    title, text = rng.choice(wrongs)
    return Find(right.hop, str(text), title, str(text))


class ScriptedVerifier:
    """Implements :class:`envs.hotpotqa.minds.base.HopVerifier`."""

    how: ClassVar[How] = "deterministic"
    answers_by: ClassVar[How] = "filter"
    label: ClassVar[str] = "scripted reader"

    async def supports(self, sub_question: str, finding: str, passage: Passage) -> bool:
        """Whether the paragraph states the finding of the sub-question in one of the wordings it knows."""
        stated = read(sub_question, [passage])
        return stated is not None and normalise(stated) == normalise(finding)

    async def consistent(self, question: str, findings: Sequence[Certified], answer: str) -> bool:
        """Whether the answer is the finding of the last hop: every finding is a name, and the last one answers."""
        del question
        return bool(findings) and normalise(findings[-1].finding) == normalise(answer)
