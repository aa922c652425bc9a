from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.gsm_hard.arithmetic import ARITY, KINDS, OFF_BY, is_right, perturbed, run
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.problem import Problem, ProgramStep

ANY = st.floats() | st.integers(-200, 200).map(float)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from(sorted(KINDS)), ANY, ANY)
def test_any_floats_give_a_finite_float_or_the_one_error(kind: str, a: float, b: float) -> None:
    try:
        result = KINDS[kind](*(a, b)[: ARITY[kind]])
    except ArithmeticToolError:
        return
    assert isinstance(result, float)
    assert math.isfinite(result)


@pytest.mark.parametrize(
    ("kind", "args", "result"),
    [
        ("add", (2.5, 3), 5.5), ("multiply", (4, 2.5), 10), ("divide", (7, 2), 3.5), ("power", (2, 10), 1024),
        ("power", (4, 0.5), 2), ("power", (-2, 3), -8), ("factorial", (5,), 120), ("factorial", (0,), 1),
    ],
)  # fmt: skip
def test_results(kind: str, args: tuple[float, ...], result: float) -> None:
    assert KINDS[kind](*args) == result


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("divide", (1, 0)), ("multiply", (1e308, 10)), ("add", (math.nan, 1)), ("power", (-8, 1 / 3)),
        ("power", (0, -1)), ("power", (10, 1e9)), ("power", (1, math.inf)), ("factorial", (2.5,)),
        ("factorial", (-1,)), ("factorial", (171,)),
    ],
)  # fmt: skip
def test_what_has_no_finite_result_is_refused(kind: str, args: tuple[float, ...]) -> None:
    with pytest.raises(ArithmeticToolError):
        KINDS[kind](*args)


@given(FINITE, st.integers(0, 2**32))
def test_a_perturbed_result_is_finite_and_never_right(value: float, seed: int) -> None:
    rng = random.Random(seed)
    wrong = perturbed(value, 0.0, rng)
    assert math.isfinite(wrong)
    assert wrong != value
    if value == 0 or abs(value) > 1e-300:
        assert not is_right(wrong, value)
    if abs(value) > 1e-290:
        assert OFF_BY[0] - 1e-9 <= abs(wrong / value - 1) <= OFF_BY[1] + 1e-9
    assert perturbed(value, 1.0, rng) == value


def test_a_program_is_run_with_its_references() -> None:
    steps = (
        ProgramStep("multiply", (3.0, 4.0)),
        ProgramStep("subtract", ("#1", 2.0)),
        ProgramStep("divide", ("#1", "#2")),
    )
    assert run(steps) == 1.2


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((), "at least one step"),
        ((ProgramStep("add", (1.0, 2.0)), ProgramStep("add", ("#2", 1.0))), "'#2'"),
        ((ProgramStep("add", (1.0, 2.0)), ProgramStep("add", ("#0", 1.0))), "'#0'"),
        ((ProgramStep("add", (1.0, 2.0)), ProgramStep("add", ("#²", 1.0))), "'#²'"),
        ((ProgramStep("add", (1.0, 2.0)), ProgramStep("add", ("#" + "9" * 9999, 1.0))), "no earlier result"),
        ((ProgramStep("add", (1.0,)),), "'add' with 1"),
        ((ProgramStep("sqrt", (1.0,)),), "'sqrt'"),
    ],
)
def test_a_program_that_cannot_be_run_is_refused(steps: tuple[ProgramStep, ...], message: str) -> None:
    with pytest.raises(ArithmeticToolError, match=message.replace("(", r"\(")):
        run(steps)


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        (105, 100, True), (105.1, 100, False), (-100, 100, False), (-95, -100, True), (0, 0, True),
        (1e-10, 0, True), (1e-8, 0, False), (math.nan, 1, False), (math.inf, 1e308, False),
        (-1e308, 1.7e308, False),
    ],
)  # fmt: skip
def test_five_percent_off_is_still_right(answer: float, target: float, right: bool) -> None:
    assert is_right(answer, target) is right


def test_a_digest_is_of_text_and_target_alone() -> None:
    digests = [Problem("a", text, target, None, 2).digest for text in ("How many?", "How?") for target in (3.0, 4.0)]
    assert len(set(digests)) == 4
    assert digests[0] == Problem("b", "How many?", 3.0, None, 4, "t", "train").digest
