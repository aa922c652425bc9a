"""The exact planner against exhaustive search, and its reasons where there is no chain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.tool_chains.typed import PlanningError, cheapest_chains, planner
from solvers import Status
from tape.tools import Tool, ToolError, tool
from tests.envs.tool_chains.typed.goods import HAVE, TOOLS, exhaustive, priced
from tests.profiles import examples

TYPES = "abcdef"


@st.composite
def nets(draw: st.DrawFn) -> list[Tool]:
    """A few tools that take up to two types each; types may go round in circles."""
    made = []
    for number in range(draw(st.integers(1, 6))):
        takes = draw(st.lists(st.sampled_from(TYPES), max_size=2, unique=True))
        gives = draw(st.sampled_from([kind for kind in TYPES if kind not in takes]))
        made.append(priced(f"t{number}", takes, gives, draw(st.integers(0, 9)), draw(st.integers(0, 3))))
    return made


@examples(150)
@given(nets(), st.lists(st.sampled_from("bcdef"), max_size=2), st.integers(0, 5), st.integers(0, 8))
def test_the_cheapest_chain_is_the_one_of_an_exhaustive_search(
    tools: list[Tool], at_hand: list[str], steps: int, seconds: int
) -> None:
    limits = {"steps": steps, "seconds": 1000 * seconds}
    chains = cheapest_chains(tools, "f", ["a"], at_hand=at_hand, limits=limits)
    least = exhaustive(tools, "f", ["a"], limits, at_hand)
    assert bool(chains) is (least is not None)
    if least is None:
        assert chains.status is Status.INFEASIBLE
        assert chains.reason
        return
    assert (chains.best.cost["usd"] or 0) == least
    assert all((chains.best.cost[kind] or 0) <= left for kind, left in limits.items())
    # What it names can be called in that order.
    by_name, held = {item.name: item for item in tools}, list(at_hand)
    for name in chains.best.tools:
        for text in by_name[name].takes:
            if text != "a":
                held.remove(text)
        held.append(by_name[name].gives)
    assert "f" in held


@examples(60)
@given(nets(), st.integers(2, 4))
def test_several_chains_differ_and_come_in_the_order_of_their_cost(tools: list[Tool], count: int) -> None:
    chains = cheapest_chains(tools, "f", ["a"], limits={"steps": 4}, count=count)
    costs = [chain.cost["usd"] or 0 for chain in chains.chains]
    assert costs == sorted(costs)
    assert len({chain.tools for chain in chains.chains}) == len(costs) <= count
    assert (costs[0] if costs else None) == exhaustive(tools, "f", ["a"], {"steps": 4})


def test_where_no_chain_fits_the_reason_names_what_would_fit() -> None:
    short = cheapest_chains(TOOLS, "axe", HAVE, limits={"usd": 500_000})
    assert not short
    assert "800000" in short.reason
    with pytest.raises(PlanningError, match="800000"):
        _ = short.best
    assert "no chain" in cheapest_chains(TOOLS, "axe", ["ore"]).reason
    assert "nothing is left of usd" in cheapest_chains(TOOLS, "axe", HAVE, limits={"usd": -1}).reason


def test_an_unknown_price_is_refused() -> None:
    @tool(takes="ore", gives="iron", usd=None)
    def gamble(ore: str) -> str:
        """Try your luck."""
        return ore

    with pytest.raises(ToolError, match="gamble: what a call costs in usd is not known"):
        cheapest_chains([*TOOLS, gamble], "axe", HAVE)


def test_too_many_collections_of_types_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "MOST_NODES", 50)
    growing = [priced("one", ["b", "x"], "f", 1), priced("two", ["f", "y"], "b", 1), priced("root", ["a"], "f", 9)]
    growing += [priced("three", ["a"], "x", 1), priced("four", ["a"], "y", 1)]
    with pytest.raises(PlanningError, match="more than 50 collections"):
        cheapest_chains(growing, "f", ["a"])
    assert cheapest_chains(growing, "f", ["a"], limits={"steps": 6}).best.tools == ("root",)
