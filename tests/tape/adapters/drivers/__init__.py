"""The frameworks whose guards are held against the same demands, by name."""

from __future__ import annotations

import gc
import importlib
import sys

import pytest

from tests.tape.adapters.drivers.base import Driver

NEEDS = {
    "langchain": "langchain.agents", "langchain:async": "langchain.agents", "pydantic_ai": "pydantic_ai.capabilities",
    "openai_agents": "agents.testing", "inspect": "inspect_ai", "smolagents": "smolagents", "dspy": "dspy",
    "dspy:async": "dspy",
}  # fmt: skip
"""What each needs."""

ASYNC = ("langchain:async", "pydantic_ai", "openai_agents", "inspect", "dspy:async")
"""Those whose runs can be cancelled."""


_seen = {"modules": 0}


def driver_of(name: str) -> Driver:
    """A driver; the test is skipped where its framework is not installed."""
    pytest.importorskip(NEEDS[name])
    module, _, how = name.partition(":")
    driver: type[Driver] = importlib.import_module(f"tests.tape.adapters.drivers.{module}").DRIVER
    if (loaded := len(sys.modules)) > _seen["modules"]:  # some load more when they are used
        _seen["modules"] = loaded
        gc.freeze()  # as tests/conftest.py does with what it imports
    return driver(awaits=how == "async")
