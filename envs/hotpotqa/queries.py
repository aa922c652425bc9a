"""Escalating search (SDP appendix A.6): entity-only queries once four have failed, a guessed answer once six have."""

from __future__ import annotations

import re

ENTITIES_AFTER = 4
GUESS_AFTER = 6

_QUOTED = re.compile(r"[\"“]([^\"”]{2,})[\"”]")
_NAME = re.compile(r"[A-Z0-9][\w'’.-]*(?:\s+(?:of|the|de|and|van|von)(?=\s+[A-Z])|\s+[A-Z0-9][\w'’.-]*)*")
_ASKING = "who what when where which whose whom why how in the a an is was did of"
_ASKS = frozenset(_ASKING.split())


def entities(text: str) -> tuple[str, ...]:
    """The names in a sub-question, quoted ones first; each once, the longest of what overlaps."""
    texts = [match[1].strip() for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        words = match[0].split()
        while words and words[0].lower() in _ASKS:
            words = words[1:]
        name = " ".join(words).strip(" .,?!;:")
        if name:
            texts.append(name)
    return tuple(dict.fromkeys(texts))


def fallback(sub_question: str, question: str, tried: tuple[str, ...]) -> str | None:
    """A query that was not tried, without a model: names, the sub-question, the question, its names."""
    options = (*entities(sub_question), sub_question, question, *entities(question))
    return next((query for query in options if query not in tried), None)
