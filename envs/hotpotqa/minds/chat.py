"""Decomposer, reader and verifier for general instruction-tuned models: prompts of our own and JSON schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from envs.hotpotqa.actions import Find
from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.state import Certified
from envs.musique.question import Passage
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.sdp.adapter import Tools
from tape.sdp.operators import How
from tape.tools.results import cut

RULES = """You answer a question that takes several look-ups, one after the other. Use only what the paragraphs state.
Keep every answer as short as it can be: a name, a date, a number, yes or no."""

LONGEST_PARAGRAPH = 1200
LONGEST_PARAGRAPHS = 14000
"""Bytes that are shown of one paragraph, and of all."""

_STRICT = ConfigDict(extra="forbid")
_YES, _NO = "yes", "no"

M = TypeVar("M", bound=BaseModel)


class SubQuestions(BaseModel):
    """A decomposition."""

    model_config = _STRICT
    sub_questions: list[str] = Field(min_length=1, max_length=4)


class Query(BaseModel):
    """A query, or a guess."""

    model_config = _STRICT
    query: str


class Finding(BaseModel):
    """What a hop found."""

    model_config = _STRICT
    finding: str
    title: str
    bridge: str


class Answered(BaseModel):
    """The answer."""

    model_config = _STRICT
    answer: str


class ChatMind:
    """Implements decomposer, reader and verifier with chat messages.

    Args:
        tools: The model.
    """

    how: ClassVar[How] = "lm"
    answers_by: ClassVar[How] = "lm"
    label: ClassVar[str] = "model"

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def _json(self, schema: type[M], role: str, parts: Sequence[str], tokens: int = 200) -> M:
        prompt = (Message("system", RULES), Message("user", "\n\n".join(part for part in parts if part)))
        text = await self._tools.ask(Request(prompt, tokens, constraint=JsonSchema(schema), role=role))
        try:
            return schema.model_validate_json(text)
        except ValidationError as error:
            raise InvalidOutputError(f"no {schema.__name__}: {error.errors()[0]['msg']}: {text[:120]}") from None

    async def _yes(self, parts: Sequence[str]) -> bool:
        prompt = (Message("system", RULES), Message("user", "\n\n".join(parts)))
        text = await self._tools.ask(Request(prompt, 3, constraint=Choice((_YES, _NO)), role="validate"))
        return text.strip().lower() == _YES

    async def decompose(
        self, question: str, certified: Sequence[Certified], count: int, failures: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """Asks for so many sub-questions."""
        first = len(certified) + 1
        failed = "\n".join(f"- {sub}: {reason}" for sub, reason in failures)
        read = await self._json(
            SubQuestions,
            "propose",
            [
                f"Question: {question}",
                _known(certified),
                f"These sub-questions did not work out, so ask differently:\n{failed}" if failed else "",
                f"Split what is left of the question into exactly {count} sub-questions, numbered from {first}, each "
                "answered by one paragraph. Write #k where a sub-question needs the answer of sub-question k. The last "
                'one gives the answer to the question. Answer as JSON: {"sub_questions": ["...", ...]}',
            ],
        )
        subs = tuple(sub.strip() for sub in read.sub_questions)
        if len(subs) != count or not all(subs):
            raise InvalidOutputError(f"asked for {count} sub-questions, got {list(subs)}")
        return subs

    async def query(self, task: HopTask) -> str | None:
        """Asks for a query; None where the model repeats one."""
        asked = "Write a short search query that retrieves the paragraph with the answer to the sub-question."
        return await self._new_query(task, asked)

    async def guess(self, task: HopTask) -> str | None:
        """Asks for a guess at the answer."""
        return await self._new_query(
            task, "Searching has failed. Guess the answer to the sub-question; it is searched."
        )

    async def _new_query(self, task: HopTask, asked: str) -> str | None:
        tried = "\n".join(f"- {query}" for query in task.queries)
        read = await self._json(
            Query,
            "query",
            [
                *_asked(task),
                f"Queries tried without success:\n{tried}" if tried else "",
                f'{asked} Answer as JSON: {{"query": "..."}}',
            ],
            60,
        )
        query = " ".join(read.query.split())
        return query if query and query not in task.queries else None

    async def find(self, task: HopTask) -> Find:
        """Shows the paragraphs and asks for finding, title and bridge."""
        rejected = "\n".join(f"- {reason}" for reason in dict.fromkeys(task.failures))
        read = await self._json(
            Finding,
            "realize",
            [
                _paragraphs(task.paragraphs),
                *_asked(task),
                f"Rejected so far:\n{rejected}" if rejected else "",
                "What do the paragraphs state about the sub-question? Give the finding, the exact title of the "
                "paragraph that states it, and the one entity that a next question would ask about. If none states "
                f'it, the finding is "{NOT_FOUND}". '
                'Answer as JSON: {"finding": "...", "title": "...", "bridge": "..."}',
            ],
        )
        return Find(task.hop, read.finding.strip() or NOT_FOUND, read.title.strip(), read.bridge.strip())

    async def answer(self, question: str, findings: Sequence[Certified], rejected: Sequence[str]) -> str | None:
        """Asks for the answer."""
        no = "; ".join(rejected)
        read = await self._json(
            Answered,
            "answer",
            [
                _known(findings),
                f"Question: {question}",
                f"These answers were rejected: {no}" if no else "",
                'What is the answer to the question? Answer as JSON: {"answer": "..."}',
            ],
            60,
        )
        given = " ".join(read.answer.split())
        return given if given and given not in rejected else None

    async def supports(self, sub_question: str, finding: str, passage: Passage) -> bool:
        """Asks whether the paragraph states it."""
        return await self._yes(
            [
                _paragraphs([passage]),
                f"Question: {sub_question}\nProposed answer: {finding}",
                "Does the paragraph state this, of the very thing the question asks about, and does it answer the "
                "question? Answer yes or no.",
            ]
        )

    async def consistent(self, question: str, findings: Sequence[Certified], answer: str) -> bool:
        """Asks whether the answer follows from the chain."""
        return await self._yes(
            [
                _known(findings),
                f"Question: {question}\nProposed answer: {answer}",
                "Does the proposed answer follow from these findings, and answer the question itself rather than a "
                "step on the way? Answer yes or no.",
            ]
        )


def _known(findings: Sequence[Certified]) -> str:
    lines = [f"#{n} {hop.sub_question} = {hop.finding} [{hop.title}]" for n, hop in enumerate(findings, 1)]
    return "Found so far:\n" + "\n".join(lines) if lines else ""


def _asked(task: HopTask) -> tuple[str, ...]:
    return (_known(task.findings), f"Question: {task.question}\nSub-question {task.hop}: {task.sub_question}")


def _paragraphs(passages: Sequence[Passage]) -> str:
    text = "\n".join(f"[{passage.title}] {cut(passage.text, LONGEST_PARAGRAPH)}" for passage in passages)
    return f"Paragraphs:\n{cut(text, LONGEST_PARAGRAPHS)}" if text else "Paragraphs: none"
