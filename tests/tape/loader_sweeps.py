"""What reads files from outside, with valid files, changed ones and what is no file: only a `TapeError` comes out."""

from __future__ import annotations

import math
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tape.errors import TapeError
from tests.tape.fuzz import HangError, ends_within
from tests.tape.mutations import mutated

ALL = 20_000
"""Changed files of a sweep."""
SEED = 17
SECONDS = 5.0
"""No file takes longer."""
Spoil = Callable[[random.Random, bytes], bytes]

NO_FILES: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir, "pipe": os.mkfifo, "empty": Path.touch, "unreadable": lambda path: path.symlink_to(path),
    "missing": lambda path: None,
}  # fmt: skip
"""What stands where a file should; a pipe without a writer is not waited for."""


@dataclass(frozen=True)
class Loader:
    """What reads files.

    Attributes:
        make: Makes valid files in a folder; returns the one to change, or None for all that `pattern` finds there.
        read: Reads that file, or else the folder, and does with what it gets what a run does before its first episode.
        spoil: Changes the content of a file.
        share: How many of the tries are its, relative to the others: less where reading is slow.
        names_file: Its errors name the file.
        pattern: The files to change.
        longest: Characters of its longest message, which must not show a whole file.
    """

    make: Callable[[Path], Path | None]
    read: Callable[[Path], object]
    spoil: Spoil = mutated
    share: float = 1.0
    names_file: bool = True
    pattern: str = "**/*"
    longest: int = 1_000

    def made(self, folder: Path) -> tuple[Path, list[Path]]:
        """What is read, and the files to change."""
        file = self.make(folder)
        paths = sorted(path for path in folder.glob(self.pattern) if path.is_file()) if file is None else [file]
        return file or folder, paths


def tries(loaders: Mapping[str, Loader], name: str, total: int) -> int:
    return max(3, math.ceil(total * loaders[name].share / sum(loader.share for loader in loaders.values())))


def tried(loader: Loader, folder: Path, count: int, seed: str) -> tuple[Counter[str], float]:
    """Read so many changed files; how each ended, and the most seconds of work that one took."""
    place, files = loader.made(folder)
    valid = {file: file.read_bytes() for file in files}
    loader.read(place)  # what is not changed is read
    ends: Counter[str] = Counter()
    longest = 0.0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        file = rng.choice(files)
        file.write_bytes(changed := loader.spoil(rng, valid[file]))
        began, end, message = time.process_time(), "read", file.name
        try:
            with ends_within(SECONDS):
                loader.read(place)
        except TapeError as error:
            end, message = type(error).__name__, str(error)
        except (Exception, HangError) as error:
            (kept := folder / f"broken-{number}").write_bytes(changed)
            raise AssertionError(f"{type(error).__name__} of {file.name}, {number} of {seed!r}, {kept}") from error
        longest = max(longest, time.process_time() - began)
        ends[end] += 1
        message.encode()
        fine = len(message) <= loader.longest and message.replace("\n", " ").isprintable()
        assert fine, f"{file.name}, {number} of {seed!r}: {message[:300]}"
        assert not loader.names_file or file.name in message, message
        file.write_bytes(valid[file])
    return ends, longest


def sweep(loaders: Mapping[str, Loader], folder: Path) -> dict[str, Any]:
    """All changed files, by loader; the figures."""
    figures: dict[str, Any] = {}
    for name, loader in loaders.items():
        (place := folder / name.replace(" ", "-")).mkdir()
        ends, longest = tried(loader, place, tries(loaders, name, ALL), f"{SEED + 1} {name}")
        figures[name] = {**dict(sorted(ends.items())), "longest_seconds": round(longest, 3)}
    files = sum(tries(loaders, name, ALL) for name in loaders)
    assert files >= ALL
    return {"files": files, "tracebacks": 0, "loaders": figures}
