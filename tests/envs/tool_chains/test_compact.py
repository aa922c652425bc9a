"""The prompts of the bundled model that reads requests, and episodes with it."""

from __future__ import annotations

import random

import pytest

from envs.tool_chains.compact import ReadingFormat, goal_words, prompt, vocabulary
from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.generator import ChainSettings, generate
from envs.tool_chains.typed import TypedEnvironment
from envs.tool_chains.typed.domain import as_typed
from envs.tool_chains.words import all_specs, request_text, type_name
from experiments.training.chains.data import WORDS, draw, is_held_out
from tape.agents.tape import TapeAgent
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import OneOf
from tape.lm.registry import open_model
from tape.tools import tool


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
