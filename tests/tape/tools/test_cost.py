"""Declared costs: what a call used is below the worst case, or reported as a cost above the declared bound."""

import logging
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget, Resources, Spread
from tape.budget.chances import spreads_of
from tape.errors import ConfigError, TapeError
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Answer, Fixed, Likely, PerUnit, ToolEnvironment, Uniform, learned, tool
from tape.tools.calls import call
from tape.trace import ActedEvent, CostAboveBoundEvent, TraceWriter
from tests.tape.tools.helpers import program

RNG = random.Random("tools:cost")


@pytest.mark.parametrize("most", [-1, 1.5, True, "3"])
def test_a_malformed_number_of_units_is_refused(most: object) -> None:
    with pytest.raises(ConfigError, match="whole number"):
        PerUnit(Resources({"usd": 1}), lambda arguments, result: 1, most)  # type: ignore[arg-type]


@given(st.integers(0, 10**9), st.floats(0, 1), st.integers())
def test_a_spread_cost_stays_between_its_ends(most: int, share: float, seed: int) -> None:
    cost = Uniform(Resources({"seconds": most, "usd": 7, "tokens": None}), share, ("seconds", "tokens"))
    actual = cost.actual({}, Answer(rng=random.Random(seed)))
    assert int(most * share) <= (actual["seconds"] or 0) <= most
    assert (actual["usd"], actual["tokens"]) == (7, None)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="least_share"):
        Uniform(Resources(), share)


def played(cost: PerUnit, text: str) -> tuple[EpisodeResult, TraceWriter]:
    @tool(cost=cost)
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    env = ToolEnvironment("shout", [shout], budget=Budget.of(usd="0.001"))
    trace = TraceWriter("x")
    return OpenLoopAgent(ScriptedLM([program([("shout", {"text": text})])])).run(env, trace=trace), trace


LETTERS = PerUnit(Resources({"usd": 10}), lambda arguments, result: len(result), at_most=5)


def test_more_units_than_declared_are_booked_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        result, trace = played(LETTERS, "abcdefgh")
    assert result.success
    assert result.used["usd"] == 80
    assert result.broken_declarations == {"usd": 1}
    [event] = [event for event in trace.events if isinstance(event, CostAboveBoundEvent)]
    assert (event.purpose, event.declared, event.used) == ("step:" + call("shout", text="abcdefgh").text, 50, 80)
    assert "shout" in caplog.text


def test_units_that_are_no_number_are_the_environments_fault_and_named() -> None:
    result, _ = played(PerUnit(Resources({"usd": 10}), lambda arguments, result: 1.5, 5), "abcd")  # type: ignore[arg-type,return-value]
    assert result.end_state == "env_error"
    assert "shout: what a call used cannot be counted" in result.detail
    assert result.used["usd"] == 50


def test_spreads_follow_from_the_declared_cost() -> None:
    assert spreads_of(Fixed.of(usd="0.01")) == {}
    uniform = spreads_of(Uniform(Resources.of(seconds=1, usd="0.1"), 0.4))
    assert [*uniform] == ["seconds"]
    assert (uniform["seconds"].least, uniform["seconds"].most, uniform["seconds"].mean) == (400, 1000, 700)
    assert uniform["seconds"].deviation == pytest.approx(600 / math.sqrt(12))
    counted = spreads_of(PerUnit(Resources.of(usd="0.001"), lambda arguments, result: 1, 50))
    assert counted == {"usd": Spread.unknown(50_000)}


def test_a_mean_and_a_deviation_are_declared_beside_the_worst_case() -> None:
    cost = Likely.of(Fixed.of(seconds=60, usd=1), seconds=(12, 4))
    assert cost.worst() == Fixed.of(seconds=60, usd=1).worst()
    assert spreads_of(cost) == {"seconds": Spread(0, 60_000, 12_000, 4_000)}
    for wrong in ({"seconds": (70, 4)}, {"seconds": (12, 90)}, {"tokens": (1, 1)}):
        with pytest.raises(TapeError):
            Likely.of(Fixed.of(seconds=60), **wrong)
    with pytest.raises(ConfigError, match="worst case"):
        Likely(Fixed.of(seconds=60), {"seconds": Spread.unknown(5)})


def test_costs_are_learned_from_traces_by_tool() -> None:
    @tool(cost=PerUnit(Resources.of(usd="0.001"), lambda arguments, result: len(result or ""), 100))
    def read(page: str) -> str:
        """Read a page."""
        return page

    @tool(usd="0.01")
    def look(page: str) -> str:
        """Look."""
        return page

    def acted(action: str, usd: int) -> ActedEvent:
        return ActedEvent(step=1, action=action, text="", planned=None, cost={"steps": 1, "usd": usd})

    first = [acted('read(page="a")', 10_000), acted('look(page="a")', 10_000)]
    tools = learned([read, look], [first, [acted('read(page="b")', 30_000)]])
    assert tools[1] is look
    assert spreads_of(tools[0].cost)["usd"] == Spread(0, 100_000, 20_000, 10_000, 2)
    assert tools[0].worst == read.worst
    assert read.cost is not tools[0].cost
