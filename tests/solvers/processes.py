"""Which processes there are, for tests that none is left."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable


def running(groups: Iterable[int]) -> list[str]:
    """The processes in some process groups, ended ones that nobody has waited for left out."""
    wanted = set(groups)
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [" ".join(row) for row in rows if int(row[0]) in wanted and not row[1].startswith("Z")]
