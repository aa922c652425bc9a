"""OpenAI's chat completions: a task out of messages, and an answer out of a run.

Messages are text: no call counts as made because a message says so. A conversation of runs goes on by the id of a run,
``"metadata": {"continues": "run_..."}``; earlier messages are shown to the model as what was said.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tape.serve.deps import Asked
from tape.serve.player import RunRefusedError
from tape.serve.records import RunRecord

MOST_MESSAGES = 1_000
OVER_BUDGET = ("budget", "infeasible")


class ChatMessage(BaseModel):
    """A message; fields that have no meaning here are passed over."""

    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """Its text.

        Raises:
            RunRefusedError: It has a part that is none, such as an image.
        """
        if not isinstance(self.content, list):
            return self.content or ""
        parts = []
        for part in self.content:
            if part.get("type") != "text" or not isinstance(part.get("text"), str):
                kind = str(part.get("type"))[:40]
                raise RunRefusedError(400, "content", f"messages are text here; this one has a part of type {kind}")
            parts.append(part["text"])
        return "\n".join(parts)


class StreamOptions(BaseModel):
    """What a stream has beside its text."""

    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for a completion; sampling is the agent's own, so its parameters are passed over."""

    model_config = ConfigDict(extra="ignore")
    model: str
    messages: list[ChatMessage] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = 1
    metadata: dict[str, Any] = Field(default_factory=dict)

    def asked(self, key: str, traceparent: str) -> tuple[Asked, str]:
        """What is asked, and the run that it goes on with.

        Raises:
            RunRefusedError: The last message is not the user's, more than one answer is asked for, or there are images.
        """
        if self.n != 1:
            raise RunRefusedError(400, "n", "an agent gives one answer: n=1")
        if self.messages[-1].role != "user":
            raise RunRefusedError(400, "messages", "the last message is the user's")
        continues = self.metadata.get("continues", "")
        if not isinstance(continues, str):
            raise RunRefusedError(400, "continues", "metadata.continues is the id of a run")
        before = [
            message for message in self.messages[:-1] if message.role in ("system", "developer", "user", "assistant")
        ]
        said = "\n".join(f"{message.role}: {json.dumps(message.text)}" for message in before)
        task = self.messages[-1].text
        told = f"{task}\n\nWhat was said before, as text:\n{said}" if said and not continues else task
        metadata = {name: value for name, value in self.metadata.items() if name != "continues"}
        return Asked(self.model, told, key, metadata, traceparent), continues


def text_of(answer: Any) -> str:
    """An answer as the text of a message: a text as it is, else its JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def usage_of(record: RunRecord) -> dict[str, Any]:
    """What a run used, in OpenAI's form, and all amounts of it."""
    prompt, completion = record.prompt_tokens, record.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "cost": record.spent.get("usd"),
    }


def require_answer(record: RunRecord) -> None:
    """Refuse a completion of a run without an answer.

    Raises:
        RunRefusedError: 402 where a budget was used up, 409 where a person has to look, else 500.
    """
    if record.state == "ended" and record.end_state == "success":
        return
    if record.state == "waiting":
        raise RunRefusedError(
            409, "approval_required", f"{record.id} waits for a person; it goes on at /runs/{record.id}"
        )
    why = f"{record.id} ended as {record.end_state or record.state}: {record.detail or 'see GET /runs/ID'}"
    if record.end_state.partition(":")[0] in OVER_BUDGET:
        raise RunRefusedError(402, "insufficient_quota", why)
    if record.end_state == "refused":
        raise RunRefusedError(400, "refused", why)
    raise RunRefusedError(409 if record.state in ("unknown", "cancelled", "parked") else 500, "no_answer", why)


def completion(record: RunRecord) -> dict[str, Any]:
    """A completion of a run that has an answer."""
    message = {"role": "assistant", "content": text_of(record.answer)}
    return {
        "id": record.id,
        "object": "chat.completion",
        "created": int(record.created),
        "model": record.agent,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage_of(record),
    }


def chunks(record: RunRecord, options: StreamOptions | None) -> Sequence[Mapping[str, Any]]:
    """The same as the pieces of a stream, after the first one."""

    def piece(delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
        return first_chunk(record) | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    pieces = [piece({"content": text_of(record.answer)}, None), piece({}, "stop")]
    if options is not None and options.include_usage:
        pieces.append(first_chunk(record) | {"choices": [], "usage": usage_of(record)})
    return pieces


def first_chunk(record: RunRecord) -> dict[str, Any]:
    """The piece with which a stream begins: whose it is."""
    return {
        "id": record.id,
        "object": "chat.completion.chunk",
        "created": int(record.created),
        "model": record.agent,
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
    }


def models(names: Sequence[str]) -> dict[str, Any]:
    """The agents as a list of models."""
    made = int(time.time())
    return {
        "object": "list",
        "data": [{"id": n, "object": "model", "created": made, "owned_by": "tape"} for n in names],
    }
