"""The extras of the project and what each needs from the system."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Check = Callable[[], str | None]
"""Returns None where the need is met, else what is missing."""


def c_compiler() -> str | None:
    """Looks for a C compiler: ``$CC``, cc, gcc or clang."""
    names = [os.environ.get("CC", "").partition(" ")[0], "cc", "gcc", "clang"]
    if any(shutil.which(name) for name in names if name):
        return None
    return "it needs a C compiler (cc, gcc or clang), and none is on PATH"


def cpp_build() -> str | None:
    """Looks for what builds C++ projects: ``$CXX``, c++, g++ or clang++, make and cmake."""
    names = [os.environ.get("CXX", "").partition(" ")[0], "c++", "g++", "clang++"]
    if not any(shutil.which(name) for name in names if name):
        return "it needs a C++ compiler (c++, g++ or clang++), and none is on PATH"
    missing = [name for name in ("make", "cmake") if shutil.which(name) is None]
    return f"it needs {' and '.join(missing)} to be built, not found on PATH" if missing else None


def java_runtime() -> str | None:
    """Looks for a Java runtime that starts (macOS ships a ``java`` that only reports that there is none)."""
    java = shutil.which("java")
    if java is None:
        return "it needs a Java runtime, and there is no java on PATH"
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return f"it needs a Java runtime, and {java} does not run"
    return None if answer.returncode == 0 else f"it needs a Java runtime, and {java} does not run"


NEEDS: dict[str, tuple[Check, ...]] = {
    "alfworld": (c_compiler, cpp_build),
    "scienceworld": (java_runtime,),
}
"""Extra -> its system needs. An extra that is not listed needs nothing. Only declared extras are looked at."""

BASE = ("local", "solvers", "sokoban", "plots", "search", "mcp")
"""Extras that are installed with the project itself: all that is played and drawn offline with nothing but Python, the
demo's MCP server among it."""

BUILDS_LLAMA_CPP = ("smollm2",)
"""Extras whose packages build llama.cpp, for many minutes; no test needs them."""

ELSEWHERE = ("litellm",)
"""Extras for environments of their own: LiteLLM's proxy needs older versions of what other extras need."""

NOT_SURVEYED = frozenset({*BASE, *BUILDS_LLAMA_CPP, *ELSEWHERE, "all", "dev"})
"""Extras that are not looked at one by one: those, the union of all, and the test tools."""


@dataclass(frozen=True)
class Extra:
    """One declared extra on this machine.

    Attributes:
        name: Its name in pyproject.toml.
        requirements: The requirements that it adds.
        missing: What the system lacks for it, or None.
    """

    name: str
    requirements: tuple[str, ...]
    missing: str | None


def survey(declared: Mapping[str, Iterable[str]], needs: Mapping[str, tuple[Check, ...]] | None = None) -> list[Extra]:
    """Looks at every declared extra that is not installed with the project, in the order of pyproject.toml.

    Args:
        declared: ``[project.optional-dependencies]``.
        needs: The table to use in place of `NEEDS`.
    """
    table = NEEDS if needs is None else needs
    extras = []
    for name, requirements in declared.items():
        if name in NOT_SURVEYED:
            continue
        missing = next((text for check in table.get(name, ()) if (text := check())), None)
        extras.append(Extra(name, tuple(requirements), missing))
    return extras
