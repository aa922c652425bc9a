"""Which solvers PuLP knows, and which of them it finds installed."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

PREFIX = "pulp:"
"""What the names of PuLP's solvers begin with here; PuLP's own name in lower case follows."""

_HAVE_THEIR_OWN = {"PULP_CBC_CMD", "HiGHS"}

_ASK = (
    "import json, pulp; "
    "print(json.dumps({'known': pulp.listSolvers(), 'installed': pulp.listSolvers(onlyAvailable=True)}))"
)

# Licensed solvers may look for their licence on the network first.
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Survey:
    """The solvers that PuLP lists.

    Attributes:
        known: Those that it can talk to: the lower-case name, and PuLP's.
        installed: The lower-case names of those that it finds here.
        fault: Why it could not be asked; empty if it could.
    """

    known: Mapping[str, str] = field(default_factory=dict)
    installed: frozenset[str] = frozenset()
    fault: str = ""


def survey() -> Survey:
    """Asks PuLP once per process and search path, in a child process: it imports every solver package that it finds."""
    if importlib.util.find_spec("pulp") is None:
        return Survey()
    return _survey(os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def _survey(path: str) -> Survey:
    try:
        output = subprocess.run(  # noqa: S603 - this interpreter, our code
            [sys.executable, "-c", _ASK],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": path},
            timeout=_PATIENCE_SECONDS,
            text=True,
        ).stdout
        names = json.loads(output.splitlines()[-1])  # whatever a licence check prints comes before
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        return Survey(fault=f"PuLP could not be asked which solvers it finds: {error}")
    known = {name.lower(): name for name in names["known"] if name not in _HAVE_THEIR_OWN}
    return Survey(known, frozenset(name.lower() for name in names["installed"]) & known.keys())
