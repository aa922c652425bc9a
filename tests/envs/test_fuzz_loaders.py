"""Whatever a data file holds, a loader reads it or names the problem."""

import json
import math
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tape.errors import TapeError
from tests.envs.loaders import LOADERS, Loader

pytestmark = pytest.mark.filterwarnings("ignore")  # about what was passed over
SEED = 17
SOAK = 20_000
LONGEST = 3000
"""Bytes of the longest message, which must not show a whole file."""
_SHARES = sum(loader.share for loader in LOADERS.values())


NO_FILES: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir, "pipe": os.mkfifo, "empty": Path.touch, "unreadable": lambda path: path.symlink_to(path),
}  # fmt: skip


def _tries(name: str, total: int) -> int:
    return math.ceil(total * LOADERS[name].share / _SHARES)


def _spoiled(loader: Loader, folder: Path, count: int, seed: str) -> tuple[Counter[str], float]:
    """Read so many spoiled files; how each ended, and the most seconds of work that one took."""
    loader.make(folder)
    valid = {path: path.read_bytes() for path in loader.files(folder)}
    loader.read(folder)
    ends: Counter[str] = Counter()
    longest = 0.0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        path = rng.choice(sorted(valid))
        path.write_bytes(loader.spoil(rng, valid[path]))
        began, end, message = time.process_time(), "read", ""
        try:
            loader.read(folder)
        except TapeError as error:
            end, message = type(error).__name__, str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise AssertionError(f"input {number} of {seed!r} ({path.name}): {problem}") from error
        ends[end] += 1
        fine = len(message.encode()) < LONGEST and message.replace("\n", " ").isprintable()
        assert fine, f"input {number} of {seed!r} ({path.name}): {message[:300]}"
        longest = max(longest, time.process_time() - began)
        path.write_bytes(valid[path])
    return ends, longest


@pytest.mark.parametrize("name", LOADERS)
def test_a_spoiled_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    count = _tries(name, SOAK // 40)
    ends, _ = _spoiled(LOADERS[name], tmp_path, count, f"{SEED} {name}")
    assert ends.total() == count
    assert ends.total() > ends["read"] > 0 or name == "alfworld split", ends


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("what", [*NO_FILES, "missing"])
def test_what_is_no_file_is_refused(name: str, what: str, tmp_path: Path) -> None:
    loader = LOADERS[name]
    loader.make(tmp_path)
    path = loader.files(tmp_path)[-1]
    path.unlink()
    if what != "missing":
        NO_FILES[what](path)
    if what == "empty" and name in ("travelplanner tables", "toml templates"):
        return  # a table of states or templates may be empty
    with pytest.raises(TapeError):
        loader.read(tmp_path)


@pytest.mark.soak
def test_20_000_spoiled_files(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    figures: dict[str, object] = {}
    slowest, total = 0.0, 0
    for name, loader in LOADERS.items():
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        ends, longest = _spoiled(loader, folder, _tries(name, SOAK), f"{SEED + 1} {name}")
        figures[name] = {"inputs": ends.total(), "ends": dict(sorted(ends.items())), "longest_s": round(longest, 3)}
        slowest, total = max(slowest, longest), total + ends.total()
    record_property("inputs", total)
    record_property("slowest_s", round(slowest, 3))
    if folder_ := os.environ.get("TAPE_SOAK_RESULTS"):
        text = json.dumps({"inputs": total, "slowest_s": round(slowest, 3), "loaders": figures}, indent=2)
        (Path(folder_) / "env_loaders.json").write_text(f"{text}\n", encoding="utf-8")
    assert total >= SOAK
    assert slowest < 5
