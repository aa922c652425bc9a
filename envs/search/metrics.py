"""Exact match, F1, ROUGE-1 and METEOR of answers, as usual for question answering."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

_STEP_1A = "sses:ss ies:i ss:ss s:"
_STEP_2 = (
    "ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble"
)
_STEP_3 = "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"
_STEP_4 = "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:"


def stem(word: str) -> str:
    """The stem of a word in lower case; words of one or two letters, or not of a to z, are left as they are."""
    if len(word) < 3 or not re.fullmatch("[a-z]+", word):
        return word
    word = _past(_replaced(word, _STEP_1A, lambda *_: True))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, lambda rest, _: _measure(rest) > 0)
    word = _replaced(word, _STEP_3, lambda rest, _: _measure(rest) > 0)
    word = _replaced(word, _STEP_4, lambda rest, end: _measure(rest) > 1 and (end != "ion" or rest[-1] in "st"))
    word = _replaced(word, "e:", lambda rest, _: _measure(rest) > 1 or (_measure(rest) == 1 and not _short(rest)))
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _past(word: str) -> str:
    """Step 1b: past tense and participles."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    rest = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    if rest == word or "v" not in _shape(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and _shape(rest)[-1] == "c" and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _replaced(word: str, listed: str, holds: Callable[[str, str], bool]) -> str:
    """A word with its longest suffix among those listed replaced, if a condition holds of the rest and that suffix."""
    rules = dict(rule.split(":") for rule in listed.split())
    end = max((end for end in rules if word.endswith(end)), key=len, default="")
    rest = word.removesuffix(end)
    return rest + rules[end] if end and rest and holds(rest, end) else word


def _shape(word: str) -> str:
    """``v`` for each vowel and ``c`` for each consonant; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    """m: how often consonants follow vowels."""
    return len(re.findall("v+c", _shape(word)))


def _short(word: str) -> bool:
    """``*o``: it ends in consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


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
