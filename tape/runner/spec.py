"""The specification of a run: everything that determines its episodes, their keys, and the hash of the sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import platform
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

import solvers
import tape
from tape.budget import Budget
from tape.budget.resources import MOST
from tape.engine.settings import TapeConfig
from tape.plugins import load
from tape.protocols import Task
from tape.seeds import derive

MOST_SEED = 2**63 - 1
MOST_REPEATS = 100_000
MOST_BATCH = 100_000

PARTS = {"world_model": "world model"}
"""Names of settings in labels, if they differ from the settings' own."""

SUFFIXES = {".py", ".hpp", ".cpp"}


def source_digest(specs: Iterable[RunSpec] = ()) -> str:
    """A hash of the sources that episodes of these configurations depend on; independent of the installation."""
    named = sorted({("tape.environments", s.environment) for s in specs} | {("tape.agents", s.agent) for s in specs})
    return _digest(tuple(named))


@lru_cache(maxsize=64)
def _digest(named: tuple[tuple[str, str], ...]) -> str:
    whole = hashlib.sha256()
    folders = [Path(solvers.__path__[0]), Path(tape.__path__[0])]
    for group, name in named:
        plugin = load(group, name)
        file = Path(inspect.getfile(plugin if inspect.isclass(plugin) else type(plugin)))
        # An environment may be built on further packages, which it names.
        packages = plugin.built_on if group == "tape.environments" else ()
        others = [Path(import_module(package).__path__[0]) for package in packages]
        own = file.parent if (file.parent / "__init__.py").is_file() else file  # a module of its own, wherever it lies
        for place in [own, *others]:
            if not any(place.is_relative_to(folder) for folder in folders):
                folders.append(place)
    for folder in folders:
        for file in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if file.suffix in SUFFIXES:
                name = f"{folder.name}/{file.relative_to(folder).as_posix()}"
                whole.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


PACKAGES = ("tape-planner", "torch", "transformers", "outlines", "llguidance", "networkx", "pulp", "ortools", "numpy")
"""The packages whose versions are recorded with a run."""


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
        batch: Episodes that are played side by side (it shapes batches, so it is part of the run).
        auto_roles: The reasons of ``--auto-roles``, by the setting that takes a role from the model; the settings are
            in ``config``.
        prompt_version: Of the environment's prompts in the format that the model reads
            (:func:`tape.protocols.prompt_version`).
        tasks_digest: Hash of all tasks, filled in by the runner: a changed level file makes another run.

    Examples:
        >>> from tape import Budget, TapeConfig
        >>> from tape.protocols import Task
        >>> from tape.runner.spec import RunSpec
        >>> spec = RunSpec(
        ...     environment="sokoban", agent="tape", config=TapeConfig(num_plans=4), model="bundled:mini",
        ...     model_identity="bundled:mini", budget={"steps": 10}, repeats=3,
        ... )
        >>> task = Task("two boxes", "easy", Budget.of(steps=12), digest="5f2c")
        >>> dict(spec.caps(task)), spec.episode_key(task, 0) == spec.episode_key(task, 1)
        ({'steps': 10}, False)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str
    options: dict[str, Any] = Field(default_factory=dict)
    agent: str
    config: TapeConfig
    model: str
    model_identity: str
    budget: dict[str, Annotated[int, Field(ge=0, le=MOST)]] = Field(default_factory=dict)
    seed: int = Field(default=0, ge=-MOST_SEED, le=MOST_SEED)
    repeats: int = Field(default=1, ge=1, le=MOST_REPEATS)
    batch: int = Field(default=8, ge=1, le=MOST_BATCH)
    auto_roles: dict[str, str] = Field(default_factory=dict)
    prompt_version: str = ""
    tasks_digest: str = ""

    def episode_key(self, task: Task, repeat: int) -> str:
        """Hash of everything that determines one episode."""
        left_out = {"repeats", "options", "tasks_digest", "auto_roles"}
        parts = self.model_dump(exclude=left_out)
        parts |= {"task": task.id, "digest": task.digest, "caps": dict(self.caps(task)), "repeat": repeat}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def episode_seed(self, task: Task, repeat: int) -> int:
        """A seed that is the same for every agent, model and switch, so that comparisons are paired."""
        return derive(self.seed, "episode", task.digest, repeat)

    def caps(self, task: Task) -> Budget:
        """The task's budget and the run's; the tighter cap of each kind."""
        return task.budget | Budget(self.budget)

    def label(self) -> str:
        """The agent's name for tables, with a simulator or dry run and the roles that ``--auto-roles`` has set."""
        given = {name: f"{getattr(self.config, name)} {PARTS.get(name, name)}" for name in self.auto_roles}
        if self.config.world_model == "simulator":
            given["world_model"] = "simulator world model"
        if self.config.world_model == "copy":
            given["world_model"] = "dry run"
        return self.agent + (f" [{', '.join(given[name] for name in sorted(given))}]" if given else "")


def digest_of(tasks: Sequence[Task]) -> str:
    """A hash of the content of tasks, in order."""
    content = json.dumps([[task.id, task.digest, dict(task.budget)] for task in tasks])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def versions(specs: Iterable[RunSpec] = ()) -> dict[str, str]:
    """The versions that episodes depend on: packages, and a hash of the sources of these configurations."""
    texts = {"python": platform.python_version(), "machine": platform.machine(), "sources": source_digest(specs)}
    for package in PACKAGES:
        try:
            texts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            texts[package] = "missing"
    return texts
