"""Best-of-N of ReAct (TAPE appendix G.2)."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.best_of_n import BestOfN
from tape.agents.react import ReactAgent


class BestOfNReactAgent(BestOfN, ReactAgent):
    """ReAct with ``num_plans`` thoughts and actions sampled at every step."""

    name: ClassVar[str] = "best_of_n_react"
