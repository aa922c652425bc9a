"""Mistakes in arithmetic programs, for training text that shows what is wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence

from envs.gsm_hard.arithmetic import ARITY, is_right, results
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.problem import Step
from envs.gsm_hard.words import Words, argument_value

Call = tuple[str, ...]
"""A kind and its arguments in words."""
ORDERED = frozenset({"subtract", "divide"})
_USUAL_CONSTANTS = ("2", "3", "7", "12", "60", "100")


def mistaken(
    rng: random.Random, calls: Sequence[Call], words: Words, target: float, kinds: Sequence[str]
) -> tuple[list[Call], int]:
    """A program that can be run but gives a wrong answer.

    Mistakes are a wrong kind, a wrong operand, a call left out, an order swapped where it matters, and an answer that
    comes too early.

    Args:
        rng: Source of randomness.
        calls: The right program, of at least two calls.
        words: The text that it is of.
        target: The right answer.
        kinds: The kinds of tools there are.

    Returns:
        All calls, and the number of the one whose result is answered.
    """
    while True:
        wrong, answer = _mistake(rng, list(calls), words, kinds)
        try:
            found = results([Step(kind, tuple(argument_value(arg, words) for arg in args)) for kind, *args in wrong])
        except ArithmeticToolError:
            continue
        if not is_right(found[answer - 1], target):
            return wrong, answer


def _mistake(rng: random.Random, calls: list[Call], words: Words, kinds: Sequence[str]) -> tuple[list[Call], int]:
    kind_of_mistake = rng.choices(("call", "swap", "drop", "early"), (6, 2, 2, 1))[0]
    at = rng.randrange(len(calls))
    if kind_of_mistake == "early":
        return calls, rng.randint(1, len(calls) - 1)
    if kind_of_mistake == "drop":
        return _without(calls, at), len(calls) - 1
    ordered = [number for number, call in enumerate(calls) if call[0] in ORDERED]
    if kind_of_mistake == "swap" and ordered:
        at = rng.choice(ordered)
        kind, left, right = calls[at]
        calls[at] = (kind, right, left)
    else:
        calls[at] = wrong_call(rng, calls, at, words, kinds)
    return calls, len(calls)


def wrong_call(
    rng: random.Random, calls: Sequence[Call], at: int, words: Words, kinds: Sequence[str], made: int = 0
) -> Call:
    """A call in place of another: of another kind, with another operand, or in another order where that matters.

    Args:
        rng: Source of randomness.
        calls: The calls that are right, from some point of a program on.
        at: Which of these to replace.
        words: The text.
        kinds: The kinds of tools there are.
        made: How many calls come before the first of these.

    Returns:
        A call that is none of the right ones.
    """
    others = [f"n{number + 1}" for number in range(len(words.numbers))]
    others += [f"#{number + 1}" for number in range(made + at)]
    while True:
        kind, *args = calls[at]
        chance = rng.random()
        if chance < 0.4:
            kind = rng.choice([other for other in kinds if ARITY[other] == len(args)])
        elif chance < 0.9:
            args[rng.randrange(len(args))] = rng.choice(others if rng.random() < 0.85 else _USUAL_CONSTANTS)
        elif kind in ORDERED:
            args.reverse()
        found = (kind, *args)
        same = {found, (kind, *reversed(args))} if kind not in ORDERED and kind != "power" else {found}
        if same.isdisjoint(calls):
            return found


def detour(
    rng: random.Random, calls: Sequence[Call], made: int, words: Words, kinds: Sequence[str]
) -> tuple[list[Call], int]:
    """Put a call of no use among those made; later references count it.

    Returns:
        All calls and how many are made; unchanged where the call that was drawn has no finite result.
    """
    at = rng.randrange(made)
    wrong = wrong_call(rng, calls, at, words, kinds)
    moved = [*calls[:at], wrong, *(_shifted(call, at, 1) for call in calls[at:])]
    try:
        results([Step(kind, tuple(argument_value(arg, words) for arg in args)) for kind, *args in moved])
    except ArithmeticToolError:
        return list(calls), made
    return moved, made + 1


def _without(calls: list[Call], at: int) -> list[Call]:
    """A program without one call: where its result was used, its first argument is."""
    first = calls[at][1]
    later = [tuple(first if arg == f"#{at + 1}" else arg for arg in call) for call in calls[at + 1 :]]
    return [*calls[:at], *(_shifted(call, at + 1, -1) for call in later)]


def _shifted(call: Call, after: int, by: int) -> Call:
    """References to results behind a place, moved."""
    return tuple(f"#{int(arg[1:]) + by}" if arg[0] == "#" and int(arg[1:]) > after else arg for arg in call)
