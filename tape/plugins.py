"""Plugins by name, from the entry points of installed distributions."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tape.errors import PluginError, UnknownNameError

METHODS = "tape.methods"
"""The group of what adds settings and events of its own to the engine: AEC and SDP."""

WHAT = {
    "tape.agents": "agent",
    "tape.environments": "environment",
    METHODS: "method",
    "tape.models": "model backend",
    "tape.solvers": "solver",
}


@lru_cache(maxsize=8)
def _points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def names(group: str) -> tuple[str, ...]:
    """The names registered in an entry-point group, sorted."""
    return tuple(sorted(_points(group)))


def load(group: str, name: str) -> Any:
    """Load a plugin.

    Raises:
        UnknownNameError: No plugin of that name; lists those there are.
        PluginError: It is registered but cannot be loaded; where another package of the same name
            shadows it, says which path won.
    """
    points = _points(group)
    if name not in points:
        hint = "" if points else "Install the package (pip install -e .) so that its entry points are registered."
        raise UnknownNameError(WHAT.get(group, "plugin"), name, points, hint)
    point = points[name]
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        top = point.module.partition(".")[0]
        spec = importlib.util.find_spec(top)
        where = spec.origin or ", ".join(spec.submodule_search_locations or ()) if spec else "nowhere"
        raise PluginError(
            f"{WHAT.get(group, 'plugin')} {name!r} is registered as {point.value} but cannot be loaded: {error}. "
            f"The package {top!r} was found at {where}; if that is another package of the same name, rename it or "
            "put it later on sys.path"
        ) from error
