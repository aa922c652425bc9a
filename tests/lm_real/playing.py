"""Playing a few episodes as `tape run` does, with a model that is open already."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.plugins import load
from tape.protocols import prompt_version
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.runner import Runner
from tape.runner.spec import RunSpec
from tape.runner.workers import InProcess
from tests.lm_real.judged import Judged

CAPS = {"calls": 8, "tokens": 12_000}
"""Of an episode, beside its own: enough for a plan, its prediction and a step or more; some episodes end by them."""


def play(
    folder: Path, model: Judged, environment: str, agent: str = "tape", *, episodes: int = 1, seed: int = 0
) -> list[Mapping[str, Any]]:
    """The lines of the first tasks of an environment, played together."""
    plugin = load("tape.environments", environment)
    parser = argparse.ArgumentParser()
    plugin.add_arguments(parser)
    options = vars(parser.parse_args([]))
    methods = {name: {} for name in load("tape.agents", agent).methods}
    spec = RunSpec(
        environment=environment, options=options, agent=agent,
        config=TapeConfig.make(num_plans=2, ablations={"resample": 0}, max_replans=1, **methods), model=model.name,
        model_identity=model.identity, budget=dict(Budget(CAPS)), seed=seed,
        prompt_version=prompt_version(plugin, model.prompt_format),
    )  # fmt: skip
    directory = RunDirectory(folder)
    tasks = tuple(plugin.tasks(options)[:episodes])
    Runner([Configuration(spec.label(), spec, tasks)], directory, InProcess(lambda _: model)).run()
    return [*directory.episodes()]


def require_sound(lines: list[Mapping[str, Any]], model: Judged) -> None:
    """No fault, no cap exceeded, and no answer that breaks its constraint."""
    assert lines
    for line in lines:
        result = line["result"]
        assert not result["end_state"].endswith("_error"), result["detail"]
        assert result["budget_violations"] == []
        assert result["broken_declarations"] == {}
        assert all(result["used"].get(kind, 0) <= cap for kind, cap in result["budget"].items())
    assert model.wrong == []
    assert sum(model.counts.values()) > 0, "the model was asked for nothing"
