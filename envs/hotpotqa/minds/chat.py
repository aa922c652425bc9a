"""Decomposer, reader and verifier for general instruction-tuned models: prompts of our own and JSON schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from envs.hotpotqa.actions import Find
from envs.hotpotqa.minds import chat_prompts as prompts
from envs.hotpotqa.minds.base import HopTask
from envs.hotpotqa.state import Certified
from tape.lm.base import Request
from tape.methods.sdp.adapter import Tools
from tape.methods.sdp.operators import How
from tape.protocols.search import Passage
from tape.reading import parsed


class ChatMind:
    """Implements decomposer, reader and verifier with chat messages (:mod:`envs.hotpotqa.minds.chat_prompts`)."""

    how: ClassVar[How] = "lm"
    answers_by: ClassVar[How] = "lm"
    label: ClassVar[str] = "model"

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def _yes(self, request: Request) -> bool:
        text = await self._tools.ask(request)
        return text.strip().lower() == prompts.YES

    async def decompose(
        self, question: str, certified: Sequence[Certified], count: int, failures: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """Asks for so many sub-questions."""
        text = await self._tools.ask(prompts.decompose_request(question, certified, count, failures))
        return prompts.read_subs(text, count)

    async def query(self, task: HopTask) -> str | None:
        """Asks for a query; None where the model repeats one."""
        return await self._new_query(task, guess=False)

    async def guess(self, task: HopTask) -> str | None:
        """Asks for a guess at the answer."""
        return await self._new_query(task, guess=True)

    async def _new_query(self, task: HopTask, *, guess: bool) -> str | None:
        text = await self._tools.ask(prompts.query_request(task, guess))
        query = " ".join(parsed(prompts.HopQuery, text).query.split())
        return query if query and query not in task.queries else None

    async def find(self, task: HopTask) -> Find:
        """Shows the paragraphs and asks for the sentence, the answer and the title."""
        return prompts.read_find(task, await self._tools.ask(prompts.find_request(task)))

    async def answer(self, question: str, findings: Sequence[Certified], rejected: Sequence[str]) -> str | None:
        """Asks for the answer."""
        given = prompts.read_answer(await self._tools.ask(prompts.answer_request(question, findings, rejected)))
        return given if given and given not in rejected else None

    async def supports(self, sub_question: str, finding: str, passage: Passage) -> bool:
        """Asks whether the paragraph states it."""
        return await self._yes(prompts.supports_request(sub_question, finding, passage))

    async def consistent(self, question: str, findings: Sequence[Certified], answer: str) -> bool:
        """Asks whether the answer follows from the chain."""
        return await self._yes(prompts.consistent_request(question, findings, answer))
