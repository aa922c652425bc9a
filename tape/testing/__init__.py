"""Tests that every environment and every agent must pass, for authors of either; they need pytest.

A test module of your own is enough; pytest collects what its classes inherit:

    from tape.testing import AgentConformance, EnvironmentConformance

    class TestMyEnvironment(EnvironmentConformance):
        plugin = PLUGIN                     # the object of the entry point
        arguments = ("--levels", "easy")    # as on the command line
        prompt_formats = ("chat",)

    class TestMyAgent(AgentConformance):
        agent = MyAgent

Environments of search agents inherit `SearchConformance`, states of tools `StateConformance`,
stores of budgets `LedgerStoreConformance`. Agents are played on a
`Line` of cells with a `LineModel` that knows its prompts: no weights, no simulator. The suite of an agent that needs
more of its environment overrides `environment` and `model`.
"""

import pytest

from tape.testing.line import Line, LineModel

# So that a failed assertion shows its values.
pytest.register_assert_rewrite(
    "tape.testing.agents",
    "tape.testing.environments",
    "tape.testing.garbage",
    "tape.testing.ledger",
    "tape.testing.ledger_parts",
    "tape.testing.search",
    "tape.testing.states",
)

from tape.testing.agents import AgentConformance  # noqa: E402
from tape.testing.environments import EnvironmentConformance  # noqa: E402
from tape.testing.ledger import LedgerStoreConformance  # noqa: E402
from tape.testing.search import SearchConformance  # noqa: E402
from tape.testing.states import StateConformance  # noqa: E402

__all__ = [
    "AgentConformance",
    "EnvironmentConformance",
    "LedgerStoreConformance",
    "Line",
    "LineModel",
    "SearchConformance",
    "StateConformance",
]
