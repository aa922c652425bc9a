"""Which processes there are, for tests that none is left, and waiting for what other processes do."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable


def running(groups: Iterable[int]) -> list[str]:
    """The processes in some process groups, ended ones that nobody has waited for left out."""
    wanted = set(groups)
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [" ".join(row) for row in rows if int(row[0]) in wanted and not row[1].startswith("Z")]


def until(holds: Callable[[], object]) -> None:
    """Returns once something holds that no event tells of; the time limit of the test ends a wait in vain."""
    while not holds():
        time.sleep(0.01)
