"""AssistantBench's measure of an answer: texts, numbers, lists and objects, each compared in its own way.

Written from the published description (Yoran et al. 2024, section 4): F1 of words for texts, closeness in order of
magnitude for numbers, the best alignment for lists, key by key for objects.
``docs/reference/environments/web_qa.md`` names where the official scorer differs.
"""

from __future__ import annotations

import json
import math
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx

_ARTICLES = frozenset(("a", "an", "the"))
_SIGNS = str.maketrans("", "", string.punctuation)
_UNITS = ("$", "%", "sqft", " square kilometers")
_ALMOST_ZERO = 1e-4


class AnswerScore(NamedTuple):
    """How good an answer is."""

    accuracy: float
    answered: bool

    @property
    def exact(self) -> bool:
        """Whether the answer is right in full."""
        return self.accuracy > 1 - 1e-9


def score(given: Any, gold: str) -> AnswerScore:
    """Compare an answer with the right one.

    Args:
        given: The answer: a value, or a text that may be the JSON of one.
        gold: The right answer as the task file has it: one line, or a line for each item; objects are JSON.
    """
    answer = _value(given)
    wanted = [_object(line) for line in gold.split("\n") if line.strip()]
    items = [item for item in (answer if isinstance(answer, list) else [answer]) if not _empty(item)]
    if not items:
        return AnswerScore(0.0, False)
    if all(isinstance(item, Mapping) for item in wanted):
        if isinstance(answer, str):
            items = [_object(line) for line in answer.split("\n")]
        return AnswerScore(_aligned(answer if isinstance(answer, list) else items, wanted, _objects), True)
    target = _number(wanted[0])
    if len(wanted) == 1 and isinstance(target, float):
        return AnswerScore(_numbers(_number(items[0]), target) if len(items) == 1 else 0.0, True)
    texts = answer if isinstance(answer, list) else [answer]
    return AnswerScore(_aligned(list(map(str, texts)), list(map(str, wanted)), _texts), True)


def _value(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _object(line: str) -> Any:
    """An object where a line is the JSON of one, with quotes of either kind; else the line."""
    for quoted in (line, line.replace("'", '"')):
        value = _value(quoted)
        if isinstance(value, Mapping):
            return value
    return line


def _empty(value: Any) -> bool:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str | list | Mapping) and (not value or value == "nan")


def _number(value: Any) -> Any:
    """A number where a value is one, units left out and a comma taken for the decimal point; else the value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return value
    text = value
    for unit in _UNITS:
        text = text.replace(unit, "")
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return value


def _numbers(given: Any, wanted: float) -> float:
    """One minus the logarithm of the ratio, not below 0; numbers of different signs have nothing in common."""
    if not isinstance(given, float):
        return 0.0
    almost_zero, other = (number or _ALMOST_ZERO for number in (given, wanted))
    if given == wanted:
        return 1.0
    if almost_zero * other <= 0 or not math.isfinite(almost_zero * other):
        return 0.0
    return max(0.0, 1 - abs(math.log(almost_zero / other)))


def _texts(given: str, wanted: str) -> float:
    """F1 of the sets of words; 0 where the right one has numbers and none of them is given."""
    words, other = _words(given), _words(wanted)
    numbers = {word for word in other if _is_number(word)}
    common = len(words & other)
    if numbers and not numbers & words:
        return 0.0
    return 1.0 if not words and not other else 2 * common / (len(words) + len(other))


def _words(text: str) -> frozenset[str]:
    """Words in lower case without punctuation and articles; numbers as such."""
    texts = set[str]()
    for token in text.lower().replace("-", " ").split(" "):
        plain = token if _is_number(token) else token.translate(_SIGNS)
        plain = str(float(plain)) if _is_number(plain) else plain
        texts.update(word for word in plain.split() if word not in _ARTICLES)
    return frozenset(texts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _objects(given: Any, wanted: Mapping[str, Any]) -> float:
    """F1 of how well the values of either are met by the other: each side's own numbers have to be met."""
    if not isinstance(given, Mapping) or not given or not wanted:
        return 0.0
    both = given.keys() & wanted.keys()
    recall = sum(_alike(given[key], wanted[key]) for key in both) / len(wanted)
    precision = sum(_alike(wanted[key], given[key]) for key in both) / len(given)
    return 2 * precision * recall / (precision + recall) if recall and precision else 0.0


def _alike(given: Any, wanted: Any) -> float:
    number, other = _number(given), _number(wanted)
    if type(number) is not type(other):
        return 0.0
    if isinstance(other, float):
        return _numbers(number, other)
    if isinstance(other, list):
        return _aligned(list(map(str, number)), list(map(str, other)), _texts)
    return _objects(number, other) if isinstance(other, Mapping) else _texts(str(number), str(other))


def _aligned(given: Sequence[Any], wanted: Sequence[Any], alike: Callable[[Any, Any], float]) -> float:
    """The sum of the best one-to-one alignment, as a share of the longer list."""
    pairs = nx.Graph()
    for i, item in enumerate(given):
        for k, other in enumerate(wanted):
            pairs.add_edge(("given", i), ("wanted", k), weight=alike(item, other))
    matched = nx.max_weight_matching(pairs)
    return float(sum(pairs.edges[pair]["weight"] for pair in matched)) / max(len(given), len(wanted), 1)
