"""Replies of a real model, by the prompts that they answer: programs of the documentation play them offline.

A changed prompt has no reply: the error names its task, and nothing else is played in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from tape.errors import ModelError
from tape.files import replace_file
from tape.lm.base import Completion, LanguageModel, Request, Usage
from tape.lm.price import FREE
from tape.reading import parse_json, read_text, shaped

SHIPPED = Path(__file__).parent / "recorded.json"
"""What Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, in a llama.cpp server) said to the prompts of the documentation."""
RECORD = "python -m experiments.replies --server URL"
"""Records them anew."""


class RecordedReply(BaseModel):
    """A recorded answer to one request, its samples in order."""

    task: str
    texts: list[str]
    prompt_tokens: int
    completion_tokens: int


class RecordedLM:
    """Says again what a real model has said.

    Args:
        file: JSON of an earlier recording.

    Raises:
        ModelError: The file cannot be read.

    Examples:
        >>> from tape.lm.recorded import RecordedLM
        >>> RecordedLM().name
        'recorded:qwen2.5-coder-1.5b-instruct'
    """

    name = identity = "recorded:qwen2.5-coder-1.5b-instruct"
    prompt_format, price = "chat", FREE
    asks: ClassVar[LanguageModel | None] = None
    """While replies are recorded: the model that is asked where there is none; its reply is added to the file."""

    def __init__(self, file: Path = SHIPPED) -> None:
        self._file = file

        def unreadable(problem: str) -> ModelError:
            return ModelError(f"{problem}; record replies with {RECORD}")

        text = read_text(file, error=unreadable)
        self._replies = shaped(
            parse_json(text, str(file), error=unreadable), dict[str, RecordedReply], str(file), error=unreadable
        )

    def prompt_tokens(self, request: Request) -> int:
        """At most as many as there are bytes."""
        texts = [request.prompt] if isinstance(request.prompt, str) else [message.content for message in request.prompt]
        return sum(len(text.encode()) for text in texts)

    def scoring_tokens(self, request: Request) -> int:
        """None: only texts are recorded."""
        del request
        return 0

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The recorded replies.

        Raises:
            ModelError: A prompt is none of those that were recorded; names its task.
        """
        replies = [self._replies.get(key_of(request)) or await self._recorded(request) for request in requests]
        return [
            Completion(
                tuple(reply.texts), ("stop",) * len(reply.texts), (0.0,) * len(reply.texts),
                Usage(reply.prompt_tokens, reply.completion_tokens, source="reported"),
            )
            for reply in replies
        ]  # fmt: skip

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Refused: only texts are recorded."""
        raise ModelError(f"{self.name} has no scores, only replies; asked for {len(requests)}")

    async def _recorded(self, request: Request) -> RecordedReply:
        if self.asks is None:
            raise ModelError(
                f"no reply to this prompt is recorded ({task_of(request)}): it has changed; record it with {RECORD}"
            )
        [answer] = await self.asks.generate([request])
        used = answer.usage
        reply = RecordedReply(
            task=task_of(request), texts=[*answer.texts], prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
        )  # fmt: skip
        self._replies[key_of(request)] = reply
        kept = {key: recorded_reply.model_dump() for key, recorded_reply in sorted(self._replies.items())}
        replace_file(self._file, json.dumps(kept, indent=1) + "\n")
        return reply


def key_of(request: Request) -> str:
    """Of the prompt, the temperature and how many samples are asked for; the seed is left out, one reply is enough."""
    prompt = (
        request.prompt
        if isinstance(request.prompt, str)
        else [[message.role, message.content] for message in request.prompt]
    )
    parts = [prompt, request.n, request.temperature, request.max_tokens]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def task_of(request: Request) -> str:
    """The line of a prompt that says the task, for people."""
    last = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    return next((line for line in last.splitlines() if line.startswith("Task: ")), last[:80])
