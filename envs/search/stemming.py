"""Porter's stemmer (M. F. Porter, An algorithm for suffix stripping, Program 14, 1980), step by step as published."""

from __future__ import annotations

import re
from collections.abc import Callable

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
