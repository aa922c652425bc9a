"""Calls of models that are limited to what fits, and that grow while they stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tape.budget import Cap, open_store
from tape.errors import BudgetExceededError, ConfigError
from tape.guard.guard import OVERHEAD_TOKENS, Guard

PROMPT = OVERHEAD_TOKENS + 10
MODELS = {"m": ("1", "2")}
"""A prompt token is a micro-dollar, a completion token two."""


@pytest.fixture(params=["alone", "journal", "ledger"])
def guard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guard]:
    """A guard of 1000 tokens, with each way to remember them."""
    journal = {"journal": tmp_path / "spent.jsonl", "ledger": f"file://{tmp_path}/budget.ledger"}.get(request.param)
    result = Guard("1000 tokens", models=MODELS, most_tokens=600, least_tokens=100, journal=journal)
    yield result
    result.close()


def left(guard: Guard) -> int:
    return int(guard.left()["left"]["tokens"])


def test_a_call_is_limited_to_what_fits(guard: Guard) -> None:
    with guard.model("m", "x" * 10, fit=True) as charge:
        assert charge.most_tokens == 600
        with guard.model("m", "x" * 10, fit=True) as other:
            assert other.most_tokens == 1000 - 600 - 2 * PROMPT
            assert left(guard) == 0
            other.used(PROMPT, 10)
        charge.used(PROMPT, 500)
    assert left(guard) == 1000 - 510 - 2 * PROMPT
    with pytest.raises(BudgetExceededError), guard.model("m", "x" * 10):  # the block cannot limit it
        pass
    with pytest.raises(BudgetExceededError), guard.model("m", "x" * 240, fit=True):  # fewer than the least
        pass


def test_a_call_grows_while_it_streams(guard: Guard) -> None:
    with guard.model("m", "x" * 10, 50) as charge:
        for _ in range(3):
            charge.grow(200)
        assert (charge.most_tokens, charge.worst["tokens"]) == (650, PROMPT + 650)
        with pytest.raises(BudgetExceededError):
            charge.grow(400)
        assert left(guard) == 1000 - 650 - PROMPT
        charge.used(PROMPT, 460)
        with pytest.raises(ConfigError, match="it cannot grow"):
            charge.grow(1)
    assert left(guard) == 1000 - 460 - PROMPT
    with guard.model("m", "x" * 10, 50) as charge:
        charge.grow(50)
    assert left(guard) == 1000 - 460 - 100 - 2 * PROMPT  # nobody said what it took


def test_the_tightest_of_several_caps_limits_a_call(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    store = open_store(url)
    store.set_cap(Cap("org", "usd", 500), "anna", "")
    guard = Guard("1000 tokens", models=MODELS, most_tokens=600, least_tokens=10, journal=url, scope="org/agent")
    with guard.model("m", "x" * 10, fit=True) as charge:
        assert charge.most_tokens == (500 - PROMPT) // 2
        charge.used(PROMPT, 5)
    assert store.balances()[0].spent == PROMPT + 10
    for wrong in (-1, 1.5, True):
        with pytest.raises(ConfigError, match="least_tokens"):
            Guard("1 calls", least_tokens=wrong)  # type: ignore[arg-type]
