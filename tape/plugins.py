"""Plugins by name, from the entry points of installed distributions, and the optional packages that some need."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tape.errors import MissingExtraError, PluginError, ShadowedPackageError, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

METHODS = "tape.methods"
"""The group of what adds settings and events of its own to the engine (:class:`tape.protocols.method.Method`)."""

PROPOSERS = "tape.proposers"
"""The group of proposers beside the model and what is declared: each makes one for a domain."""

WHAT = {
    "tape.agents": "agent",
    "tape.environments": "environment",
    METHODS: "method",
    PROPOSERS: "proposer",
    "tape.models": "model backend",
    "tape.solvers": "solver",
}

_CLASS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")

LOCAL = ("torch", "transformers", "outlines", "llguidance")
"""What the extra ``local`` brings: language models on this machine."""


@lru_cache(maxsize=8)
def _points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and most of this module does without

    return {point.name: point for point in entry_points(group=group)}


def names(group: str) -> tuple[str, ...]:
    """The names registered in an entry-point group, sorted."""
    return tuple(sorted(_points(group)))


def load(group: str, name: str) -> Any:
    """Load a plugin: by the name it is registered with; an agent also as ``module:Class``.

    Raises:
        UnknownNameError: No plugin of that name; lists those there are.
        ShadowedPackageError: It is one of ours, and another package of the same name was found first.
        MissingExtraError: It needs an optional package that is not installed.
        PluginError: It is registered but cannot be loaded; names where its package was found.
    """
    points = _points(group)
    if group == "tape.agents" and _CLASS.fullmatch(name):
        return _class(name)
    if name not in points:
        hint = "" if points else "Install the package (pip install -e .) so that its entry points are registered."
        raise UnknownNameError(WHAT.get(group, "plugin"), name, points, hint)
    point = points[name]
    top = point.module.partition(".")[0]
    if top in ("envs", "solvers"):
        check_not_shadowed(top)
    try:
        return point.load()
    except MissingExtraError:
        raise
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"{WHAT.get(group, 'plugin')} {name!r} is registered as {point.value} but cannot be loaded: {error}. "
            f"The package {top!r} was found at {_found(top) or 'nowhere'}; if that is another package of the same "
            "name, rename it or put it later on sys.path"
        ) from error


def load_proposer(name: str) -> Callable[[Any], Any]:
    """What makes the proposer of a name for a domain: ``NAME``, or ``NAME:ARGUMENT`` where it takes one.

    Raises:
        UnknownNameError: As for :func:`load`.
    """
    plain, colon, argument = name.partition(":")
    loaded: Callable[..., Any] = load(PROPOSERS, plain)
    return partial(loaded, name=argument) if colon else loaded


def _named(name: str, what: str) -> Any:
    """What ``module:NAME`` names; modules of the working directory are found too, as by ``python -m``."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise PluginError(f"{what} {name!r} cannot be loaded: {error}") from error


def _class(name: str) -> Any:
    named = _named(name, "agent")
    if not isinstance(named, type) or not hasattr(named, "arun"):
        raise PluginError(f"agent {name!r} is no class of an agent: subclass tape.agents.base.Agent")
    return named


def part(name: str) -> Any:
    """The class that ``module:Class`` names; its ``of(episode)`` makes a part of an agent.

    Raises:
        PluginError: There is none.
    """
    named = _named(name, "part")
    if not hasattr(named, "of"):
        raise PluginError(f"part {name!r} is no class with a method of(episode)")
    return named


@lru_cache(maxsize=2)
def check_not_shadowed(name: str) -> None:
    """Check that a package that is installed beside this one is the one that Python finds; nothing is imported.

    A folder ``solvers`` or ``envs`` in the working directory comes before ours.

    Raises:
        ShadowedPackageError: Another one is found first; names it, and what to do.
    """
    ours = (Path(__file__).resolve().parents[1] / name).resolve()
    path = _found(name)
    if path is None or path.resolve() == ours:
        return  # a missing package fails at its import
    raise ShadowedPackageError(
        f"Python finds another package {name!r} before the one that TAPE needs: {path} instead of {ours}. "
        f"Rename that folder or file, start from another directory, or take {path.parent} off sys.path "
        "(python -P leaves the working directory and the script's folder out)"
    )


def _found(package: str) -> Path | None:
    """The folder of a top-level package, or the file of a module, that an import would find; None if there is none."""
    module = sys.modules.get(package)
    spec = module.__spec__ if module is not None else importlib.util.find_spec(package)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin else None


def missing_extra(extra: str, *modules: str, what: str = "it") -> str | None:
    """Why something cannot be used for want of an optional package; None where it can. Nothing is imported.

    Args:
        extra: The extra of this distribution that brings the packages.
        modules: Top-level modules to look for.
        what: What needs them, the subject of the sentence.
    """
    for module in modules:
        loaded: object = sys.modules.get(module)
        if loaded is None and importlib.util.find_spec(module) is None:
            return f"{what} needs the package {module!r}, which is not installed: pip install 'tape-planner[{extra}]'"
    return None


def require_extra(extra: str, *modules: str, what: str) -> None:
    """Check that optional packages are installed, before they are imported.

    Raises:
        MissingExtraError: One is not; names it and the extra.
    """
    if reason := missing_extra(extra, *modules, what=what):
        raise MissingExtraError(reason)
