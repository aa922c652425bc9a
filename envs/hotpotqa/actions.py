"""Actions as text: ``search: QUERY``, ``find: {...}``, ``answer: TEXT`` and ``finish``."""

from __future__ import annotations

import json
from dataclasses import dataclass

from envs.hotpotqa.errors import HotpotError
from tape.protocols import Action
from tape.reading import parse_json, short

FINISH: Action = "finish"
_TEXTS = ("finding", "title", "bridge", "sub")
LONGEST = 2000
"""Characters of an action; longer ones are refused."""
MOST_HOPS = 100


@dataclass(frozen=True)
class ParagraphSearch:
    """Retrieve paragraphs."""

    query: str


@dataclass(frozen=True)
class Find:
    """Note what a hop was found to be.

    Attributes:
        hop: The hop, from 1.
        finding: What was found.
        title: Title of the paragraph that it was found in.
        bridge: The entity that the next hop asks about.
        sub: The sub-question, references replaced.
    """

    hop: int
    finding: str
    title: str
    bridge: str = ""
    sub: str = ""


@dataclass(frozen=True)
class HotpotAnswer:
    """Let this text stand as the answer, in place of an earlier one."""

    text: str


@dataclass(frozen=True)
class Finish:
    """End the episode with the answer that stands."""


Parsed = ParagraphSearch | Find | HotpotAnswer | Finish


def write(action: Parsed) -> Action:
    """The text of an action."""
    if isinstance(action, ParagraphSearch):
        return f"search: {_line(action.query)}"
    if isinstance(action, HotpotAnswer):
        return f"answer: {_line(action.text)}"
    if isinstance(action, Finish):
        return FINISH
    fields: dict[str, str | int] = {"hop": action.hop}
    fields |= {name: value for name in _TEXTS if (value := getattr(action, name)) or name != "sub"}
    return f"find: {json.dumps(fields, ensure_ascii=False)}"


def read(text: Action) -> Parsed:
    """Read an action.

    Raises:
        HotpotError: It is no action; names the problem.
    """
    if len(text) > LONGEST:
        raise HotpotError(f"an action has at most {LONGEST} characters, this one {len(text)}")
    if text.strip() == FINISH:
        return Finish()
    kind, colon, rest = (part.strip() for part in text.partition(":"))
    if not colon or kind not in ("search", "find", "answer") or not rest:
        raise HotpotError(f"an action is search: QUERY, find: JSON, answer: TEXT or {FINISH}, got {text[:60]!r}")
    if kind == "search":
        return ParagraphSearch(_line(rest))
    return HotpotAnswer(_line(rest)) if kind == "answer" else _find(rest)


def read_or_none(text: Action) -> Parsed | None:
    """Read an action; None where it is none."""
    try:
        return read(text)
    except HotpotError:
        return None


def _find(text: str) -> Find:
    fields = parse_json(text, "find", error=HotpotError)
    if not isinstance(fields, dict):
        raise HotpotError(f"find: takes an object with finding, title and bridge, got {text[:60]!r}")
    hop = fields.get("hop", 1)
    if not isinstance(hop, int) or isinstance(hop, bool) or not 1 <= hop <= MOST_HOPS:
        raise HotpotError(f"find: hop is a number from 1 to {MOST_HOPS}, got {short(hop)}")
    texts = [fields.get(name, "") for name in _TEXTS]
    if wrong := [value for value in texts if not isinstance(value, str)]:
        raise HotpotError(f"find: {', '.join(_TEXTS)} are texts, got {short(wrong[0])}")
    return Find(hop, *(value.strip() for value in texts))


def _line(text: str) -> str:
    return " ".join(text.split())
