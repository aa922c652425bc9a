"""Tool chains as they are played: TAPE beside the oracle, every agent within its budget, a bundled model that reads."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.tool_chains.compact import ReadingFormat, goal_words, prompt, vocabulary
from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.generator import ChainSettings, generate
from envs.tool_chains.problem import CENT, CHANGES, ChainProblem
from envs.tool_chains.typed import TypedEnvironment
from envs.tool_chains.typed.domain import as_typed
from envs.tool_chains.words import all_specs, request_text, type_name
from envs.travelplanner.declared_lm import DeclaredLM
from experiments.training.chains.data import WORDS, draw, is_held_out
from tape.agents.tape import TapeAgent
from tape.cli import main
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import OneOf
from tape.lm.registry import open_model
from tape.plugins import load
from tape.protocols.result import EpisodeResult
from tape.tools import tool
from tests.profiles import examples

EXACT = {"proposer": "declared", "scorer": "declared"}
AGENTS = "open_loop react plan_and_act plan_and_act_replan best_of_n_react best_of_n_plan_and_act tape tape_all_step"


def within_budget(problem: ChainProblem, result: EpisodeResult) -> None:
    """Check that nothing is over its budget or its declared cost."""
    assert not result.budget_violations
    assert not result.broken_declarations
    assert (result.used.get("usd") or 0) <= problem.cents * CENT
    assert (result.used.get("seconds") or 0) <= problem.millis


@examples(12)
@given(st.integers(0, 10**6), st.sampled_from(CHANGES), st.integers(5, 8), st.integers(20, 60), st.floats(0, 0.5))
def test_tape_with_the_exact_planner_does_what_the_oracle_does(
    number: int, change: str, level: int, tools: int, slack: float
) -> None:
    problem = generate("property", number, ChainSettings(level, tools, change, slack=slack))
    played = ToolChainsEnvironment(problem)
    result = TapeAgent(DeclaredLM("random"), **EXACT).run(played, budget=problem.budget, seed=number)
    assert result.success
    assert result.measures == {"cheapest": 1.0, "over_least": 1.0}
    assert tuple(played.called) == problem.reference.tools
    assert result.used["usd"] == problem.reference.cents * CENT
    assert not result.lm_calls
    within_budget(problem, result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "agent", "policy"),
    [
        *((change, "tape", "random") for change in CHANGES),
        *((change, agent, "random") for agent in AGENTS.split()[:-2] for change in ("none", "wish")),
        *(
            pytest.param(*some, marks=pytest.mark.soak)
            for some in product(CHANGES, AGENTS.split(), ("first", "random"))
        ),
    ],
)
def test_no_agent_overspends_under_any_change(change: str, agent: str, policy: str) -> None:
    problem = generate("agents", 1, ChainSettings(change=change))
    result = load("tape.agents", agent)(DeclaredLM(policy)).run(ToolChainsEnvironment(problem), budget=problem.budget)
    within_budget(problem, result)
    if result.success and change == "none":  # else luck may spend less than the oracle, which knows no future either
        assert result.measures["over_least"] >= 1.0


@pytest.mark.parametrize("number", range(2))
def test_a_dearer_chain_is_taken_in_time_and_where_none_fits_no_call_is_made(number: int) -> None:
    tight = generate("test", number, ChainSettings(caps="tight"))
    agent = TapeAgent(DeclaredLM("first"), **EXACT)
    assert agent.run(ToolChainsEnvironment(tight), budget=tight.budget).measures["cheapest"] == 1.0
    short = generate("test", number, ChainSettings(caps="short"))
    result = agent.run(ToolChainsEnvironment(short), budget=short.budget)
    assert (result.end_state, result.steps) == ("infeasible", 0)
    assert "needs a cap of $" in result.detail


def test_with_declared_plans_a_model_that_reads_wrongly_returns_something_else() -> None:
    problem = generate("test", 0, ChainSettings())
    played = ToolChainsEnvironment(problem, reader="lm")
    result = TapeAgent(DeclaredLM("first"), **EXACT).run(played, budget=problem.budget)
    assert result.lm_calls == {"project": 1}
    assert not result.success or problem.want == problem.goals[0]


@pytest.mark.slow
def test_own_tools_are_played_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, tool = tmp_path / "own.json", {"name": "smelt", "takes": "ore", "gives": "iron", "cost": {"usd": "0.40"}}
    own.write_text(json.dumps({"tools": [tool], "tasks": [{"id": "one", "have": ["ore"], "want": "iron"}]}))
    assert main(["run", "tool_chains", "--data", str(own), "--out", str(tmp_path / "own")]) == 0
    assert "1/1 solved" in capsys.readouterr().out


def test_the_vocabulary_writes_every_request_and_every_type() -> None:
    rng = random.Random(1)
    for spec in all_specs():
        for kind in ("requests", "changes"):
            assert "<unk>" not in prompt(request_text(spec, rng, kind))
        assert set(goal_words(type_name(spec, 1, 1))) <= set(vocabulary())
    assert prompt("Please make me a Sandwich!")[-4:] == ["a", "<unk>", "<read>", "->"]
    assert len(set(WORDS)) == len(WORDS)
    assert all(is_held_out(draw(rng, True)[0]) and not is_held_out(draw(rng, False)[0]) for _ in range(20))


def test_a_request_is_a_choice_among_types_and_read_back() -> None:
    env = ToolChainsEnvironment(generate("x", 0, ChainSettings()), "lm")
    form = env.prompt_format("chains")
    assert isinstance(form, ReadingFormat)
    state = as_typed(env.reset(0).data)
    request = form.project_request(state)
    assert isinstance(request.constraint, OneOf)
    assert len(request.constraint.options) == len(env.goals) == len(set(request.constraint.options))
    wanted = [form.read_project(state, option).wanted for option in request.constraint.options]
    assert wanted == list(env.goals)
    with pytest.raises(InvalidOutputError, match="none of the types"):
        form.read_project(state, "a sandwich ")


def test_all_but_reading_is_refused() -> None:
    env = ToolChainsEnvironment(generate("x", 0, ChainSettings()), "lm")
    form, state = env.prompt_format("chains"), env.reset(0).data
    for ask in (
        lambda: form.plan_request(state, {}),
        lambda: form.read_plan(state, ""),
        lambda: form.act_request(state, {}, None, ()),
        lambda: form.read_act(state, ""),
        lambda: form.select_request(state, [], {}),
    ):
        with pytest.raises(ConfigError, match="--proposer declared"):
            ask()


def test_types_of_ones_own_are_refused() -> None:
    @tool(takes="flour", gives="bread", usd="0.01")
    def bake(flour: str) -> str:
        """Bake."""
        return flour

    env = TypedEnvironment(
        [bake], have={"flour": "f"}, want="bread", request="Bread, please.", goals=["bread"],
        prompt_formats={"chains": ReadingFormat},
    )  # fmt: skip
    form = env.prompt_format("chains")
    assert isinstance(form, ReadingFormat)
    with pytest.raises(ConfigError, match="take a general model"):
        form.project_request(env.reset(0).data)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["none", "wish"])
def test_the_bundled_model_reads_and_the_cheapest_chain_is_taken(change: str) -> None:
    agent = TapeAgent(open_model("bundled:chains"), proposer="declared", scorer="declared", execution="forced")
    right = 0
    for number in range(3):
        problem = generate("dev", number, ChainSettings(5, 40, change))
        env = ToolChainsEnvironment(problem, "lm")
        result = agent.run(env, budget=problem.budget, seed=number)
        assert not result.budget_violations
        right += env.measures()["cheapest"] == 1.0
    assert right >= 2
