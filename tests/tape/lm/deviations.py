"""A model server on loopback that deviates from the protocol in ways that servers do, and keeps the true bill."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.tape.lm.endpoint import Served

FREE, CHOSEN = "go up now, then once more", "up"
"""What the server answers to a free request, and of the options up and down."""
THOUGHT = "The door is above, so the way is up."
LIMIT = 96
"""Tokens of the longest answer that a server with a short limit gives; every answer fits into it."""

Body = dict[str, Any]
Refusal = tuple[int, Any]
"""Status and body."""


@dataclass(frozen=True)
class Deviation:
    """One way in which a server is not as the protocol has it.

    Attributes:
        refuse: What it refuses; None where it does not.
        say: Changes an answer before it is written.
        shape: Changes the body of an answer.
        raw: Changes the bytes of any body.
        headers: Of any response; a value of None takes a header away.
        status: Of a success.
        inexact: The usage that it reports is none, or not the bill.
        ends: The run ends, in an error that has these words.
        once: It refuses the first request only.
    """

    refuse: Callable[[Body], Refusal | None] | None = None
    say: Callable[[Said], None] | None = None
    shape: Callable[[Body], None] | None = None
    raw: Callable[[bytes], bytes] = bytes
    headers: Mapping[str, str | None] = field(default_factory=dict)
    status: int = 200
    inexact: bool = False
    ends: str = ""
    once: bool = False


@dataclass
class Said:
    """What was computed: texts, thought about each, why they ended, and the tokens of it all."""

    texts: list[str]
    prompt: int
    each: int
    thought: str = ""
    beside: bool = False
    finish: str | None = "stop"
    refusal: str | None = None
    content: Callable[[str], Any] = str

    @property
    def completion(self) -> int:
        return self.each * len(self.texts)


def tokens(text: str) -> int:
    return len(text.encode()) // 3 + 1


def error(message: Any, **fields: Any) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


def has_system(body: Body) -> bool:
    return "system" in body or any(message["role"] == "system" for message in body["messages"])


def sent_limit(body: Body) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 10**6)


def has_form(body: Body) -> bool:
    return any(name in body for name in ("response_format", "output_config", "structured_outputs", "regex", "grammar"))


def extra(name: str) -> Body:
    """What pydantic says of a field that it does not know, as several servers hand it on."""
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]}


def refusing(when: Callable[[Body], Any], status: int, said: Any, **fields: Any) -> Deviation:
    body = said if isinstance(said, dict) else error(said)
    return Deviation(lambda asked: (status, body) if when(asked) else None, **fields)


def too_long(words: str, extra_prompt: int = 0) -> Deviation:
    def refuse(body: Body) -> Refusal | None:
        asked = sent_limit(body)
        return (400, error(words.format(asked=asked, all=asked + 30))) if asked > LIMIT + extra_prompt else None

    return Deviation(refuse)


def saying(**changes: Any) -> Callable[[Said], None]:
    def say(said: Said) -> None:
        for name, value in changes.items():
            setattr(said, name, value)
        if changes.get("thought"):
            said.each += tokens(THOUGHT)

    return say


def only_thought(said: Said) -> None:
    """The answer stands where the reasoning should."""
    said.beside, said.thought = True, said.texts[0]
    said.texts = [""] * len(said.texts)


def used_up(said: Said) -> None:
    """All tokens went into reasoning."""
    said.beside, said.thought, said.finish = True, THOUGHT * 8, "length"
    said.texts, said.each = [""] * len(said.texts), LIMIT


def one_only(said: Said) -> None:
    said.texts = said.texts[:1]


def in_usage(change: Callable[[Body], Any]) -> Callable[[Body], None]:
    def shape(body: Body) -> None:
        body["usage"] = change(body["usage"]) if isinstance(body.get("usage"), dict) else body.get("usage")

    return shape


def hidden_in_total(usage: Body) -> Body:
    """The total alone has all tokens."""
    if "completion_tokens" not in usage:
        return usage
    return {**usage, "completion_tokens": max(1, usage["completion_tokens"] * 2 // 3)}


def cached(usage: Body) -> Body:
    """Half of the prompt was read from a cache."""
    if "prompt_tokens" in usage:
        return {**usage, "prompt_tokens_details": {"cached_tokens": usage["prompt_tokens"] // 2}}
    half = usage["input_tokens"] // 2
    rest = usage["input_tokens"] - half
    return {**usage, "input_tokens": rest, "cache_read_input_tokens": half, "cache_creation_input_tokens": 0}


def of_first(body: Body) -> None:
    """llama.cpp: the usage of several choices is that of the first."""
    if len(choices := body.get("choices") or []) > 1 and isinstance(usage := body.get("usage"), dict):
        first = usage["completion_tokens"] // len(choices)
        body["usage"] = {"completion_tokens": first, "prompt_tokens": usage["prompt_tokens"]}
        body["timings"] = {"predicted_n": first, "predicted_per_second": 33.0}


def counted(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def extended(body: Body) -> None:
    """Fields that nobody knows, and none of those that nobody needs."""
    body.pop("id", None)
    body.update(created=float("inf"), system_fingerprint=None, x_groq={"id": "r"}, choices_of_others=[{}])


def parts(kind: str, pieces: int = 1) -> Callable[[str], Any]:
    def content(text: str) -> Any:
        cut = len(text) // pieces or 1
        return [{"type": kind, "text": piece} for piece in (text[:cut], text[cut:])][:pieces]

    return content


NOT_HERE = "The model `test` does not exist"
DEVIATIONS: dict[str, Deviation] = {
    # Fields that it refuses.
    "no max_tokens": refusing(
        lambda body: "max_tokens" in body and is_chat(body),
        400,
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
            param="max_tokens",
        ),
    ),
    "no max_completion_tokens": refusing(
        lambda body: "max_completion_tokens" in body, 422, extra("max_completion_tokens")
    ),
    "n at most 1": refusing(lambda body: body.get("n", 1) > 1, 400, "'n' : number must be at most 1"),
    "one choice, by 500": refusing(
        lambda body: body.get("n", 1) > 1, 500, "Only one completion choice is allowed", inexact=True
    ),
    "n unknown": refusing(lambda body: "n" in body, 422, extra("n")),
    "no system role": refusing(has_system, 400, "System role not supported"),
    "no system role, by 500": refusing(
        has_system, 500, "Jinja Exception: Conversation roles must alternate user/assistant/user/...", inexact=True
    ),
    "at most": too_long("max_tokens is too large: {asked}. This model supports at most 96 completion tokens."),
    "maximum": too_long("max_tokens: {asked} > 96, which is the maximum allowed for claude-3-haiku-20240307"),
    "range": too_long("it has a maxOutputTokens value of {asked} but the supported range is from 1 to 97 (exclusive)"),
    "window": too_long(
        "This model's maximum context length is 126 tokens. However, you requested {all} tokens (30 in the messages, "
        "{asked} in the completion). Please reduce the length of the messages or completion."
    ),
    "no temperature": refusing(
        lambda body: "temperature" in body, 400, error("Unsupported value, only the default is", param="temperature")
    ),
    "no seed": refusing(lambda body: any("seed" in name for name in body), 422, extra("seed")),
    "no n, no seed": refusing(
        lambda body: "n" in body or "seed" in body, 400, "Unrecognized request arguments supplied: n, seed"
    ),
    "no format": refusing(has_form, 400, "response_format of type json_schema is not supported"),
    "an error in a success": refusing(
        lambda body: "temperature" in body, 200, error("temperature must be 1", code=400)
    ),
    # Statuses.
    "busy once": refusing(lambda body: True, 503, "overloaded", once=True, inexact=True),
    "slow down once": refusing(lambda body: True, 429, "slow down", once=True),
    "not here": refusing(lambda body: True, 404, NOT_HERE, ends=NOT_HERE),
    "not here, in a success": refusing(lambda body: True, 200, error(NOT_HERE, code=404), ends=NOT_HERE),
    "created": Deviation(status=201),
    # Contents.
    "text parts": Deviation(say=saying(content=parts("text"))),
    "two output parts": Deviation(say=saying(content=parts("output_text", 2))),
    "one part": Deviation(say=saying(content=lambda text: {"type": "text", "text": text})),
    "text and value": Deviation(
        say=saying(content=lambda text: [{"type": "reasoning", "text": "Up?"}, text[:3], {"text": {"value": text[3:]}}])
    ),
    "thinking part": Deviation(say=saying(thought=THOUGHT)),
    "reasoning beside": Deviation(say=saying(thought=THOUGHT, beside=True)),
    "answer in the reasoning": Deviation(say=only_thought),
    "used up": Deviation(say=used_up, ends="by reasoning"),
    "refusal": Deviation(say=saying(refusal="I will not do that.", each=9)),
    "no finish": Deviation(say=saying(finish=None)),
    "one sample only": Deviation(say=one_only),
    "unknown fields": Deviation(shape=extended),
    # Usage.
    "1.0 tokens": Deviation(shape=in_usage(lambda usage: {name: counted(value) for name, value in usage.items()})),
    "hidden in the total": Deviation(shape=in_usage(hidden_in_total)),
    "cached": Deviation(shape=in_usage(cached)),
    "usage of the first": Deviation(shape=of_first, inexact=True),
    "no usage": Deviation(shape=in_usage(lambda usage: None), inexact=True),
    "usage as text": Deviation(shape=in_usage(lambda usage: {k: str(v) for k, v in usage.items()}), inexact=True),
    # Bytes and headers.
    "mark": Deviation(raw=lambda raw: b"\xef\xbb\xbf" + raw),
    "utf-16": Deviation(raw=lambda raw: raw.decode().encode("utf-16"), headers={"Content-Type": "text/json"}),
    "zeros": Deviation(raw=lambda raw: b" \r\n" + raw + b"\0\0"),
    "zipped": Deviation(raw=gzip.compress, headers={"Content-Encoding": "gzip"}),
    "zipped without a word": Deviation(raw=lambda raw: raw if raw.startswith(b"\x1f") else gzip.compress(raw)),
    "not zipped": Deviation(headers={"Content-Encoding": "gzip"}),
    "odd headers": Deviation(headers={"Content-Type": "text/html; charset=bz2", "Content-Encoding": "UTF-8"}),
    "chunked": Deviation(headers={"Transfer-Encoding": "chunked", "Content-Length": None}),
    "no length": Deviation(headers={"Connection": "close", "Content-Length": None}),
}  # fmt: skip


def is_chat(body: Body) -> bool:
    """Whether a body is one of chat completions: only they know another name of the limit."""
    return bool(body.get("_chat"))


@dataclass
class Run:
    """One server: what deviates, what it was asked, said and computed."""

    deviations: tuple[Deviation, ...]
    bill: int = 0
    computed: int = 0
    refused: int = 0
    asked: list[Body] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def answer(self, body: Body, *, chat: bool) -> tuple[int, bytes, dict[str, str]]:
        """Status, bytes and headers."""
        first = not self.asked
        self.asked.append(body)
        status, reply = self._refused({**body, "_chat": chat}, first=first) or (200, None)
        if reply is None:
            status, reply = max(item.status for item in self.deviations), self._computed(body, chat=chat)
        raw = json.dumps(reply).encode()
        headers: dict[str, str | None] = {"Content-Type": "application/json", "Content-Length": ""}
        for deviation in self.deviations:
            raw = deviation.raw(raw)
            headers.update(deviation.headers)
        return status, raw, {name: value for name, value in headers.items() if value is not None}

    def _refused(self, body: Body, *, first: bool) -> Refusal | None:
        for deviation in self.deviations:
            refusal = deviation.refuse(body) if deviation.refuse and (first or not deviation.once) else None
            if refusal is not None:
                self.refused += not deviation.once
                self.words.append(json.dumps(refusal[1]))
                return refusal
        return None

    def _computed(self, body: Body, *, chat: bool) -> Body:
        text = f'{{"answer": "{CHOSEN}"}}' if "response_format" in body or "output_config" in body else CHOSEN
        if "Where" in str(body["messages"][-1]["content"]):
            text = FREE
        prompt = sum(len(str(message["content"]).split()) for message in body["messages"]) + 9
        prompt += len(str(body.get("system", "")).split())
        said = Said([text] * body.get("n", 1), prompt, tokens(text))
        for deviation in self.deviations:
            if deviation.say:
                deviation.say(said)
        self.computed += 1
        self.bill += said.prompt + said.completion
        reply = chat_of(said) if chat else message_of(said)
        for deviation in self.deviations:
            if deviation.shape:
                deviation.shape(reply)
        self.words.append(json.dumps(reply))
        return reply


def content_of(said: Said, text: str) -> Any:
    content = said.content(text)
    if said.thought and not said.beside:
        shown = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [shown] if isinstance(shown, dict) else shown
        return [{"type": "thinking", "thinking": [{"type": "text", "text": said.thought}]}, *shown]
    return (content or None) if said.beside else content


def chat_of(said: Said) -> Body:
    beside = {"reasoning_content": said.thought} if said.beside else {}
    if said.refusal:
        beside["refusal"] = said.refusal
    choices = [
        {"index": i, "message": {"content": content_of(said, text), **beside}, "finish_reason": said.finish}
        for i, text in enumerate(said.texts)
    ]
    usage = {"prompt_tokens": said.prompt, "completion_tokens": said.completion}
    return {"id": "x", "choices": choices, "usage": {**usage, "total_tokens": sum(usage.values())}}


def message_of(said: Said) -> Body:
    reasons = {"stop": "end_turn", "length": "max_tokens", None: None}
    content = content_of(said, said.texts[0]) or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if said.beside:
        shown = [blocks] if isinstance(blocks, dict) else blocks
        blocks = [{"type": "thinking", "thinking": said.thought, "signature": "s"}, *shown]
    usage = {"input_tokens": said.prompt, "output_tokens": said.completion}
    reason = "refusal" if said.refusal else reasons[said.finish]
    return {"type": "message", "content": blocks, "stop_reason": reason, "usage": usage}


class Servers(Served):
    """Many servers behind one port, each at a path of its own."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                run = outer.runs[int(self.path.split("/")[1])]
                status, raw, headers = run.answer(body, chat=not self.path.endswith("/messages"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, str(len(raw)) if name == "Content-Length" else value)
                self.end_headers()
                if "Transfer-Encoding" in headers:
                    raw = b"%x; odd=1\r\n%s\r\n1\r\n%s\r\n0\r\n\r\n" % (len(raw) - 1, raw[:-1], raw[-1:])
                self.wfile.write(raw)
                self.close_connection |= "Content-Length" not in headers and "Transfer-Encoding" not in headers

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), Handler))

    def start(self, *names: str) -> tuple[Run, str]:
        """A new server with these deviations, and its root."""
        self.runs.append(Run(tuple(DEVIATIONS[name] for name in names) or (Deviation(),)))
        return self.runs[-1], f"{self.root}/{len(self.runs) - 1}"
