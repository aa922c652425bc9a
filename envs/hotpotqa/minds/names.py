"""What the readers and verifiers of our own questions share: every finding is a name, and the last one answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from envs.hotpotqa.minds.base import HopTask
from envs.hotpotqa.state import Certified
from envs.musique.words import parse_query
from envs.search.metrics import normalise
from tape.sdp.operators import How


class NameReader:
    """Queries without a model, and answers of chains that end with their answer."""

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


class NameVerifier:
    """Judges an answer by the name that the last hop found."""

    answers_by: ClassVar[How] = "filter"

    async def consistent(self, question: str, findings: Sequence[Certified], answer: str) -> bool:
        """Whether the answer is the finding of the last hop; a model's own judgement is no better than chance."""
        del question
        return bool(findings) and normalise(findings[-1].finding) == normalise(answer)
