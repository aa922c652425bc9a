"""Hypothesis profiles: `ci` tries a quarter of the examples, the same ones each time; `soak` all, new ones each time.

No profile asserts by the clock: examples have no deadline, and slow generation is no failure.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

_FULL = 100
"""Examples under `soak` of a test that names no number."""
_SHARES = {"ci": 0.25, "soak": 1.0}
_LEAST = 10
"""No profile tries fewer, but where a test asks for fewer."""


def register() -> None:
    """Makes the profiles known to Hypothesis."""
    for name, share in _SHARES.items():
        settings.register_profile(
            name, deadline=None, derandomize=name == "ci", print_blob=True,
            suppress_health_check=[HealthCheck.too_slow], max_examples=round(_FULL * share),
        )  # fmt: skip


def share() -> float:
    """How large a part of the examples the loaded profile tries."""
    return settings().max_examples / _FULL


def examples(full: int) -> settings:
    """Decorates a test that tries `full` examples under the profile `soak`, and fewer under `ci`."""
    return settings(max_examples=max(min(full, _LEAST), round(full * share())))


def parts(count: int) -> pytest.MarkDecorator:
    """Parametrises a test by ``part``, a slice: so many of the first now, and the rest under `make soak`."""
    rest = pytest.param(slice(count, None), marks=pytest.mark.soak, id="the rest")
    return pytest.mark.parametrize("part", [pytest.param(slice(count), id="the first"), rest])
