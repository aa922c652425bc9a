"""Changed files through everything that reads files: nothing but a `TapeError` comes out, in one line, and it ends."""

from __future__ import annotations

import logging
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tape.errors import TapeError
from tests.tape.conftest import Keep
from tests.tape.fuzz import HangError, ends_within
from tests.tape.loaders import LOADERS, Loader
from tests.tape.mutations import WHOLE, mutated

ALL = 20_000
"""Files of the sweep; slow loaders get a tenth as many as the others."""
SEED = 17
SECONDS = 5.0
"""In the sweep no file takes longer."""
LONGEST_MESSAGE = 1_000


def _share(name: str, files: int) -> int:
    weights = {other: 0.1 if loader.slow else 1.0 for other, loader in LOADERS.items()}
    return max(3, round(files * weights[name] / sum(weights.values())))


def tried(loader: Loader, folder: Path, files: int, rng: random.Random) -> tuple[Counter[str], float]:
    """Hand in so many changed files; how many were read and how many refused, and the longest time of one in seconds.

    Raises:
        AssertionError: The message of an error is not as it should be.
    """
    file = loader.make(folder)
    valid = file.read_bytes()
    loader.read(file)  # what is not changed is read
    ends: Counter[str] = Counter()
    longest = 0.0
    for number in range(files):
        changed = mutated(rng, valid)
        file.write_bytes(changed)
        began = time.process_time()
        try:
            with ends_within(SECONDS):
                loader.read(file)
            ends["read"] += 1
        except TapeError as error:
            message = str(error)
            ends["refused"] += 1
            message.encode()
            assert len(message) <= LONGEST_MESSAGE, message[:300]
            assert not loader.names_file or file.name in message, message
        except (Exception, HangError) as error:
            place = folder / f"broken-{number}"
            place.write_bytes(changed)
            raise AssertionError(f"{type(error).__name__} came out of file {number}, kept as {place}") from error
        longest = max(longest, time.process_time() - began)
    return ends, longest


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No warnings of broken runs in the log of the tests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", LOADERS)
def test_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    count = _share(name, ALL // 40)
    ends, _ = tried(LOADERS[name], tmp_path, count, random.Random(f"{SEED} {name}"))
    assert ends.total() == count


@pytest.mark.parametrize("name", [name for name, loader in LOADERS.items() if not loader.slow])
def test_what_is_no_such_file_at_all_is_refused(name: str, tmp_path: Path) -> None:
    loader = LOADERS[name]
    file = loader.make(tmp_path)
    for content in WHOLE:
        file.write_bytes(content)
        if name == "ledger of a run" and b"\n" not in content:
            continue  # a line without an end was never acted on
        if name == "recipe of a model" and content.endswith(b"{}"):
            continue  # all of it may be left out
        with pytest.raises(TapeError):
            loader.read(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(TapeError):
        loader.read(file)
    file.rmdir()
    os.mkfifo(file)
    with pytest.raises(TapeError):  # a pipe without a writer is not waited for
        loader.read(file)


@pytest.mark.soak
def test_20_000_changed_files(tmp_path: Path, keep_figures: Keep) -> None:
    loaders: dict[str, object] = {}
    files, slowest = 0, 0.0
    for name, loader in LOADERS.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        count = _share(name, ALL)
        ends, longest = tried(loader, folder, count, random.Random(f"{SEED + 1} {name}"))
        loaders[name] = {**ends, "longest_seconds": round(longest, 3)}
        files, slowest = files + count, max(slowest, longest)
    figures = {"files": files, "tracebacks": 0, "longest_seconds": round(slowest, 3), "loaders": loaders}
    keep_figures("fuzz-tape-loaders", figures)
    assert files >= ALL * 0.99
