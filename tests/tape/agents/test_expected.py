"""Costs as distributions: what is forecast, and when it is proven that nothing fits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.budget.prices import Answer
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.agent import SdpAgent
from tape.protocols.result import EpisodeResult
from tape.show.replay import describe
from tape.tools import Fixed, Likely, Tool, ToolEnvironment, Uniform
from tape.tools.making import make_tool
from tape.trace import ActedEvent, ForecastEvent, InfeasibleEvent, TraceWriter, read_trace
from tests.profiles import examples
from tests.tape.tools.helpers import obtained, program

Stage = Sequence[tuple[int, float]]
"""The variants of a stage: the most milliseconds of each, and the least as a share of these."""


def stage(number: int, variants: Stage) -> list[Tool]:
    def work(site: str) -> str:
        """Do the work of this stage."""
        return f"{site} {number}"

    return [
        make_tool(work, kind=f"work{number}", variant=f"v{place}", cost=Uniform(Resources({"seconds": most}), least))
        for place, (most, least) in enumerate(variants)
    ]


def run(
    stages: Sequence[Stage], cap: int, seed: int = 0, *, tools: list[Tool] | None = None, **more: Any
) -> EpisodeResult:
    calls = [(f"work{k}.v0", {"site": "a"}) for k in range(len(stages))]

    def reply(request: Request, sample: int) -> str:
        del sample
        done = len(obtained(request)) if request.role == "plan" else 0
        return program(calls[done:], "#1", request) if request.role == "plan" else "right"

    trace = more.pop("trace", None)
    box = tools or [item for number, variants in enumerate(stages) for item in stage(number, variants)]
    settings = {"costs": "expected", "num_plans": 1, "ablations": {"resample": 0}} | more
    return TapeAgent(ScriptedLM(reply), **settings).run(
        ToolEnvironment("work", box), budget=Budget({"seconds": cap}), seed=seed, trace=trace
    )


def forecasts(result: EpisodeResult) -> list[ForecastEvent]:
    return [event for event in result.events or () if isinstance(event, ForecastEvent)]


WIDE: Stage = ((1000, 0.1),)


def test_each_step_says_how_likely_the_rest_fits_and_a_proof_ends_the_episode() -> None:
    result = run([WIDE] * 4, 2600, seed=1)
    told = forecasts(result)
    assert [event.step for event in told] == [*range(len(told))]
    assert told[0].verdict == "open"
    assert 0.3 < told[0].probability < 0.6
    rest = told[0].rest["seconds"]
    assert (rest.mean, rest.least, rest.most, rest.left) == (2200, 400, 4000, 2600)
    assert rest.least < rest.low < rest.mean < rest.high < rest.most
    assert (told[-1].verdict, told[-1].probability, told[-1].rest) == ("nothing_fits", 0, {})
    assert result.end_state == "infeasible"
    assert result.explanation["least"]["seconds"] > 2.6
    assert "even if every step takes the least that is declared" in result.detail
    assert f"after {told[-1].step} step" in result.detail
    assert result.lm_calls["plan"] == 1  # nothing was asked again


def test_what_fits_at_its_worst_is_certain() -> None:
    result = run([WIDE] * 3, 3000)
    assert result.success
    assert {(event.verdict, event.probability) for event in forecasts(result)} == {("fits", 1.0)}


def test_without_expected_costs_nothing_is_forecast_and_with_fixed_ones_nothing_is_open() -> None:
    assert not forecasts(run([WIDE] * 3, 3000, costs="declared"))
    assert run([WIDE] * 3, 2600, costs="declared").end_state == "infeasible"
    fixed = [make_tool(stage(0, WIDE)[0].function, kind="work0", variant="v0", cost=Fixed(Resources({"seconds": 700})))]
    told = forecasts(run([WIDE], 700, tools=fixed))
    assert told[0].verdict == "fits"
    assert told[0].rest["seconds"].least == told[0].rest["seconds"].most == 700


def test_a_path_that_is_certain_to_fit_goes_before_one_of_equal_worth_that_may_not() -> None:
    both: Stage = ((200, 0.1), (1000, 0.1))
    for seed in range(4):
        result = run([both] * 4, 1900, seed)
        assert result.success
        assert not result.budget_violations
        assert forecasts(result)[0].verdict == "fits"


@examples(40)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 400), st.sampled_from([0.0, 0.1, 0.5, 1.0])), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
    st.floats(0.1, 1.1),
    st.integers(0, 3),
)
def test_a_proven_stop_is_never_wrong(stages: list[list[tuple[int, float]]], share: float, seed: int) -> None:
    """Whatever the variants and however little the steps take, nothing could have been done to the end."""
    cap = round(share * sum(max(most for most, _ in variants) for variants in stages))
    result = run(stages, cap, seed)
    if result.end_state != "infeasible":
        return
    left = cap - (result.used.get("seconds") or 0)
    rest = stages[result.steps :]
    for chosen in product(*rest):
        used = 0
        fits = True
        for most, least in chosen:
            fits = fits and used + most <= left
            used += round(most * least)
        assert not fits, (chosen, left)


@examples(30)
@given(
    st.lists(st.tuples(st.integers(50, 400), st.sampled_from([0.0, 0.2, 0.6])), min_size=1, max_size=6),
    st.floats(0.3, 1.0),
)
def test_the_probability_is_that_of_drawing_every_step(path: list[tuple[int, float]], share: float) -> None:
    cap = round(share * sum(most for most, _ in path))
    told = forecasts(run([[pair] for pair in path], cap))
    if not told or told[0].step:
        return
    rng, fits, draws = random.Random(5), 0, 3000
    for _ in range(draws):
        used, good = 0.0, True
        for most, least in path:
            good = good and used + most <= cap
            used += most * rng.uniform(least, 1)
        fits += good
    # The smallest of the probabilities along the path stands for that of all together.
    assert told[0].probability == pytest.approx(fits / draws, abs=0.08)


def test_what_a_tool_takes_is_learned_while_it_is_used() -> None:
    def work(site: str) -> str:
        """Work."""
        return site

    class Quick:
        """A cost of one's own, which takes a tenth of its worst case."""

        def worst(self, arguments: Any = None) -> Resources:
            return Resources({"seconds": 1000})

        def actual(self, arguments: Any, answer: Answer) -> Resources:
            return Resources({"seconds": 100})

    item = make_tool(work, cost=Quick())
    plan = program([("work", {"site": str(k)}) for k in range(6)], "#1")
    model = ScriptedLM(lambda request, sample: plan if request.role == "plan" else "right")
    result = TapeAgent(model, costs="expected").run(ToolEnvironment("x", [item]), budget=Budget({"seconds": 3500}))
    assert result.success
    means = [event.rest["seconds"].mean / (6 - event.step) for event in forecasts(result)[:-1]]
    assert means[0] == 500
    assert means == sorted(means, reverse=True)
    assert means[-1] < 200


def test_a_trace_holds_the_forecasts_and_is_read_shown_and_explained(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    result = run([WIDE] * 4, 2600, seed=1, trace=path)
    events = list(read_trace(path))
    assert [event for event in events if isinstance(event, ForecastEvent)] == forecasts(result)
    text = "\n".join(describe(events))
    assert "that the rest fits; it takes" in text
    assert "no plan fits any more, even if every step takes its least" in text
    why = result.why()
    assert "proven that nothing fits" in why
    assert "cannot be reproduced" not in why
    [end] = [event for event in events if isinstance(event, InfeasibleEvent)]
    assert end.explanation == result.explanation


def test_on_infeasible_partial_goes_on_though_it_is_proven() -> None:
    stopped, going = run([WIDE] * 4, 1700, seed=1), run([WIDE] * 4, 1700, seed=1, on_infeasible="partial")
    assert "nothing_fits" in {event.verdict for event in forecasts(going)}
    assert going.steps >= stopped.steps
    assert not going.success


def test_means_and_deviations_that_are_declared_are_what_is_planned_with() -> None:
    tools = [*stage(0, WIDE), *stage(1, WIDE)]
    tools = [
        make_tool(t.function, kind=t.kind, variant="v0", cost=Likely.of(t.cost, seconds=("0.2", "0.05"))) for t in tools
    ]
    rest = forecasts(run([WIDE] * 2, 1900, tools=tools))[0].rest["seconds"]
    assert rest.mean == 400
    assert rest.deviation == pytest.approx(50 * 2**0.5)


@pytest.mark.parametrize("agent", [ReactAgent, SdpAgent])
def test_agents_that_do_not_plan_with_costs_refuse_expected_ones(agent: type[TapeAgent]) -> None:
    with pytest.raises(ConfigError, match="costs='expected'"):
        agent(ScriptedLM(["x"]), costs="expected")
    with pytest.raises(ConfigError, match="costs='declared'"):
        TapeAgent(ScriptedLM(["x"]), costs="expected", aec=True)


def test_every_step_is_still_set_aside_at_its_worst() -> None:
    for seed in range(4):
        result = run([WIDE] * 5, 3200, seed)
        left = 3200
        for event in result.events or ():
            if isinstance(event, ActedEvent) and event.action.startswith("work"):
                assert left >= 1000
                left -= event.cost["seconds"] or 0


def test_a_trace_without_forecasts_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    trace = TraceWriter("x", path)
    result = run([WIDE], 1000, costs="declared", trace=trace)
    trace.close()
    assert not any(
        "forecast" in line or "spread" in line or "expected" in line for line in path.read_text().splitlines()
    )
    assert list(read_trace(path)) == list(result.events or ())
