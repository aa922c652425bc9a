"""A scripted planner, and an episode that plans on copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape.agents.tape import TapeAgent
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolEnvironment
from tests.tape.tools.helpers import Calls, program


def model(*plans: Calls, right: Callable[[str], bool] = lambda shown: True) -> ScriptedLM:
    """A model that proposes plans in turn, each answered by its last result, and judges what a copy shows."""

    def reply(request: Request, sample: int) -> str:
        if request.role == "plan":
            return program(plans[sample % len(plans)], request=request)
        return "right" if right(str(request.prompt)) else "wrong"

    return ScriptedLM(reply)


def run(lm: ScriptedLM, tools: Sequence[Tool], state: Any, settings: Any = None, **more: Any) -> EpisodeResult:
    agent = TapeAgent(lm, world_model="copy", **(settings or {}))
    return agent.run(ToolEnvironment("task", tools, state=state, budget=more.pop("budget", None)), **more)
