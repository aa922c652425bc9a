"""The experiments on Sokoban by name; a new one is a module with an ``EXPERIMENT`` and a name in :data:`NAMES`."""

from __future__ import annotations

import importlib

from experiments.harness.experiment import Experiment

NAMES = ("sokoban", "headline")
"""All experiments; each is ``experiments/studies/tape/NAME.py``."""


def find(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        KeyError: There is none.
    """
    if name not in NAMES:
        raise KeyError(f"there is no experiment {name!r}; there is: {', '.join(NAMES)}")
    experiment: Experiment = importlib.import_module(f"experiments.studies.tape.{name}").EXPERIMENT
    return experiment
