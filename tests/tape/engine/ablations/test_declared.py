"""``scorer="declared"``: states are scored without a model, by what the environment declares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.state import State
from envs.sokoban.xsb import parse
from tape.agents.tape import TapeAgent
from tape.engine.ablations.declared import DeclaredScorer
from tape.engine.graph import GOAL_SCORE
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.protocols import Score
from tape.testing.line import Line
from tape.tools import ToolEnvironment, tool
from tape.waiting import run_sync

TWO = parse("#######\n#@$ . #\n# $ . #\n#######\n")[0]


def scores(env: Any, *states: Any, prompts: str = "chat") -> list[Score]:
    context: Any = SimpleNamespace(domain=env.domain, prompt_format=env.prompt_format(prompts))
    return run_sync(DeclaredScorer(context).score(states, {}))


def test_a_goal_is_worth_1_and_boxes_on_goals_count_as_far_as_they_go() -> None:
    env = SokobanEnvironment(TWO)
    start = TWO.start
    [first, second] = TWO.goals
    half = State(start.player, tuple(sorted((start.boxes[0], second))))
    done = State(start.player, tuple(sorted((first, second))))
    nothing, some, all_of_it = scores(env, start, half, done)
    assert (nothing, all_of_it) == (Score(0.0, 0.0), Score(1.0, 1.0))
    assert some.likely == 0.0
    assert 0.0 < some.mean < GOAL_SCORE, "only an open end's mean counts, and never like a goal"


def test_an_answer_is_worth_what_it_is_declared_to_be_worth() -> None:
    @tool(kind="look", variant="cheap", quality=0.5)
    def look_cheap(x: str) -> str:
        """Look."""
        return x

    env = ToolEnvironment("look", [look_cheap])
    domain = env.domain
    state = domain.project(env.reset(0))
    seen = domain.outcome(state, 'look.cheap(x="a")').state
    for before, worth in ((state, 1.0), (seen, 0.5)):
        assert before is not None
        after = domain.outcome(before, 'answer(value="a")').state
        assert scores(env, after) == [Score(worth, worth)]


def test_a_domain_that_declares_nothing_is_refused_before_anything_is_spent() -> None:
    model = ScriptedLM(["right"], prompt_format="compact")
    with pytest.raises(ConfigError, match="scorer='declared': LineDomain declares no outcomes"):
        TapeAgent(model, scorer="declared").run(Line(3))
    assert not model.requests


def test_it_contradicts_a_goal_test_by_the_model() -> None:
    with pytest.raises(ConfigError, match="contradicts scorer='declared'"):
        TapeConfig.make(scorer="declared", goal_test="lm")


def test_the_bound_on_calls_leaves_out_what_the_model_is_not_asked() -> None:
    asked = TapeAgent.most_lm_calls(TapeConfig(), 6, 6)
    declared = TapeAgent.most_lm_calls(TapeConfig(scorer="declared"), 6, 6)
    nothing = TapeConfig(scorer="declared", proposer="two_frontier", world_model="simulator", execution="forced")
    assert asked is not None
    assert declared is not None
    assert declared < asked
    assert TapeAgent.most_lm_calls(nothing, 6, 6) == 0
