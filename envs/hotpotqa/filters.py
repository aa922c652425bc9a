"""Filters that reject a finding or an answer without asking a model (SDP appendix A.5 and A.6)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envs.search.metrics import normalise

MOST_ANSWER_WORDS = 15

_NEGATION = re.compile(
    r"\b(?:(?:does|do|did)(?: not|n['’]t) (?:provide|mention|specify|state|say|give|contain|indicate)"
    r"|(?:is|are|was|were)(?: not|n['’]t) (?:provided|mentioned|specified|stated|given|found|known|available)"
    r"|not (?:provided|mentioned|specified|stated|found|given|available)"
    r"|no (?:information|mention|evidence|answer)|cannot be (?:determined|found|answered)"
    r"|can(?:not|['’]t) (?:determine|find|answer|say|tell)|nowhere)\b",
    re.IGNORECASE,
)
_GARBAGE = frozenset(
    normalise(text)
    for text in (
        "unknown", "not available", "cannot determine", "n/a", "na", "none", "null", "nothing", "no answer", "?",
        "not sure", "unclear", "i do not know", "i don't know", "undetermined", "to be determined", "answer", "error",
    )
)  # fmt: skip
_MONTHS = "january february march april may june july august september october november december"
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen "
    "once twice century"
)
_NUMERIC = frozenset(f"{_MONTHS} {_NUMBERS}".split())
_ASKS_NUMBER = re.compile(
    r"\b(?:when|how (?:many|much|long|old|far|tall|often)|(?:in )?(?:what|which) (?:year|date|decade|century))\b", re.I
)
_YES_NO = re.compile(r"\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.I)


def negation(finding: str) -> str | None:
    """Why a finding denies that there is one, or None."""
    if not finding.strip():
        return "nothing was found"
    match = _NEGATION.search(finding)
    return None if match is None else f"the finding says that there is none: {match[0]!r}"


def garbage(answer: str) -> str | None:
    """Why an answer is none at all, or None."""
    plain = normalise(answer)
    if not plain:
        return "the answer is empty"
    if plain in _GARBAGE or negation(answer) is not None:
        return f"{answer[:60]!r} is no answer"
    return None


def self_referential(answer: str, question: str) -> str | None:
    """Why an answer only repeats an entity of the question, or None; yes/no and either-or questions name theirs."""
    plain = normalise(answer)
    if not plain or _YES_NO.match(question) or " or " in question:
        return None
    if f" {plain} " in f" {normalise(question)} ":
        return f"{answer[:60]!r} stands in the question"
    return None


def intermediate(answer: str, findings: Sequence[str]) -> str | None:
    """Why an answer is what an earlier hop found, not the last one, or None."""
    if not findings:
        return None
    plain = normalise(answer)
    if plain != normalise(findings[-1]) and plain in {normalise(finding) for finding in findings[:-1]}:
        return f"{answer[:60]!r} is what an earlier hop found, not the last"
    return None


def too_long(answer: str) -> str | None:
    """Why an answer is too long to be a short span, or None."""
    words = len(answer.split())
    return None if words <= MOST_ANSWER_WORDS else f"the answer has {words} words, more than {MOST_ANSWER_WORDS}"


def wrong_type(answer: str, question: str) -> str | None:
    """Why an answer is of another type than the question asks for, or None."""
    if not _asks_number(question):
        return None
    words = re.findall(r"[^\W_]+", answer.lower())
    if any(word in _NUMERIC or any(letter.isdigit() for letter in word) for word in words):
        return None
    return f"the question asks for a number or a time, {answer[:60]!r} has none"


def _asks_number(question: str) -> bool:
    # "when" counts at the head of the question: further in it usually starts a clause ("... when he died?").
    match = _ASKS_NUMBER.search(question)
    return match is not None and (match[0].lower() != "when" or match.start() == 0)


def answer_problem(answer: str, question: str, findings: Sequence[str], *, strict: bool) -> str | None:
    """The first filter that rejects an answer.

    Args:
        answer: The answer.
        question: The question.
        findings: What the certified hops found, in order.
        strict: Also MuSiQue's filters.
    """
    long = garbage(answer)
    if long is None and strict:
        long = (
            self_referential(answer, question)
            or intermediate(answer, findings)
            or too_long(answer)
            or wrong_type(answer, question)
        )
    return long
