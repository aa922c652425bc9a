"""A reader trained on for long transcripts: ``python -m experiments.studies.cgdp.long_transcripts``.

The four memory conditions on the questions of :mod:`experiments.studies.cgdp.memory`, without a window.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from experiments.studies.cgdp.memory import EXPERIMENT as MEMORY
from experiments.studies.cgdp.memory import Chosen, commanded, configurations

USUAL = Chosen(windows=(None,))
"""Nothing is left out of a transcript."""

EXPERIMENT = replace(
    MEMORY,
    name="cgdp_long_transcripts",
    module="experiments.studies.cgdp.long_transcripts",
    title=f"{MEMORY.title}, with a reader of long transcripts",
    about=f"{MEMORY.about} Prompts have no window, and the model is `bundled:search` trained on for long transcripts.",
    models=("bundled:search-long",),
    configurations=partial(configurations, USUAL),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return commanded(EXPERIMENT, configurations, USUAL, USUAL.windows, argv)


if __name__ == "__main__":
    sys.exit(run())
