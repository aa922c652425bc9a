"""What tests of models share."""

import ssl
from collections.abc import Iterator

import pytest

from tests.tape.lm.endpoint import CANARY


@pytest.fixture(scope="session", autouse=True)
def _one_context() -> Iterator[None]:
    """Certificates are loaded once, not for each of the clients, none of which needs them."""
    loaded = ssl.create_default_context()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ssl, "create_default_context", lambda *_, **__: loaded)
        yield


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of hosted models are there, and their endpoints are named by the tests alone."""
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", CANARY)
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
