"""What memory a process takes, as the kernel tells it; None where it does not."""

from __future__ import annotations

import os
from pathlib import Path

_MEGABYTE = 2**20


def resident() -> float | None:
    """Resident megabytes now."""
    return _memory("VmRSS")


def peak() -> float | None:
    """Most resident megabytes since `forget_peak`."""
    return _memory("VmHWM")


def forget_peak() -> None:
    """Lets the peak begin anew. Where the kernel refuses, the peak also covers what was before: never too low."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists() and os.access(switch, os.W_OK):
        switch.write_text("5", encoding="utf-8")


def _memory(field: str) -> float | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024 / _MEGABYTE
    return None
