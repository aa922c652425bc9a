"""The text of a PDDL file as nested lists with their lines, and what is looked up in it before it is parsed.

unified-planning parses. Its messages rarely name a line, and it knows no preferences. So this module finds what is cut
off or not supported, with its line, and takes preferences out of a problem's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from envs.pddl.errors import PddlError

_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+|\n")

UNSUPPORTED = {
    ":durative-action": "durative actions",
    ":process": "processes",
    ":event": "events",
    ":derived": "derived predicates, which unified-planning does not read",
    ":constraints": "trajectory constraints",
    ":htn": "hierarchical tasks",
    ":task": "hierarchical tasks",
    ":method": "hierarchical tasks",
    ":observe": "sensing actions",
    "either": "types of several kinds",
}
"""What begins a construct that is refused, and its name."""

UNCERTAIN = ("oneof", "unknown", "or")
"""What begins a condition of the initial state that is refused."""


@dataclass(frozen=True)
class SExpression:
    """A word, or a list of items.

    Attributes:
        line: Where it begins, counted from 1.
        word: The word in lower case; empty for a list.
        parts: The items of a list.
    """

    line: int
    word: str = ""
    parts: tuple[SExpression, ...] = ()

    @property
    def head(self) -> str:
        """The first word of a list."""
        return self.parts[0].word if self.parts else ""

    def lists(self) -> Iterator[SExpression]:
        """This list and all lists in it, in the order of the text."""
        waiting = [self]
        while waiting:
            item = waiting.pop()
            if not item.word:
                yield item
                waiting += reversed(item.parts)

    def __str__(self) -> str:
        """The PDDL of it, on one line."""
        written: list[str] = []
        waiting: list[SExpression | str] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str) or item.word:
                written.append(item if isinstance(item, str) else item.word)
            else:
                waiting += [")", *reversed(item.parts), "("]
        return " ".join(written)


def load(file: Path) -> str:
    """The text of a file, without a byte order mark and with plain ends of lines.

    Raises:
        PddlError: It cannot be read, or is no UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PddlError(f"cannot be read: {error.strerror}", file) from None
    except UnicodeDecodeError as error:
        raise PddlError(f"is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}", file) from None


def read(text: str, file: Path) -> SExpression:
    """The one list of a file.

    Raises:
        PddlError: Parentheses do not match, or something stands outside of the list.
    """
    line, open_lists, whole = 1, list[tuple[int, list[SExpression]]](), list[SExpression]()
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word == "\n":
            line += 1
        elif word == "(":
            open_lists.append((line, []))
        elif word == ")":
            if not open_lists:
                raise PddlError("a ) closes nothing", file, line)
            began, parts = open_lists.pop()
            (open_lists[-1][1] if open_lists else whole).append(SExpression(began, parts=tuple(parts)))
        elif not word.startswith(";"):
            if not open_lists:
                raise PddlError(f"{word} stands outside of (define ...)", file, line)
            open_lists[-1][1].append(SExpression(line, word.lower()))
    if open_lists:
        raise PddlError(f"is cut off: the ( of line {open_lists[-1][0]} is not closed", file, line)
    if len(whole) != 1 or whole[0].head != "define":
        raise PddlError("has to be one (define ...)", file, whole[-1].line if whole else 1)
    return whole[0]


def require_supported(whole: SExpression, file: Path) -> None:
    """Refuse constructs that are not supported.

    Raises:
        PddlError: Names the construct and its line.
    """
    for item in whole.lists():
        if item.head in UNSUPPORTED:
            raise PddlError(f"{UNSUPPORTED[item.head]} ({item.head}) are not supported", file, item.line)
        if item.head == ":functions":
            _require_numeric(item, file)
        if item.head == ":init" and (open_ := next((p for p in item.parts if _is_uncertain(p)), None)):
            raise PddlError(f"uncertain initial values ({open_.head}) are not supported", file, open_.line)
        if item.head == ":init" and (timed := next((p for p in item.parts if _is_timed(p)), None)):
            raise PddlError("timed initial literals are not supported", file, timed.line)
        if item.head == "forall" and (name := _uncounted(item)):
            raise PddlError(
                f"a change of a number for each {name}, without {name} in it, is not supported", file, item.line
            )


def _require_numeric(functions: SExpression, file: Path) -> None:
    for dash, kind in zip(functions.parts, functions.parts[1:], strict=False):
        if dash.word == "-" and kind.word != "number":
            raise PddlError(
                f"object fluents (a function that gives a {kind.word or kind}) are not supported", file, kind.line
            )


def _uncounted(forall: SExpression) -> str:
    """A variable of a forall that a change of a number does not name; unified-planning 1.3 makes that change once."""
    if len(forall.parts) != 3:  # the parser says so
        return ""
    names = [part.word for part in forall.parts[1].parts if part.word.startswith("?")]
    waiting = [(forall.parts[-1], set[str]())]
    while waiting:
        item, words = waiting.pop()
        if item.head == "and":
            waiting += [(part, words) for part in item.parts[1:]]
        elif item.head == "when" and len(item.parts) == 3:
            words = words | {part.word for inner in item.parts[1].lists() for part in inner.parts}
            waiting += [(part, words) for part in item.parts[2:]]
        elif item.head in ("increase", "decrease"):
            words = words | {part.word for inner in item.lists() for part in inner.parts}
            if lost := [name for name in names if name not in words]:
                return lost[0]
    return ""


def _is_uncertain(item: SExpression) -> bool:
    return item.head in UNCERTAIN and any(part.parts for part in item.parts[1:])


def _is_timed(item: SExpression) -> bool:
    return len(item.parts) == 3 and item.head == "at" and item.parts[1].word.replace(".", "").isdigit()


@dataclass(frozen=True)
class Preference:
    """A condition that the last state should fulfil.

    Attributes:
        name: Its name; several may have the same.
        condition: The PDDL of the condition.
        line: Where it stands.
        weight: What the metric adds where it is violated.
    """

    name: str
    condition: str
    line: int
    weight: Fraction = Fraction(0)


def without_preferences(whole: SExpression, file: Path) -> tuple[str, list[Preference]]:
    """A problem without its preferences, and these.

    Raises:
        PddlError: A preference stands where it is not supported, or the metric weighs it by more than a factor.
    """
    parts, preferences = list(whole.parts), list[Preference]()
    for i, part in enumerate(parts):
        if part.head == ":goal" and len(part.parts) == 2:
            goal = part.parts[1]
            conjuncts = goal.parts[1:] if goal.head == "and" else (goal,)
            soft = [item for item in conjuncts if item.head == "preference"]
            preferences = [_preference(item, file) for item in soft]
            if soft:
                hard = tuple(item for item in conjuncts if item.head != "preference")
                goal = SExpression(goal.line, parts=(SExpression(goal.line, "and"), *hard))
                parts[i] = SExpression(part.line, parts=(part.parts[0], goal))
    for item in SExpression(whole.line, parts=tuple(parts)).lists():
        if item.head == "preference":
            raise PddlError("a preference is supported as a part of the goal's (and ...) alone", file, item.line)
    if preferences:
        parts, preferences = _weighed(parts, preferences, file)
    return str(SExpression(whole.line, parts=tuple(parts))), preferences


def _preference(item: SExpression, file: Path) -> Preference:
    if len(item.parts) != 3 or not item.parts[1].word:
        raise PddlError("a preference is (preference NAME CONDITION)", file, item.line)
    return Preference(item.parts[1].word, str(item.parts[2]), item.line)


def _weighed(
    parts: list[SExpression], preferences: list[Preference], file: Path
) -> tuple[list[SExpression], list[Preference]]:
    """The parts with a metric of its other terms, and the preferences with their weights."""
    weights: dict[str, Fraction] = {}
    kept: list[SExpression] = []
    for part in parts:
        if part.head != ":metric" or len(part.parts) != 3:
            kept.append(part)
            continue
        if part.parts[1].word != "minimize":
            raise PddlError("a metric with preferences has to be minimized", file, part.line)
        whole = part.parts[2]
        terms = whole.parts[1:] if whole.head == "+" else (whole,)
        others = []
        for term in terms:
            violated = next((item for item in term.lists() if item.head == "is-violated"), None)
            if violated is None:
                others.append(term)
                continue
            if len(violated.parts) != 2:
                raise PddlError("it is (is-violated NAME)", file, violated.line)
            factors = [item for item in term.parts[1:] if item is not violated] if term.head == "*" else []
            if (term is not violated and len(factors) != 1) or any(item.parts for item in factors):
                raise PddlError("(is-violated ...) is weighed by a number: (* 5 (is-violated p))", file, term.line)
            name = violated.parts[1].word
            weights[name] = weights.get(name, Fraction(0)) + _weight(factors[0] if factors else None, file)
        if others:
            metric = (
                others[0]
                if len(others) == 1
                else SExpression(whole.line, parts=(SExpression(whole.line, "+"), *others))
            )
            kept.append(SExpression(part.line, parts=(*part.parts[:2], metric)))
    if unknown := sorted(weights.keys() - {item.name for item in preferences}):
        raise PddlError(f"the metric weighs a preference that the goal does not have: {unknown[0]}", file)
    usual = Fraction(0) if any(part.head == ":metric" for part in parts) else Fraction(1)
    return kept, [replace(item, weight=weights.get(item.name, usual)) for item in preferences]


def _weight(factor: SExpression | None, file: Path) -> Fraction:
    """The weight of a preference, 1 without a factor.

    Raises:
        PddlError: It is no number, or negative.
    """
    try:
        weight = Fraction(factor.word if factor else 1)
    except (ValueError, ZeroDivisionError):
        weight = Fraction(-1)
    if weight < 0:
        line = factor.line if factor else None
        raise PddlError("the weight of a preference is a number that is not negative", file, line)
    return weight


def sums_costs(domain: SExpression) -> bool:
    """Whether an action increases ``total-cost`` more than once, or under a condition.

    unified-planning 1.3 reads the first increase of each action as its cost, and drops all others.
    """
    for action in (part for part in domain.parts if part.head == ":action"):
        effects = [after for name, after in pairwise(action.parts) if name.word == ":effect"]
        plain = [item for effect in effects for item in (effect, *(effect.parts if effect.head == "and" else ()))]
        added = [item for effect in effects for item in effect.lists() if item.head == "increase"]
        costs = [item for item in added if len(item.parts) == 3 and item.parts[1].head == "total-cost"]
        if len(costs) > 1 or any(item not in plain for item in costs):
            return True
    return False


def without_metric(whole: SExpression) -> str:
    """A problem without its metric."""
    kept = tuple(part for part in whole.parts if part.head != ":metric")
    return str(SExpression(whole.line, parts=kept))


def minimizes_total_cost(whole: SExpression) -> bool:
    """Whether the metric of a problem is ``total-cost`` alone."""
    return any(str(part) == "( :metric minimize ( total-cost ) )" for part in whole.parts)
