"""What tests of models share."""

import pytest

from tests.tape.lm.endpoint import CANARY


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of hosted models are there, and their endpoints are named by the tests alone."""
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", CANARY)
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
