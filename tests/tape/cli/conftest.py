"""What the tests of interrupts share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tape.cli.commands import make_data
from tests.tape.cli.interrupting import adopting


@pytest.fixture
def adopted() -> Iterator[None]:
    """No child that a command leaves behind is missed."""
    with adopting():
        yield


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See :func:`make_data`."""
    return make_data(tmp_path_factory.mktemp("data"))
