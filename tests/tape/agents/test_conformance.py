"""The agents pass the suite that other agents inherit."""

from __future__ import annotations

from typing import ClassVar

from envs.sokoban.environment import SokobanEnvironment
from tape.agents.best_of_n import BestOfNPlanAndActAgent, BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.reflexion import ReflexionAgent
from tape.agents.tape import TapeAgent, TapeAllStepAgent
from tape.lm.base import LanguageModel
from tape.methods.sdp.agent import SdpAgent
from tape.protocols import Environment
from tape.testing import AgentConformance
from tests.tape.helpers import CORRIDOR, SimulatedModel

for _agent in (
    TapeAgent,
    TapeAllStepAgent,
    OpenLoopAgent,
    ReactAgent,
    ReflexionAgent,
    PlanAndActAgent,
    PlanAndActReplanAgent,
    BestOfNReactAgent,
    BestOfNPlanAndActAgent,
):
    globals()[f"Test{_agent.__name__}"] = type(f"Test{_agent.__name__}", (AgentConformance,), {"agent": _agent})


class OnSokoban(AgentConformance):
    """These need predicates, which the line does not declare."""

    def environment(self, steps: int | None) -> Environment:
        return SokobanEnvironment(CORRIDOR, steps)

    def model(self) -> LanguageModel:
        return SimulatedModel(CORRIDOR)


class TestSdpOnAPath(OnSokoban):
    agent = SdpAgent


class TestSdpOnASample(OnSokoban):
    agent = SdpAgent
    settings: ClassVar = {"sdp": {"chain": "sample"}}


class TestTapeWithVerification(OnSokoban):
    agent = TapeAgent
    settings: ClassVar = {"aec": True}
