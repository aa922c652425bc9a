"""Exact match, F1 and ROUGE-1 of answers, as usual for question answering."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_WORD = re.compile(r"[^\W_]+")


def normalise(text: str) -> str:
    """Lower case, without punctuation and articles, words separated by single spaces."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(given: str, answers: Iterable[str]) -> bool:
    """Whether an answer is one of those that count."""
    return any(normalise(given) == normalise(answer) for answer in answers)


def f1(given: str, answers: Iterable[str]) -> float:
    """Largest harmonic mean of precision and recall in words, over the answers that count; 0 where there are none."""
    return max((_f1(normalise(given).split(), normalise(answer).split()) for answer in answers), default=0.0)


def rouge1(given: str, answers: Iterable[str]) -> float:
    """The same over all words, articles included and hyphenated words split, without stemming."""
    return max((_f1(_words(given), _words(answer)) for answer in answers), default=0.0)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _f1(given: list[str], answer: list[str]) -> float:
    if not given or not answer:
        return float(given == answer)
    common = (Counter(given) & Counter(answer)).total()
    if common == 0:
        return 0.0
    precision, recall = common / len(given), common / len(answer)
    return 2 * precision * recall / (precision + recall)
