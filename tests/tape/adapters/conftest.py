"""The frameworks, one after the other."""

from __future__ import annotations

import gc
import logging

import pytest

from tests.tape.adapters.drivers import NEEDS, driver_of
from tests.tape.adapters.drivers.base import Driver


@pytest.fixture(params=NEEDS)
def driver(request: pytest.FixtureRequest) -> Driver:
    """A framework; a test that suits some of them parametrises it by their names."""
    return driver_of(request.param)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left half-read can be collected, and soon: no log keeps its frames, and all that is older is left out.

    With all frameworks loaded, a whole collection takes half a second.
    """
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    gc.freeze()  # and stays so: what was imported would be looked through again and again
