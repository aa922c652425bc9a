"""What a run is: everything that determines its episodes, and the keys made from it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tape.budget import Budget
from tape.config import AgentConfig
from tape.protocols import Task
from tape.runner.sources import source_digest
from tape.seeds import derive

PACKAGES = ("tape-agents", "torch", "transformers", "outlines", "outlines_core", "networkx", "pulp", "ortools", "numpy")

LATER = {
    "on_limit": "stop",
    "reselect": True,
    "no_repeat": False,
    "verify": "none",
    "hypotheses": 4,
    "gate": "thresholds",
    "commit": "grounded",
    "margin": 0.4,
    "uncertainty": 0.2,
    "query_budget": None,
    "ensemble": 8,
    "calibration": "",
    "learned_rules": "",
    "proposer": "lm",
    "bridges": False,
    "chain": "walk",
    "attempts": None,
    "target_replans": None,
    "step_cap": None,
    "strict_algorithm1": False,
    "cascade": True,
    "validation": "environment",
}
"""Switches that are younger than some runs: at these values an episode's key is what it was without them."""


class RunSpec(BaseModel):
    """The resolved configuration of a run.

    Attributes:
        environment: Name of the environment.
        options: The environment's own options.
        agent: Name of the agent.
        config: The agent's switches.
        model: The model's string.
        model_identity: Name and checksum of the model.
        budget: Hard caps beside the tasks' own, in counts.
        seed: The root seed.
        repeats: Episodes per task.
        cohort: Episodes that advance in lock-step (it shapes batches, so it is part of the run).
        prompt_version: Of the environment's prompts.
        tasks_digest: Hash of all tasks, filled in by the runner: a level file that has changed makes
            another run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str
    options: dict[str, Any] = Field(default_factory=dict)
    agent: str
    config: AgentConfig
    model: str
    model_identity: str
    budget: dict[str, int] = Field(default_factory=dict)
    seed: int = 0
    repeats: int = Field(default=1, ge=1)
    cohort: int = Field(default=8, ge=1)
    prompt_version: str = ""
    tasks_digest: str = ""

    def episode_key(self, task: Task, repeat: int) -> str:
        """Hash of everything that determines one episode."""
        parts = self.model_dump(exclude={"repeats", "options", "tasks_digest"})
        for name, default in LATER.items():
            if parts["config"][name] == default:
                del parts["config"][name]
        parts |= {"task": task.id, "digest": task.digest, "caps": dict(self.caps(task)), "repeat": repeat}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def episode_seed(self, task: Task, repeat: int) -> int:
        """The same for every agent, model and switch, so that comparisons are paired."""
        return derive(self.seed, "episode", task.digest, repeat)

    def caps(self, task: Task) -> Budget:
        """The task's budget and the run's; the tighter cap of each kind."""
        return task.budget | Budget(self.budget)

    def label(self) -> str:
        """The agent's name for tables; a simulator's help is always said."""
        return self.agent + (" [simulator world model]" if self.config.world_model == "simulator" else "")


def digest_of(tasks: Sequence[Task]) -> str:
    """A hash of the content of tasks, in order."""
    content = json.dumps([[task.id, task.digest, dict(task.budget)] for task in tasks])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def versions(specs: Iterable[RunSpec] = ()) -> dict[str, str]:
    """Versions of what episodes depend on: packages, and a hash of the sources behind these configurations."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "sources": source_digest(specs)}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found
