"""Anthropic's messages.

Messages are formatted by Outlines' adapter, which knows no structured outputs and no system prompt for Anthropic; both
go to the client underneath.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from tape.lm.hosted.stainless import opened, post
from tape.lm.hosted.wire import HttpCall, HttpFailure, HttpReply, WireSession, count, name_in, sample_of
from tape.lm.price import UNSPLIT
from tape.lm.reported import split_of


@dataclass(frozen=True)
class AnthropicWire:
    """Implements :class:`tape.lm.hosted.wire.Wire`."""

    model: str
    base_url: str
    key: str = field(repr=False)
    native: frozenset[str] = frozenset(("schema", "compact"))
    samples: bool = False
    length_fields: tuple[str, ...] = ("max_tokens",)

    def open(self) -> WireSession:
        """Make a client; nothing is sent yet."""
        import anthropic

        return _AnthropicSession(self, opened(anthropic, "AsyncAnthropic", self.base_url, self.key))


class _AnthropicSession:
    def __init__(self, wire: AnthropicWire, client: Any) -> None:
        self._wire, self._client = wire, client

    async def send(self, call: HttpCall) -> HttpReply | HttpFailure:
        import anthropic
        from outlines.inputs import Chat
        from outlines.models.anthropic import AnthropicTypeAdapter
        from outlines.models.utils import set_additional_properties_false_json_schema

        fields: dict[str, Any] = {}
        if call.form.kind == "schema":
            # Every object must say that it has no further properties.
            schema = set_additional_properties_false_json_schema(copy.deepcopy(call.form.value))
            fields["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if "temperature" not in call.without:
            fields["temperature"] = min(call.temperature, 1.0)
        system = "\n\n".join(m.content for m in call.messages if m.role == "system")
        if system:
            fields["system"] = system
        chat = Chat([{"role": m.role, "content": m.content} for m in call.messages if m.role != "system"])
        messages = AnthropicTypeAdapter().format_input(chat)["messages"]
        create = self._client.messages.with_raw_response.create
        sent = create(model=self._wire.model, messages=messages, max_tokens=call.max_tokens, extra_body=fields)
        return await post(anthropic, sent, _reply)

    async def close(self) -> None:
        await self._client.close()


def _reply(body: dict[str, Any]) -> HttpReply:
    finish, reason = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}, ""
    if isinstance(body.get("stop_reason"), str):
        reason = body["stop_reason"]
    blocks, usage = body.get("content"), _usage(body.get("usage"))
    sample = sample_of(blocks, finish.get(reason, "stop"), {}) if isinstance(blocks, list | str | dict) else None
    split = UNSPLIT if usage is None else split_of(body["usage"], usage[0])
    return HttpReply(() if sample is None else (sample,), usage, split, model=name_in(body))


def _usage(usage: object) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if prompt is None or completion is None:
        return None
    # Prompt tokens written to and read from the provider's cache are counted apart.
    cached = (count(usage.get(f"cache_{name}_input_tokens")) or 0 for name in ("creation", "read"))
    return prompt + sum(cached), completion
