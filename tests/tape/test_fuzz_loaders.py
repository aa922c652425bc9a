"""Changed files through everything in `tape` that reads files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tape.errors import TapeError
from tests.tape.conftest import Keep
from tests.tape.loader_sweeps import ALL, NO_FILES, SEED, sweep, tried, tries
from tests.tape.loaders import LOADERS
from tests.tape.mutations import WHOLE


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No warnings of broken runs in the log of the tests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", LOADERS)
def test_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    count = tries(LOADERS, name, ALL // 100)
    ends, _ = tried(LOADERS[name], tmp_path, count, f"{SEED} {name}")
    assert ends.total() == count


@pytest.mark.parametrize("name", [name for name, loader in LOADERS.items() if loader.share == 1])
def test_what_is_no_such_file_at_all_is_refused(name: str, tmp_path: Path) -> None:
    file, _ = LOADERS[name].made(tmp_path)
    for content in WHOLE:
        file.write_bytes(content)
        if name == "ledger of a run" and b"\n" not in content:
            continue  # a line without an end was never acted on
        if name == "recipe of a model" and content.endswith(b"{}"):
            continue  # all of it may be left out
        with pytest.raises(TapeError):
            LOADERS[name].read(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(TapeError):
        LOADERS[name].read(file)
    file.rmdir()
    NO_FILES["pipe"](file)
    with pytest.raises(TapeError):
        LOADERS[name].read(file)


@pytest.mark.soak
def test_20_000_changed_files(tmp_path: Path, keep_figures: Keep) -> None:
    keep_figures("fuzz-tape-loaders", sweep(LOADERS, tmp_path))
