"""The arithmetic tools: exact on floats, bounded in time and memory for any input, with one error; and the judge."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.problem import ProgramStep

LARGEST_FACTORIAL = 170
"""171! is no finite float."""
OFF_BY = (0.06, 0.5)
"""Relative error of a result that is not exact: always outside the judge's 5 %."""
_TINY = 1e-300
"""Below this a relative error would be lost in rounding."""
TOLERANCE = 0.05
"""Relative error up to which an answer is right."""
AT_ZERO = 1e-9
"""Absolute error up to which an answer is right where the target is zero."""


def add(a: float, b: float) -> float:
    """The sum of a and b."""
    return _finite("add", a + b, a, b)


def subtract(a: float, b: float) -> float:
    """What is left when b is taken from a."""
    return _finite("subtract", a - b, a, b)


def multiply(a: float, b: float) -> float:
    """The product of a and b."""
    return _finite("multiply", a * b, a, b)


def divide(a: float, b: float) -> float:
    """How often b goes into a; b must not be zero."""
    if b == 0:
        raise ArithmeticToolError(f"divide: {a} by zero has no result; give a divisor other than zero")
    return _finite("divide", a / b, a, b)


def power(a: float, b: float) -> float:
    """A to the power of b; a negative number only to a whole power, zero to none below zero."""
    _finite("power", 0.0, a, b)
    try:
        return math.pow(a, b)
    except (ValueError, OverflowError):
        raise ArithmeticToolError(
            f"power: {a} to the power of {b} is not a finite real number; give other numbers"
        ) from None


def factorial(a: float) -> float:
    """The number of orders of a things: the product of 1, 2, ... a, for a whole number a from 0 to 170."""
    if not (0 <= a <= LARGEST_FACTORIAL and float(a).is_integer()):
        raise ArithmeticToolError(f"factorial: needs a whole number from 0 to {LARGEST_FACTORIAL}, got {a}")
    return float(math.factorial(int(a)))


def _finite(kind: str, result: float, *args: float) -> float:
    if not all(map(math.isfinite, (result, *args))):
        shown = " and ".join(map(str, args))
        raise ArithmeticToolError(f"{kind}: no finite result for {shown}; give other numbers")
    return result


KINDS: dict[str, Callable[..., float]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "power": power,
    "factorial": factorial,
}
"""All kinds of tools by name."""
ARITY = {kind: 1 if kind == "factorial" else 2 for kind in KINDS}
"""How many arguments each kind takes."""


def perturbed(value: float, quality: float, rng: random.Random) -> float:
    """What a tool of some quality returns for an exact result.

    Args:
        value: The exact result.
        quality: Probability in [0, 1] that this is what comes back.
        rng: Source of randomness.

    Returns:
        The value, or one that is 6 to 50 % above or below it (for zero a number between 0.06 and 0.5 or its
        negative), so never one that the judge takes for the value.
    """
    if rng.random() < quality:
        return value
    error = rng.uniform(*OFF_BY) * rng.choice((-1, 1))
    if abs(value) < _TINY:
        return error
    wrong = value * (1 + error)
    return wrong if math.isfinite(wrong) else value * (1 - error)


def run(program: Sequence[ProgramStep]) -> float:
    """The exact result of the last step of a program.

    Raises:
        ArithmeticToolError: The program is empty, a step has no finite result, its kind or number of arguments is
            wrong, or it refers to a step that does not come before it.
    """
    return results(program)[-1]


def results(program: Sequence[ProgramStep]) -> list[float]:
    """The exact results of all steps of a program; raises like :func:`run`."""
    if not program:
        raise ArithmeticToolError("a program needs at least one step")
    numbers: list[float] = []
    for number, step in enumerate(program, start=1):
        if ARITY.get(step.kind) != len(step.args):
            raise ArithmeticToolError(
                f"step {number}: {step.kind!r} with {len(step.args)} arguments is no tool; "
                f"there is: {', '.join(f'{kind} with {count}' for kind, count in ARITY.items())}"
            )
        numbers.append(KINDS[step.kind](*(_value(arg, numbers, number) for arg in step.args)))
    return numbers


def _value(arg: float | str, numbers: Sequence[float], number: int) -> float:
    if not isinstance(arg, str):
        return arg
    k = arg[1:]
    if arg[:1] != "#" or not (k.isascii() and k.isdecimal() and len(k) < 4 and 1 <= int(k) <= len(numbers)):
        raise ArithmeticToolError(
            f"step {number}: {arg!r} is no earlier result; refer to #1 ... #{len(numbers)}"
            if numbers
            else f"step {number}: {arg!r}: there is no earlier result to refer to; give numbers"
        )
    return numbers[int(k) - 1]


def is_right(answer: float, target: float) -> bool:
    """Whether an answer is within 5 % of the target; what is not finite is wrong."""
    if not math.isfinite(answer):
        return False
    return abs(answer - target) <= (TOLERANCE * abs(target) if target else AT_ZERO)
