"""Roles that the paper gives the model: who takes the switches, and who refuses them."""

from __future__ import annotations

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.plugin import PLUGIN as SOKOBAN
from tape.agents.base import Agent
from tape.agents.best_of_n import BestOfNReactAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.runner.checks import check_before
from tape.runner.configurations import Configuration
from tape.runner.spec import RunSpec
from tape.sdp.agent import SdpAgent
from tests.tape.helpers import CORRIDOR


@pytest.mark.parametrize(("switch", "role"), [("costs", "cost"), ("projector", "merge")])
def test_a_role_that_prompts_do_not_have_is_refused_at_the_start(switch: str, role: str) -> None:
    agent = TapeAgent(ScriptedLM([""], prompt_format="compact"), **{switch: "lm"})
    with pytest.raises(ConfigError, match=f"{switch}='lm': the prompts that scripted reads have no {role} role"):
        agent.run(SokobanEnvironment.with_slack(CORRIDOR, 2))


@pytest.mark.parametrize("agent", [ReactAgent, BestOfNReactAgent, SdpAgent])
@pytest.mark.parametrize("switch", ["costs", "projector"])
def test_agents_without_the_role_refuse_it(agent: type[Agent], switch: str) -> None:
    with pytest.raises(ConfigError, match="means nothing to the agent"):
        agent(ScriptedLM([""]), **{switch: "lm"})


@pytest.mark.parametrize("switch", ["costs", "projector"])
def test_verification_goes_by_what_is_declared(switch: str) -> None:
    with pytest.raises(ConfigError, match=f"needs {switch}='declared'"):
        TapeAgent(ScriptedLM([""]), aec=True, **{switch: "lm"})


@pytest.mark.parametrize("switch", ["costs", "projector"])
def test_a_run_is_refused_before_it_begins(switch: str) -> None:
    options = {"levels": "hard-dev", "slack": 2, "limit": 1}
    config = TapeConfig.make(**{switch: "lm"})
    spec = RunSpec(environment="sokoban", options=options, agent="tape", config=config, model="m", model_identity="m")
    runs = [Configuration("one", spec, tuple(SOKOBAN.tasks(options)[:1]))]
    with pytest.raises(ConfigError, match=f"{switch}='lm': the prompts that scripted reads"):
        check_before(runs, {"m": ScriptedLM([""], prompt_format="compact")}, Budget(), "1")
    check_before(runs, {"m": ScriptedLM([""])}, Budget(), "1")
