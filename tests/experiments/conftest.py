"""What the tests of experiments share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tape.show.plots import Plot


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """Figures are written as the data that they would be drawn from: drawing itself is tested in ``test_plots``."""

    def write(plot: Plot, files: Sequence[Path]) -> None:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(repr(plot).encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tape.show.document.draw", write)
        yield
