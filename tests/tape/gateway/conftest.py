"""Tests of the gateway may be coroutines, and may ask for a running gateway."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from tape.gateway.gateway import Gateway
from tests.tape.gateway.helpers import running, write_config


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function, in the event loop of its gateway if it has one."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    if (runner := pyfuncitem.funcargs.get("runner")) is not None:
        runner.run(pyfuncitem.obj(**given))
    else:
        asyncio.run(pyfuncitem.obj(**given))
    return True


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop for one test."""
    with asyncio.Runner() as result:
        yield result


@pytest.fixture
def gateway(runner: asyncio.Runner, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway on the configuration ``CONFIG`` of the test's module."""
    context = running(write_config(tmp_path, request.module.CONFIG))
    yield runner.run(context.__aenter__())
    runner.run(context.__aexit__(None, None, None))
