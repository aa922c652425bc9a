"""What a provider's part must do: send one call, and return its outcome without raising."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Protocol

from tape.lm.base import Message
from tape.lm.hosted.forms import FREE_FORM, Form
from tape.lm.price import UNSPLIT, Split
from tape.redaction import redacted

FailureKind = Literal["limit", "timeout", "connect", "cut", "server", "garbage", "redirect", "refused"]

PASSING: frozenset[FailureKind] = frozenset(("limit", "timeout", "connect", "cut", "server"))
"""After which another model may answer."""
RETRYABLE: frozenset[FailureKind] = frozenset(("limit", "timeout", "connect", "cut", "server", "garbage"))
UNBILLED: frozenset[FailureKind] = frozenset(("limit", "connect", "refused"))
"""Failures after which the endpoint has certainly computed nothing. All others may be billed."""


@dataclass(frozen=True)
class HttpCall:
    """One HTTP request to an endpoint.

    Attributes:
        messages: The conversation.
        max_tokens: Most tokens per sample.
        n: Samples.
        temperature: Sampling temperature.
        seed: Sent where the endpoint takes one and the temperature is above 0; None: not sent.
        form: What is asked to be enforced.
        without: What the endpoint has refused: ``temperature``, ``seed``, ``n``, ``system``; ``length``: the first name
            of the limit (:mod:`tape.lm.hosted.concessions`).
    """

    messages: tuple[Message, ...]
    max_tokens: int
    n: int = 1
    temperature: float = 0.0
    seed: int | None = None
    form: Form = FREE_FORM
    without: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class HttpSample:
    """One answer: its text, why it ended (``stop``, ``length`` or ``refusal``), and the bytes of reasoning beside."""

    text: str
    finish: str
    thought: int = 0


@dataclass(frozen=True)
class HttpReply:
    """What an endpoint answered.

    Attributes:
        samples: Perhaps fewer than asked for; none where nothing of an answer can be used.
        usage: Prompt and completion tokens as reported; None where nothing credible was reported.
        split: What the provider's cache had of the prompt, as reported.
        of_first: The completion tokens are those of the first sample alone.
        others: Those of the other samples then, as the server counts them; None where it does not.
        model: Which model has answered, as it says; empty where it does not.
    """

    samples: tuple[HttpSample, ...]
    usage: tuple[int, int] | None
    split: Split = UNSPLIT
    of_first: bool = False
    model: str = ""
    others: int | None = None


@dataclass(frozen=True)
class HttpFailure:
    """What went wrong with one call.

    Attributes:
        kind: ``limit``: too many calls; ``timeout``; ``connect``: not reached; ``cut``: the connection broke;
            ``server``: its own error; ``garbage``: an answer that is none; ``redirect``: it points elsewhere;
            ``refused``: request, key or model is wrong.
        message: For people; holds no key.
        status: The HTTP status, or None.
        retry_after: Seconds that the endpoint asks to wait, or None.
        read: What could be read of an answer that cannot be used: its usage.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    read: HttpReply | None = None


class WireSession(Protocol):
    """A provider's open client."""

    async def send(self, call: HttpCall) -> HttpReply | HttpFailure:
        """Send one call; never raises for what the endpoint or the network did."""

    async def close(self) -> None:
        """Give the connections back."""


class Wire(Protocol):
    """One provider's way of speaking."""

    @property
    def native(self) -> frozenset[str]:
        """The kinds of :class:`tape.lm.hosted.forms.Form` that the endpoint enforces as they are.

        Besides, ``gbnf``: choices and patterns are asked for by grammars of llama.cpp; ``compact``: JSON comes on one
        line.
        """

    @property
    def samples(self) -> bool:
        """Whether one call can ask for several samples."""

    @property
    def length_fields(self) -> tuple[str, ...]:
        """The name of the length limit, and perhaps another one for endpoints that refuse the first."""

    def open(self) -> WireSession:
        """Make a client; nothing is sent yet."""


def kind_of_status(status: int, text: str) -> FailureKind:
    """What an HTTP error status means."""
    if status == 429:
        return "refused" if "insufficient_quota" in text else "limit"
    if status in (408, 409):
        return "timeout"
    return "server" if status >= 500 else "refused"


LONGEST_WAIT = 86_400.0
"""Seconds. A longer ``Retry-After`` is taken as this; no run waits as long as either."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a ``Retry-After`` header, which holds seconds or a date; None where it holds neither.

    A date is one of the endpoint's clock, as its ``Date`` header is; this machine's may be wrong, or set meanwhile.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value) if _SECONDS.fullmatch(value) else _seconds_until(value, headers.get("date", ""))
    except (ValueError, TypeError, OverflowError, IndexError):  # dates and zones of any size
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


_SECONDS = re.compile(r"-?[0-9]{1,300}(\.[0-9]{0,300})?")


def _seconds_until(date: str, sent_at: str) -> float:
    now = datetime.now(UTC)
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        now = _moment(sent_at)
    return (_moment(date) - now).total_seconds()


def _moment(date: str) -> datetime:
    when = parsedate_to_datetime(date)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


MOST_BRACKETS = 100_000
"""Most lists and objects in a response that is read: to make half a million takes seconds."""


def json_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object in a response's body; None where it is none, or has more than :data:`MOST_BRACKETS` parts."""
    if raw.count(b"[") + raw.count(b"{") > MOST_BRACKETS:
        return None
    try:
        loaded = json.loads(decoded(raw))
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None


def decoded(raw: bytes) -> str:
    """The text of a body: UTF-8, or UTF-16 where its mark says so; without marks, zeros and white space around it."""
    wide = raw.lstrip().startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = raw.lstrip().decode("utf-16", "replace") if wide else raw.decode("utf-8", "replace")
    return text.strip(" \t\r\n\0\ufeff")


_TEXTS, _THOUGHTS = ("text", "output_text"), ("thinking", "reasoning", "reasoning_content")


def sample_of(content: object, finish: str, message: Mapping[str, Any]) -> HttpSample | None:
    """An answer from the content of a message, a text or a list of parts; None where it is neither.

    Reasoning, which may stand in the message too, is no answer, unless it is all there is and came to an end.
    """
    parts = [content] if isinstance(content, str | dict) else content or []
    if not isinstance(parts, list) or not all(isinstance(part, str | dict) for part in parts):
        return None
    shown = [{"text": part} if isinstance(part, str) else part for part in parts]
    text = "".join(_words(part.get("text")) for part in shown if (part.get("type") or "text") in _TEXTS)
    thoughts = [part.get(name) for part in shown if part.get("type") in _THOUGHTS for name in (*_THOUGHTS, "text")]
    # Where a message has both names, they hold the same.
    thought = "".join(map(_words, thoughts)) or _words(message.get(_THOUGHTS[2])) or _words(message.get(_THOUGHTS[1]))
    if not text and finish == "stop":
        return HttpSample(thought, finish)
    return HttpSample(text, finish, len(thought.encode("utf-8", "replace")))


def _words(part: object) -> str:
    """The text of a part, which may be a list of parts in turn."""
    inner = part if isinstance(part, list) else [part]
    texts = [mapping.get("text", mapping.get("value")) if isinstance(mapping, dict) else mapping for mapping in inner]
    return "".join(text for text in texts if isinstance(text, str))


def count(value: object) -> int | None:
    """A reported number of tokens, perhaps written as ``900.0``; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def name_in(body: Mapping[str, Any]) -> str:
    """Which model an answer says that it is from; empty where it says nothing that can be a name."""
    name = body.get("model")
    return first_words(name) if isinstance(name, str) else ""


def text_within(text: str, most: int) -> str:
    """The beginning of a text from outside, without keys, and without halves of surrogate pairs: no file takes them."""
    # A key may stand across the cut: so more is searched than is kept, and of a cut text its end is never kept.
    beginning = redacted(text[: most + _MARGIN])
    if len(text) > most + _MARGIN:
        most = min(most, len(beginning) - _MARGIN)
    return beginning[:most].encode("utf-8", errors="replace").decode()


_MARGIN = 4096
"""Characters: a key is shorter, in whatever spelling."""


def first_words(text: str) -> str:
    """The beginning of a text from outside, on one line and without keys."""
    line = " ".join(text_within(text, _MARGIN).split())
    return line if len(line) <= 300 else line[:297] + "..."
