"""Sokoban's part of a matrix: every method with every model on level sets, with a budget of T* plus a slack."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.harness import methods
from experiments.harness.matrix import Options, TaskSet, configuration, tasks_of
from experiments.harness.methods import Method
from tape.runner.configurations import Configuration

ENVIRONMENT = "sokoban"
SLACK = 2
BATCH = 32
"""Episodes played together: the most a second on two cores (8 take half as long again, 64 no less)."""

EASY, HARD = "easy-fresh", "hard-fresh"
"""What every study but ``development`` plays: 200 levels each, kept for that (:mod:`envs.sokoban.make_levels`)."""

OTHER_LEVELS = (
    "The levels are ours (7 x 9, one box, the paper's optimal lengths: easy T* = 6, hard T* = 10), and so are prompts "
    "and formats; 200 levels are played once each, where the paper plays 10 levels 10 times; the rules of the "
    "comparison are the paper's: at most T* + 2 moves, temperature 0.3, M = 4."
)
LADDER = tuple(f"bundled:{size}" for size in ("nano-750", "nano-1500", "nano-3000", "nano", "mini", "base"))
"""The bundled models, the weakest first."""

ADDITIONS = tuple(pair for pair in methods.ADDITIONS if not {*pair[1]} & {"reselect", "mismatch"})
"""The additions that can change anything on Sokoban: each step there costs what it may cost, and states are compared
whole (:meth:`tape.engine.settings.TapeConfig.resolved`)."""
TAKEN_APART = tuple(f"bundled:{size}" for size in ("nano-1500", "nano-3000", "nano"))
"""The models with which TAPE+ is taken apart: neither the weakest one nor those near the ceiling."""


def on_levels(
    method: Method, model: str, options: Options, *, levels: str, slack: int = SLACK, setting: str = ""
) -> Configuration:
    """One method with one model on one level set: the same levels, budget and seeds for all methods.

    Args:
        method: The agent and its settings.
        model: The model's string.
        options: Seeds and limits.
        levels: Name of a level set.
        slack: Moves beyond the shortest solution.
        setting: First part of the configuration's name; the level set by default.
    """
    own = {"levels": levels, "slack": slack}
    tasks = tasks_of(ENVIRONMENT, own)[: options.limit]
    return configuration(method, model, options, TaskSet(setting or levels, ENVIRONMENT, own, tasks))


def grid(
    methods: Sequence[Method], settings: Sequence[str], options: Options, slack: int = SLACK
) -> list[Configuration]:
    """Every method with every model on every level set; those of one model and level set follow each other."""
    return [
        on_levels(method, model, options, levels=levels, slack=slack)
        for model in options.models
        for levels in settings
        for method in methods
    ]
