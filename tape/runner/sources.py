"""Which sources play a run: solvers, tape, and where its environments and agents are defined."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import solvers
import tape
from tape.plugins import load

if TYPE_CHECKING:
    from tape.runner.spec import RunSpec

SUFFIXES = {".py", ".hpp", ".cpp"}


def source_digest(specs: Iterable[RunSpec] = ()) -> str:
    """A hash of the sources that episodes of these configurations depend on; the same wherever they are installed."""
    named = sorted({("tape.environments", s.environment) for s in specs} | {("tape.agents", s.agent) for s in specs})
    return _digest(tuple(named))


@lru_cache(maxsize=64)
def _digest(named: tuple[tuple[str, str], ...]) -> str:
    whole = hashlib.sha256()
    folders = [Path(solvers.__path__[0]), Path(tape.__path__[0])]
    for group, name in named:
        plugin = load(group, name)
        file = Path(inspect.getfile(plugin if inspect.isclass(plugin) else type(plugin)))
        # A plugin may be built on packages beside its own folder, and names them.
        others = [Path(import_module(package).__path__[0]) for package in getattr(plugin, "built_on", ())]
        for place in [file.parent, *others]:
            if not any(place.is_relative_to(folder) for folder in folders):
                folders.append(place)
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            if file.suffix in SUFFIXES:
                name = f"{folder.name}/{file.relative_to(folder).as_posix()}"
                whole.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()[:16]
