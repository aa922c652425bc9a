"""Tests that every environment, agent, tool and model must pass, for authors of one; they need pytest.

A test module of your own is enough; pytest collects what its classes inherit:

    from tape.testing import AgentConformance, EnvironmentConformance

    class TestMyEnvironment(EnvironmentConformance):
        plugin = PLUGIN                     # the object of the entry point
        arguments = ("--levels", "easy")    # as on the command line
        prompt_formats = ("chat",)

    class TestMyAgent(AgentConformance):
        agent = MyAgent

Tools inherit `ToolConformance`, language models `ModelConformance`, environments of search agents
`SearchConformance`, states of tools `StateConformance`, stores of budgets
`LedgerStoreConformance`. Agents are played on a `Line` of cells with a `LineModel` that knows its
prompts: no weights, no simulator. The suite of an agent that needs more of its environment overrides `environment` and
`model`.
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
    "tape.testing.models",
    "tape.testing.search",
    "tape.testing.states",
    "tape.testing.tools",
)

from tape.testing.agents import AgentConformance  # noqa: E402
from tape.testing.environments import EnvironmentConformance  # noqa: E402
from tape.testing.ledger import LedgerStoreConformance  # noqa: E402
from tape.testing.models import ModelConformance  # noqa: E402
from tape.testing.search import SearchConformance  # noqa: E402
from tape.testing.states import StateConformance  # noqa: E402
from tape.testing.tools import ToolConformance  # noqa: E402

__all__ = [
    "AgentConformance",
    "EnvironmentConformance",
    "LedgerStoreConformance",
    "Line",
    "LineModel",
    "ModelConformance",
    "SearchConformance",
    "StateConformance",
    "ToolConformance",
]
