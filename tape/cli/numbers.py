"""Numbers of the command line, for ``type=`` of ``argparse``: bounded where they enter."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

from tape.reading import short

LARGEST = 2**63 - 1
MOST = 10**9
"""Largest number of things, where nothing smaller is the limit."""


def whole(least: int = 1, most: int = MOST) -> Callable[[str], int]:
    """Reads a whole number from ``least`` to ``most``; what is none is named with the range."""

    def read(text: str) -> int:
        number = int(text) if re.fullmatch(r"\s*[-+]?[0-9]{1,30}\s*", text) else None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{short(text)} is not a whole number from {least} to {most}")
        return number

    return read


def real(least: float = 0.0, most: float = float(MOST), *, above: bool = False) -> Callable[[str], float]:
    """Reads a number from ``least``, or ``above`` it, to ``most``; what is none is named with the range."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most or (above and number == least):
            start = f"above {least:g} and at most" if above else f"from {least:g} to"
            raise argparse.ArgumentTypeError(f"{short(text)} is not a number {start} {most:g}")
        return number

    return read
