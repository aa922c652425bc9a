"""Tool chains pass the suite that other environments inherit."""

from __future__ import annotations

from collections.abc import Sequence

from envs.tool_chains.plugin import PLUGIN
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance
from tape.tools.calls import answer
from tape.tools.typed.domain import TypedDomain, as_action, as_typed


def possible(environment: Environment, state: State) -> Sequence[Action]:
    """Calls of tools whose data are at hand, and what cannot be called."""
    assert isinstance(environment.domain, TypedDomain)
    ready = [as_action(item) for item in environment.domain.callable(state)]
    return [*ready, answer(as_typed(state).wanted or "nothing").text]


class TestToolChains(EnvironmentConformance):
    plugin = PLUGIN
    arguments = ("--count", "3", "--change", "price")
    prompt_formats = ("chat", "declared")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return possible(environment, state)


class TestReadByAModel(EnvironmentConformance):
    plugin = PLUGIN
    arguments = ("--count", "2", "--change", "wish", "--reader", "lm")
    prompt_formats = ("chat", "declared")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return possible(environment, state)
