"""What the tests of experiments share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from experiments.harness import register
from experiments.harness.plots import Plot


@pytest.fixture(autouse=True, scope="session")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where runs of tests on test levels are listed: not in the repository's list."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register, "FILE", tmp_path_factory.mktemp("register") / "list.json")
        yield register.FILE


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """Figures are written as the data that they would be drawn from: drawing itself is tested in ``test_plots``."""

    def write(plot: Plot, files: Sequence[Path]) -> None:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(repr(plot).encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.harness.document.draw", write)
        yield
