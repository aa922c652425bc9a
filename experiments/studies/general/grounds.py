"""Where a small general model may be enough: it reads and chooses, declarations and the solver carry the rest.

``python -m experiments.studies.general.grounds`` plays it, from the repository's folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments.harness.cli import main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, own_options, spread, tasks_of
from experiments.harness.methods import PAPER, REACT, REPLANNING, TAPE, Method
from experiments.harness.standard import against
from experiments.studies.general.general import sections as ends_and_spending
from tape.protocols import Task
from tape.runner.configurations import Configuration

DESK = "experiments/studies/general/desk.json"
CALLS = 60
"""Cap on the model's calls, of an episode; a reading from both sides takes a dozen small ones."""

_FORCED: dict[str, Any] = {"num_plans": 2, "resample": 0, "execution": "forced", "on_infeasible": "stop"}
"""Two plans, sampled once: more do not fit the caps. As by default for tools, planned actions are taken without a call,
and where no plan fits nothing is paid."""

_EXACT = {"proposer": "declared", "scorer": "declared"}
PLAYED = (PAPER.on(_FORCED), TAPE.on(_FORCED), REACT, REPLANNING)


class Ground(NamedTuple):
    """One environment.

    Attributes:
        setting: Its name in tables.
        environment: Its name.
        own: Options of the environment.
        tokens: Cap on the model's tokens, of an episode.
        most: Tasks at most.
        declared: What TAPE+ leaves to declarations, as `tape probe` advises for this model.
        fits: Which tasks are played.
    """

    setting: str
    environment: str
    own: Mapping[str, Any]
    tokens: int
    most: int = 30
    declared: Mapping[str, Any] = MappingProxyType({})
    fits: Callable[[Task], bool] = bool


def _three_days(task: Task) -> bool:
    return bool(task.facts["query"].days == 3)


GROUNDS = (
    Ground("desk: chains of tools", "tool_chains", {"data": DESK}, 8_000, 100, _EXACT),
    Ground(
        "copying house: chains of tools",
        "tool_chains",
        {"problems": "test", "count": 100, "tools": 20, "reader": "lm"},
        12_000,
        100,
        _EXACT,
    ),
    Ground(
        "trips of 3 days",
        "travelplanner",
        {"problems": "general", "count": 300, "tightness": "tight"},
        24_000,
        fits=_three_days,
    ),
)


def configurations(options: Options) -> list[Configuration]:
    """Every method on every ground: the same tasks, seeds and caps for all."""
    found = []
    for ground in GROUNDS:
        own = own_options(ground.environment, defaults=ground.own)
        fit = [task for task in tasks_of(ground.environment, own) if ground.fits(task)]
        tasks = spread(fit[: ground.most], options.limit)
        for method in PLAYED:
            played = _given(method, ground) if method.label == TAPE.label else method
            made = [
                configuration(
                    played, model, options, environment=ground.environment, own=own, setting=ground.setting, tasks=tasks
                )
                for model in options.models
            ]
            caps = {"calls": CALLS, "tokens": ground.tokens}
            found += [replace(one, spec=one.spec.model_copy(update={"budget": caps})) for one in made]
    return found


def _given(method: Method, ground: Ground) -> Method:
    return replace(method, changes={**method.changes, **ground.declared})


EXPERIMENT = Experiment(
    name="general_lm_grounds",
    module="experiments.studies.general.grounds",
    title="Where a general model of 135 million parameters is enough",
    source="none: the paper's models are hosted ones",
    about=(
        "SmolLM2-135M-Instruct as it was published. All agents get the same tasks, seeds and caps, the same readings "
        "of the requests, and in their prompts the same declarations: tools with types and prices, or options with "
        "prices. TAPE+ leaves to the declarations what the model is not good enough for, as `tape probe` advises: on "
        "chains of tools the exact planner makes the plans. On trips the model makes them for all."
    ),
    models=("smollm2",),
    configurations=configurations,
    sections=ends_and_spending,
    pairs=against(TAPE.label),
    batch=12,
)


if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
