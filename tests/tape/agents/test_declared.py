"""Roles by declaration instead of a model, and roles that the paper gives the model: their effect and refusals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.state import State
from envs.sokoban.xsb import parse
from tape.agents.base import Agent
from tape.agents.best_of_n import BestOfNReactAgent
from tape.agents.declared import DeclaredScorer
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.choice.graph import GOAL_SCORE
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.agent import SdpAgent
from tape.protocols import Score
from tape.testing.line import Line
from tape.tools import ToolEnvironment, tool
from tape.waiting import run_sync

TWO = parse("#######\n#@$ . #\n# $ . #\n#######\n")[0]


def scores(env: Any, *states: Any, prompts: str = "chat") -> list[Score]:
    context: Any = SimpleNamespace(domain=env.domain, prompt_format=env.prompt_format(prompts))
    return run_sync(DeclaredScorer(context).score(states, {}))


def test_a_goal_scores_1_and_boxes_on_goals_score_their_share() -> None:
    env = SokobanEnvironment(TWO)
    start = TWO.start
    [first, second] = TWO.goals
    half = State(start.player, tuple(sorted((start.boxes[0], second))))
    done = State(start.player, tuple(sorted((first, second))))
    nothing, some, all_of_it = scores(env, start, half, done)
    assert (nothing, all_of_it) == (Score(0.0, 0.0), Score(1.0, 1.0))
    assert some.likely == 0.0
    assert 0.0 < some.mean < GOAL_SCORE, "only an open end's mean counts, and never like a goal"


def test_an_answer_scores_as_right_and_a_call_has_its_declared_quality() -> None:
    @tool(kind="look", variant="cheap", quality=0.4)
    def look_cheap(x: str) -> str:
        """Look."""
        return x

    @tool(kind="look", variant="dear", quality=0.8)
    def look_dear(x: str) -> str:
        """Look."""
        return x

    env = ToolEnvironment("look", [look_cheap, look_dear])
    domain = env.domain
    state = domain.project(env.reset(0))
    for made, quality in (('look.cheap(x="a")', 0.5), ('look.dear(x="a")', 1.0)):
        assert domain.quality(made) == quality  # of the best of its kind
        seen = domain.outcome(state, made).state
        assert seen is not None
        after = domain.outcome(seen, 'answer(value="a")').state
        assert scores(env, after) == [Score(1.0, 1.0)]


def test_a_domain_that_declares_nothing_is_refused_before_anything_is_spent() -> None:
    model = ScriptedLM(["right"], prompt_format="compact")
    with pytest.raises(ConfigError, match="scorer='declared': LineDomain declares no outcomes"):
        TapeAgent(model, scorer="declared").run(Line(3))
    assert not model.requests
    with pytest.raises(ConfigError, match="contradicts scorer='declared'"):
        TapeConfig.make(scorer="declared", ablations={"goal_test": "lm"})


def test_the_bound_on_calls_leaves_out_declared_roles() -> None:
    asked = TapeAgent.most_lm_calls(TapeConfig(), 6, 6)
    declared = TapeAgent.most_lm_calls(TapeConfig(scorer="declared"), 6, 6)
    nothing = TapeConfig(scorer="declared", proposer="two_frontier", world_model="simulator", execution="forced")
    assert asked is not None
    assert declared is not None
    assert declared < asked
    assert TapeAgent.most_lm_calls(nothing, 6, 6) == 0


def test_what_an_agent_does_not_put_in_a_parts_place_is_refused() -> None:
    config = TapeConfig().ablated(selector="experiments.ablations.selectors:LmSelector")
    others: tuple[type[Agent], ...] = (ReactAgent, BestOfNReactAgent, SdpAgent)
    for agent in others:
        with pytest.raises(ConfigError, match="means nothing to the agent"):
            agent(ScriptedLM([""]), config)
