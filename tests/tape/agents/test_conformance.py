"""The agents pass the suite that other agents inherit."""

from __future__ import annotations

from typing import ClassVar

from envs.sokoban.environment import SokobanEnvironment
from tape.agents.best_of_n import BestOfNPlanAndActAgent, BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent, TapeAllStepAgent
from tape.lm.base import LanguageModel
from tape.protocols import Environment
from tape.sdp.agent import SdpAgent
from tape.testing import AgentConformance
from tests.tape.helpers import CORRIDOR, SimulatedModel


class TestTape(AgentConformance):
    agent = TapeAgent


class TestTapeAllStep(AgentConformance):
    agent = TapeAllStepAgent


class TestOpenLoop(AgentConformance):
    agent = OpenLoopAgent


class TestReact(AgentConformance):
    agent = ReactAgent


class TestPlanAndAct(AgentConformance):
    agent = PlanAndActAgent


class TestPlanAndActReplan(AgentConformance):
    agent = PlanAndActReplanAgent


class TestBestOfNReact(AgentConformance):
    agent = BestOfNReactAgent


class TestBestOfNPlanAndAct(AgentConformance):
    agent = BestOfNPlanAndActAgent


class OnSokoban(AgentConformance):
    """These ask for predicates, which the line has none of."""

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
