"""A provider on loopback for the proxy of LiteLLM: ``python litellm_upstream.py PORT``; needs uvicorn alone.

It does what the last message asks for, in words such as ``tokens=40 seconds=0.5``: how many tokens to write (at most
the limit of the request), over how long; ``status=500``; ``cut=1`` ends the connection amid the answer; ``usage=``
``none``, ``more``, ``less`` or ``negative``; ``bytes=1`` sends an answer byte by byte; ``tool=1`` calls the first tool.
``GET /seen`` says, and forgets, what it was asked for and how many tokens it has written.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

PROMPT_TOKENS = 20
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")

seen: list[dict[str, Any]] = []


class Answer:
    """The answer to a request."""

    def __init__(self, path: str, body: dict[str, Any]) -> None:
        self.body, self.path = body, path
        turns = body.get("messages") or body.get("input") or body.get("prompt") or ""
        last = turns[-1] if isinstance(turns, list) and turns else turns
        self.words = dict(re.findall(r"\b(\w+)=([\w.]+)", json.dumps(last)))
        limit = min([body[name] for name in _LIMITS if body.get(name)] or [10**6])
        self.tokens = min(int(self.words.get("tokens", 5)), limit) * int(body.get("n") or 1)
        self.done = {"path": path, "model": body.get("model"), "limit": limit, "written": 0, "body": body}
        seen.append(self.done)
        tools = body.get("tools") or []
        self.tool = (tools[0].get("function") or tools[0])["name"] if tools and "tool" in self.words else ""

    def counts(self) -> tuple[int, int] | None:
        """What it says of its tokens."""
        lie = self.words.get("usage", "")
        said = {"more": self.tokens * 1000, "less": 1, "negative": -self.tokens}.get(lie, self.tokens)
        return None if lie == "none" else (PROMPT_TOKENS, said)

    def usage(self, *names: str) -> dict[str, Any]:
        """The same as JSON."""
        counts = self.counts()
        total = {"total_tokens": sum(counts)} if counts and names[0] != "input_tokens" else {}
        return {} if counts is None else {"usage": {**dict(zip(names, counts, strict=True)), **total}}

    async def pieces(self) -> AsyncIterator[int]:
        """Write the tokens, in ten pieces or fewer."""
        size = max(1, self.tokens // 10)
        for begin in range(0, self.tokens, size):
            count = min(size, self.tokens - begin)
            await asyncio.sleep(float(self.words.get("seconds", 0)) * count / self.tokens)
            if "cut" in self.words and begin >= self.tokens // 2:
                raise ConnectionError("cut")
            self.done["written"] += count
            yield count


def chat(answer: Answer) -> tuple[dict[str, Any], Callable[[int], Any], list[Any]]:
    """A whole answer, a piece of a stream, and its end."""
    usage = answer.usage("prompt_tokens", "completion_tokens")
    base = {"id": "chatcmpl-1", "created": 1, "model": answer.body["model"]}
    call = {"id": "call_1", "type": "function", "function": {"name": answer.tool, "arguments": '{"query": "x"}'}}
    said = {"tool_calls": [call]} if answer.tool else {"content": "word " * answer.tokens}
    end = "tool_calls" if answer.tool else "stop"
    whole = {"object": "chat.completion", **base, **usage, "choices": [
        {"index": n, "message": {"role": "assistant", "content": None, **said}, "finish_reason": end}
        for n in range(answer.body.get("n") or 1)
    ]}  # fmt: skip

    def piece(count: int) -> Any:
        delta = {"tool_calls": [{"index": 0, **call}]} if answer.tool else {"content": "word " * count}
        mapping = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
        return {"object": "chat.completion.chunk", **base, "choices": [mapping]}

    last = {"object": "chat.completion.chunk", **base, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}
    asks = (answer.body.get("stream_options") or {}).get("include_usage")
    tail = [{"object": "chat.completion.chunk", **base, "choices": [], **usage}] if usage and asks else []
    return whole, piece, [last, *tail, "[DONE]"]


def text(answer: Answer) -> tuple[dict[str, Any], Callable[[int], Any], list[Any]]:
    """The same of a text completion."""
    usage = answer.usage("prompt_tokens", "completion_tokens")
    base = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": answer.body["model"]}

    def piece(count: int) -> Any:
        return {**base, "choices": [{"index": 0, "text": "word " * count, "finish_reason": None}]}

    whole = {**piece(answer.tokens), **usage}
    return whole, piece, [{**base, "choices": [], **usage}, "[DONE]"]


def messages(answer: Answer) -> tuple[dict[str, Any], Callable[[int], Any], list[Any]]:
    """The same as Anthropic has it."""
    usage = answer.usage("input_tokens", "output_tokens")
    block: dict[str, Any] = {"type": "text", "text": "word " * answer.tokens}
    if answer.tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": answer.tool, "input": {"query": "x"}}
    end = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": answer.body["model"], "content": [block],
             **end, **usage}  # fmt: skip

    def piece(count: int) -> Any:
        return {
            "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word " * count}
        }  # fmt: skip

    delta = {"usage": {"output_tokens": usage["usage"]["output_tokens"]}} if usage else {}
    return whole, piece, [
        {"type": "content_block_stop", "index": 0}, {"type": "message_delta", "delta": end, **delta},
        {"type": "message_stop"},
    ]  # fmt: skip


def messages_begin(answer: Answer) -> Iterator[Any]:
    """The events before the first piece."""
    usage = answer.usage("input_tokens", "output_tokens")
    if usage:
        usage["usage"]["output_tokens"] = 1
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": answer.body["model"], "content": []}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None, **usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


def responses(answer: Answer) -> tuple[dict[str, Any], Callable[[int], Any], list[Any]]:
    """The same as OpenAI's newer interface has it."""
    usage = answer.usage("input_tokens", "output_tokens")
    if usage:
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage["usage"] |= {"total_tokens": sum(answer.counts() or ()), **details}
    said: dict[str, Any] = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [
        {"type": "output_text", "text": "word " * answer.tokens, "annotations": []}
    ]}  # fmt: skip
    if answer.tool:
        said = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": answer.tool,
                "arguments": '{"query": "x"}', "status": "completed"}  # fmt: skip
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "output": [said],
             "model": answer.body["model"], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
             **usage}  # fmt: skip

    def piece(count: int) -> Any:
        return {"type": "response.output_text.delta", "sequence_number": 1, "item_id": "msg_1", "output_index": 0,
                "content_index": 0, "delta": "word " * count, "logprobs": []}  # fmt: skip

    return whole, piece, [{"type": "response.completed", "sequence_number": 2, "response": whole}]


def embeddings(answer: Answer) -> tuple[dict[str, Any], Callable[[int], Any], list[Any]]:
    """Vectors of one number."""
    given = answer.body.get("input")
    data = [{"object": "embedding", "index": n, "embedding": [0.5]} for n in range(len(given or ["x"]))]
    usage = {"prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS}
    whole = {"object": "list", "data": data, "model": answer.body["model"], "usage": usage}
    return whole, lambda count: count, []


ROUTES = {"chat/completions": chat, "completions": text, "messages": messages, "responses": responses,
          "embeddings": embeddings}  # fmt: skip


def frames(event: Any) -> bytes:
    """An event of a stream."""
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


async def app(scope: dict[str, Any], receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    """The application."""
    if scope["type"] != "http":
        return
    raw, more = b"", True
    while more:
        event = await receive()
        raw, more = raw + event.get("body", b""), event.get("more_body", False)
    if scope["path"] == "/seen":
        result, seen[:] = list(seen), []
        await _send(send, 200, [json.dumps(result).encode()])
        return
    name = scope["path"].removeprefix("/v1/")
    answer = Answer(name, json.loads(raw or b"{}"))
    status = int(answer.words.get("status", 200))
    if status != 200 or name not in ROUTES:
        error = {"message": "as asked", "type": "server_error", "code": "x"}
        await _send(send, status if status != 200 else 404, [json.dumps({"type": "error", "error": error}).encode()])
        return
    whole, piece, end = ROUTES[name](answer)
    if not answer.body.get("stream"):
        async for _ in answer.pieces():
            pass
        text_of = json.dumps(whole).encode()
        size = 1 if "bytes" in answer.words else len(text_of)
        await _send(send, 200, [text_of[at : at + size] for at in range(0, len(text_of), size)])
        return
    await _stream(send, answer, piece, end)


async def _stream(send: Any, answer: Answer, piece: Callable[[int], Any], end: list[Any]) -> None:
    head = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": head})

    async def put(event: Any) -> None:
        raw = frames(event)
        size = 1 if "bytes" in answer.words else len(raw)
        for at in range(0, len(raw), size):
            await send({"type": "http.response.body", "body": raw[at : at + size], "more_body": True})

    for event in messages_begin(answer) if answer.path == "messages" else ():
        await put(event)
    async for count in answer.pieces():
        if count and not (answer.tool and answer.done["written"] != count):
            await put(piece(count))
    for event in end:
        await put(event)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Any, status: int, parts: list[bytes]) -> None:
    head = [(b"content-type", b"application/json"), (b"content-length", str(sum(map(len, parts))).encode())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", timeout_keep_alive=600)
