"""Exact match, F1, ROUGE-1 and METEOR of answers, as usual for question answering."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from envs.search.stemming import stem

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


def meteor_exact_stem(given: str, answers: Iterable[str]) -> float:
    """Largest METEOR over the answers that count, in [0, 1]; its stages exact and stem, without that of synonyms.

    S. Banerjee and A. Lavie, METEOR, ACL workshop on evaluation measures, 2005: ten parts recall to one of precision,
    less a penalty for words in another order. So an exact answer of one word, which is one chunk, scores .5.
    """
    return max((_meteor(_words(given), _words(answer)) for answer in answers), default=0.0)


def _meteor(given: list[str], answer: list[str]) -> float:
    pairs = _aligned(given, answer)
    pairs |= _aligned(list(map(stem, given)), list(map(stem, answer)), pairs)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(given), len(pairs) / len(answer)
    mean = 10 * precision * recall / (recall + 9 * precision)
    chunks = 1 + sum((i + 1, pairs[i] + 1) != (j, pairs[j]) for i, j in pairwise(sorted(pairs)))
    return mean * (1 - 0.5 * (chunks / len(pairs)) ** 3)


def _aligned(given: Sequence[str], answer: Sequence[str], before: dict[int, int] | None = None) -> dict[int, int]:
    """Equal words, each once, by position; the longest common runs first, so that chunks are few."""
    pairs = dict(before or {})
    places: dict[str, list[int]] = {}
    for j, word in enumerate(answer):
        places.setdefault(word, []).append(j)
    while True:
        used = {*pairs.values()}
        free = ((i, word) for i, word in enumerate(given) if i not in pairs)
        runs = {(i, j): 0 for i, word in free for j in places.get(word, ()) if j not in used}
        if not runs:
            return pairs
        for i, j in sorted(runs, reverse=True):
            runs[i, j] = 1 + runs.get((i + 1, j + 1), 0)
        (i, j), length = max(runs.items(), key=lambda run: (run[1], -run[0][0], -run[0][1]))
        pairs |= {i + k: j + k for k in range(length)}


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
