"""The simulated models of environments, by the environment's name: ``simulated:NAME?errors=0.1``."""

from __future__ import annotations

from envs.rates import Rates
from tape.errors import UnknownNameError
from tape.lm.base import LanguageModel


def open_simulated(argument: str) -> LanguageModel:
    """Open a simulated model.

    Raises:
        ConfigError: An option is unknown or out of range.
        UnknownNameError: Nothing else is simulated.
    """
    what, _, query = argument.partition("?")
    if what == "web_qa":
        from envs.web_qa import simulated as web

        return web.SimulatedLM(Rates.parse(what, query), f"simulated:{argument}")
    if what == "scienceworld":
        from envs.scienceworld.simulated.model import open_simulated as scienceworld

        return scienceworld(argument)
    if what in ("bfcl", "agentdojo"):
        from envs.apart.planner import open_planner

        return open_planner(argument)
    raise UnknownNameError("simulated model", what, ("agentdojo", "bfcl", "scienceworld", "web_qa"))
