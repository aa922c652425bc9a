"""OpenAI's chat completions, which most servers speak, and Anthropic's messages.

Messages and schemas are formatted by Outlines' adapters; the call goes through the client underneath, because Outlines'
models return the text alone and drop usage, finish reasons and headers. Its adapter for Anthropic knows no structured
outputs and no system prompt.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from tape.lm.hosted.forms import Form
from tape.lm.hosted.http import NoAnswerError, opened, post
from tape.lm.hosted.wire import HttpCall, HttpFailure, HttpReply, HttpSample, WireSession, count, name_in, sample_of
from tape.lm.price import UNSPLIT, split_of

WireT = TypeVar("WireT")
Flavour = Literal["openai", "compatible", "vllm", "sglang", "llamacpp"]

LENGTH_FIELDS = ("max_tokens", "max_completion_tokens")
_COUNTING = 5.0
"""Seconds for a server to count the tokens of samples, which are bounded by their bytes else."""
NATIVE: dict[Flavour, frozenset[str]] = {
    # OpenAI itself writes JSON without white space; what is compatible with it may write more.
    "openai": frozenset(("schema", "compact")),
    "compatible": frozenset(("schema",)),
    "vllm": frozenset(("schema", "regex", "choice", "grammar")),
    "sglang": frozenset(("schema", "regex", "grammar")),
    "llamacpp": frozenset(("schema", "gbnf", "grammar")),
}


@dataclass(frozen=True)
class OpenAIWire:
    """Implements :class:`tape.lm.hosted.wire.Wire`.

    Attributes:
        model: The model's name at the endpoint.
        base_url: For instance ``http://127.0.0.1:8000/v1``.
        key: The API key; empty for none.
        flavour: Which fields ask for structured outputs.
        length_fields: ``max_completion_tokens`` first at OpenAI, ``max_tokens`` elsewhere.
        seed_field: ``seed``; ``random_seed`` at Mistral; empty: no seed is taken.
        seed_bits: The longest seed that is taken; a longer one keeps its lowest bits.
        samples: Whether ``n`` is taken.
    """

    model: str
    base_url: str
    key: str = field(repr=False)
    flavour: Flavour = "compatible"
    length_fields: tuple[str, ...] = LENGTH_FIELDS
    seed_field: str = "seed"
    seed_bits: int = 63
    samples: bool = True

    @property
    def native(self) -> frozenset[str]:
        """The kinds of form that the endpoint enforces."""
        return NATIVE[self.flavour]

    def open(self) -> WireSession:
        """Make a client; nothing is sent yet."""
        import openai

        return _OpenAISession(self, opened(openai, "AsyncOpenAI", self.base_url, self.key))


class _Session(Generic[WireT]):
    def __init__(self, wire: WireT, client: Any) -> None:
        self._wire, self._client = wire, client

    async def close(self) -> None:
        await self._client.close()


class _OpenAISession(_Session[OpenAIWire]):
    async def send(self, call: HttpCall) -> HttpReply | HttpFailure:
        import openai
        from outlines.inputs import Chat
        from outlines.models.openai import OpenAITypeAdapter

        wire = self._wire
        fields = {wire.length_fields["length" in call.without]: call.max_tokens, **_structured(wire.flavour, call.form)}
        if call.n > 1:
            fields["n"] = call.n
        if "temperature" not in call.without:
            fields["temperature"] = call.temperature
        if call.seed is not None and wire.seed_field and "seed" not in call.without:
            fields[wire.seed_field] = call.seed % 2**wire.seed_bits
        messages = OpenAITypeAdapter().format_input(
            Chat([{"role": m.role, "content": m.content} for m in call.messages])
        )
        create = self._client.chat.completions.with_raw_response.create
        reply = await post(
            openai, create(model=wire.model, messages=messages, extra_body=fields), partial(_openai_reply, call.n)
        )
        if isinstance(reply, HttpReply) and reply.of_first and wire.flavour == "llamacpp":
            return replace(reply, others=await self._counted(reply.samples[1:]))
        return reply

    async def _counted(self, samples: Sequence[HttpSample]) -> int | None:
        """The tokens of samples, each with the one that ends it, as llama.cpp's server writes their texts.

        What was sampled under a constraint may have been other tokens of the same text.
        """
        import openai

        if any(sample.thought for sample in samples):
            return None
        address = f"{self._wire.base_url.rstrip('/').removesuffix('/v1')}/tokenize"
        try:
            asked = [
                self._client.post(address, cast_to=str, body={"content": http_sample.text}) for http_sample in samples
            ]
            async with asyncio.timeout(_COUNTING):
                return sum(len(json.loads(answer)["tokens"]) + 1 for answer in await asyncio.gather(*asked))
        except (TimeoutError, NoAnswerError, openai.APIError, KeyError, TypeError, ValueError):
            return None


def _structured(flavour: Flavour, form: Form) -> dict[str, Any]:
    """The fields that ask for a form."""
    from outlines.models.openai import OpenAITypeAdapter
    from outlines.models.sglang import SGLangTypeAdapter
    from outlines.models.vllm import VLLMTypeAdapter
    from outlines.types import CFG, JsonSchema, Regex

    match form.kind:
        case "free":
            return {}
        case "choice":
            return {"structured_outputs": {"choice": form.value}}  # Outlines would make a pattern of it
        case "schema":
            asked: Any = JsonSchema(form.value)
        case "regex":
            asked = Regex(form.value)
        case "grammar" if flavour == "llamacpp":
            return {"grammar": form.value}
        case "grammar":
            asked = CFG(form.value)
    adapters = {"vllm": VLLMTypeAdapter, "sglang": SGLangTypeAdapter}
    fields: dict[str, Any] = adapters.get(flavour, OpenAITypeAdapter)().format_output_type(asked)
    return {**fields, **fields.pop("extra_body", {})}


def _openai_reply(n: int, body: dict[str, Any]) -> HttpReply:
    """Read a chat completion, and no more than ``n`` choices of it."""
    choices = body.get("choices")
    samples = [_sample(choice) for choice in choices[:n]] if isinstance(choices, list) else []
    usage = _usage(body, "prompt_tokens", "completion_tokens")
    if usage is not None:
        # Some endpoints leave hidden reasoning out of completion_tokens but not out of the total.
        usage = usage[0], max(usage[1], (count(body["usage"].get("total_tokens")) or 0) - usage[0])
    reply = _reply(body, [sample for sample in samples if sample is not None], usage)
    return replace(reply, of_first=len(reply.samples) > 1 and _of_first(body))


def _usage(body: dict[str, Any], prompt: str, completion: str) -> tuple[int, int] | None:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    asked, written = count(usage.get(prompt)), count(usage.get(completion))
    return None if asked is None or written is None else (asked, written)


def _reply(body: dict[str, Any], samples: Sequence[HttpSample], usage: tuple[int, int] | None) -> HttpReply:
    split = UNSPLIT if usage is None else split_of(body["usage"], usage[0])
    return HttpReply(tuple(samples), usage, split, model=name_in(body))


def _of_first(body: dict[str, Any]) -> bool:
    """Whether the usage is that of the first choice alone, as llama.cpp has it; its ``timings`` tell."""
    timings, usage = body.get("timings"), body.get("usage")
    if not isinstance(timings, dict) or not isinstance(usage, dict):
        return False
    return count(timings.get("predicted_n")) == count(usage.get("completion_tokens"))


def _sample(choice: object) -> HttpSample | None:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    refusal, reason = message.get("refusal"), choice.get("finish_reason")
    if isinstance(refusal, str) and refusal:
        return HttpSample(refusal, "refusal")
    finish = {"length": "length", "content_filter": "refusal"}.get(reason if isinstance(reason, str) else "", "stop")
    return sample_of(message.get("content"), finish, message)


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


class _AnthropicSession(_Session[AnthropicWire]):
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
        return await post(anthropic, sent, _anthropic_reply)


def _anthropic_reply(body: dict[str, Any]) -> HttpReply:
    finish, reason = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}, ""
    if isinstance(body.get("stop_reason"), str):
        reason = body["stop_reason"]
    blocks, usage = body.get("content"), _usage(body, "input_tokens", "output_tokens")
    if usage is not None:
        # Prompt tokens written to and read from the provider's cache are counted apart.
        cached = (count(body["usage"].get(f"cache_{name}_input_tokens")) or 0 for name in ("creation", "read"))
        usage = usage[0] + sum(cached), usage[1]
    sample = sample_of(blocks, finish.get(reason, "stop"), {}) if isinstance(blocks, list | str | dict) else None
    return _reply(body, [] if sample is None else [sample], usage)
