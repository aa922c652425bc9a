"""Settings of the engine and of methods: which agents take them, their messages, and the domain's defaults."""

from __future__ import annotations

from typing import Any

import pytest

from envs.scienceworld.domain import ScienceWorldDomain
from envs.scienceworld.state import ScienceTask
from envs.sokoban.environment import SokobanEnvironment
from tape.agents.base import Agent
from tape.agents.tape import TapeAgent, TapeAllStepAgent
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.methods.aec.settings import AecSettings
from tape.methods.sdp.agent import SdpAgent
from tape.methods.sdp.settings import SdpSettings
from tape.plugins import METHODS, load, names
from tape.protocols.method import method
from tape.protocols.parts import Progress
from tape.testing.line import Line, LineModel
from tape.tools import ToolEnvironment
from tape.tools.domain import ToolDomain
from tape.tools.toolbox import Toolbox
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel
from tests.tape.tools.helpers import TOOLS

SEARCHERS = dict.fromkeys(("cgdp", "ircot", "iter_retgen", "memgpt", "react_search"), ("cgdp",))
USERS = {"sdp": ("sdp",), **SEARCHERS}
"""The methods of each agent, beside those that verify; of the others: none."""


@pytest.mark.parametrize("given", [True, {}, AecSettings()], ids=["true", "mapping", "object"])
def test_settings_may_be_given_in_three_ways(given: Any) -> None:
    config = TapeConfig.make(aec=given)
    assert config == TapeConfig(aec=AecSettings())
    assert AecSettings.of(config) == AecSettings()


@pytest.mark.parametrize("given", [None, False])
def test_no_settings_are_none(given: Any) -> None:
    config = TapeConfig.make(aec=given, sdp=given)
    assert config == TapeConfig()
    assert config.methods == {}
    with pytest.raises(ConfigError, match="holds no AecSettings"):
        AecSettings.of(config)


@pytest.mark.parametrize(
    "config",
    [TapeConfig(), TapeConfig(aec={"gate": "query_all", "margin": 0.3}), TapeConfig(aec=True, sdp={"attempts": 2})],
    ids=["none", "aec", "both"],
)
def test_a_configuration_is_read_back_from_its_record(config: TapeConfig) -> None:
    assert TapeConfig.make(**config.model_dump()) == config
    assert TapeConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"aec": {"gate": "guess"}}, "setting aec.gate = 'guess'"),
        ({"aec": {"attempts": 2}}, "there is no setting 'aec.attempts'"),
        ({"aec": {"gates": "query_all"}}, "there is no setting 'aec.gates'; did you mean 'gate'?"),
        ({"aec": {"hypotheses": 0}}, "setting aec.hypotheses = 0"),
        ({"aec": True, "execution": "free"}, "execution='constrained' or 'forced'"),
        ({"sdp": {"gate": "query_all"}}, "there is no setting 'sdp.gate'"),
        ({"sdp": "sample"}, "setting sdp = 'sample'"),
        ({"checked": "aec"}, "there is no setting 'checked'"),
        ({"aec": SdpSettings()}, "setting aec"),
        ({"num_plans": 0}, "num_plans = 0"),
        ({"execution": "wild"}, "execution = 'wild'"),
        ({"horizon": 0}, "setting horizon = 0"),
        ({"chain": "sample"}, "chain is a setting of sdp: give sdp={'chain': ...}"),
        ({"extend": 0}, "extend is an ablation: give ablations={'extend': ...}"),
        ({"ablations": {"extends": 0}}, "there is no setting 'ablations.extends'; did you mean 'extend'?"),
        ({"ablations": {"extend": -1}}, "setting ablations.extend = -1"),
        ({"num_plan": 3}, "there is no setting 'num_plan'; did you mean 'num_plans'?"),
    ],
)
def test_wrong_settings_are_named_with_their_method(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace(".", r"\.")):
        TapeConfig.make(**settings)


@pytest.mark.parametrize("name", names("tape.agents"))
@pytest.mark.parametrize("used", names(METHODS))
def test_an_agent_takes_the_settings_of_its_own_methods_alone(name: str, used: str) -> None:
    agent: type[Agent] = load("tape.agents", name)
    assert agent.methods == USERS.get(name, ())
    config = TapeConfig.make(**{used: True})
    if used in agent.methods or (agent.verifies and method(used).verifies):
        assert used in agent.resolve(config).methods
        return
    says = f"settings of {used} mean nothing to the agent '{name}': leave them out"
    with pytest.raises(ConfigError, match=says):
        agent.resolve(config)
    with pytest.raises(ConfigError, match=says):
        agent(SimulatedModel(CORRIDOR), **{used: {}})
    with pytest.raises(ConfigError, match=says):
        agent(SimulatedModel(CORRIDOR), config)


def test_a_configuration_is_resolved_to_what_the_agent_plays() -> None:
    plain, verified = TapeConfig(num_plans=2), TapeConfig(num_plans=2, aec={"gate": "query_all"})
    assert TapeAgent.resolve(plain) is plain
    assert TapeAgent.resolve(verified) is verified
    every_step = TapeAllStepAgent.resolve(verified)
    assert every_step == verified.ablated(replan_every_step=True)
    assert SdpAgent.resolve(plain) == plain.using("sdp", SdpSettings())
    chained = TapeConfig(sdp={"chain": "sample"})
    assert SdpAgent.resolve(chained) == chained


def test_an_environment_without_the_needed_parts_is_refused_before_anything_is_spent() -> None:
    silent, model = Line(2), LineModel()
    TapeAgent.require(TapeConfig(), silent)
    with pytest.raises(
        ConfigError, match=r"verification \(aec\) needs an environment that declares predicates, and Line"
    ):
        TapeAgent(model, aec=True).run(silent)
    with pytest.raises(ConfigError, match="proposer='two_frontier' needs an environment that declares predicates"):
        TapeAgent(model, proposer="two_frontier").run(silent)
    with pytest.raises(ConfigError, match="needs an environment with an adapter, and Line has none"):
        SdpAgent.require(SdpAgent.resolve(TapeConfig()), silent)
    assert not model.requests
    able = SokobanEnvironment(ROOM)
    TapeAgent.require(TapeConfig(aec=True, proposer="two_frontier"), able)
    SdpAgent.require(SdpAgent.resolve(TapeConfig(aec=True)), able)


class Graded(ToolDomain, Progress):
    """Tools with partial credit."""

    @property
    def progress(self) -> Progress:
        return self

    def value(self, state: Any) -> float:
        return 0.0


def hypothesising() -> Any:
    plugin = load("tape.environments", "alfworld")
    return plugin.make(plugin.tasks({"games": "dev", "slack": 2, "count": 1})[0]).domain


TOOL_DOMAIN = ToolEnvironment("?", TOOLS).domain


@pytest.mark.parametrize(
    ("domain", "chosen"),
    [
        (lambda: TOOL_DOMAIN, ("forced", "budget", "independent", "agreement")),
        (lambda: Graded("?", Toolbox(TOOLS)), ("forced", "partial", "independent", "agreement")),
        (lambda: SokobanEnvironment(CORRIDOR, 4).domain, ("constrained", "partial", "distinct", "ends")),
        (hypothesising, ("constrained", "partial", "independent", "ends")),
        (
            lambda: ScienceWorldDomain(ScienceTask("boil", 0, "easy", "Boil water.")),
            ("constrained", "partial", "distinct", "ends"),
        ),
    ],
    ids=["tools", "graded tools", "sokoban", "alfworld", "scienceworld"],
)
def test_the_domain_chooses_the_settings_that_are_left_open(domain: Any, chosen: tuple[str, ...]) -> None:
    config = TapeConfig().resolved(domain())
    switches = config.ablations
    assert (config.execution, config.on_infeasible, switches.sampling, switches.score) == chosen
    named = TapeConfig(
        execution="free",
        on_infeasible="partial",
        ablations={"sampling": "distinct", "mismatch": "needed", "score": "argmax"},
    )
    assert named.resolved(domain()) == named
