"""What an experiment is: cells to play, and the sections of its report; and how a Sokoban cell is made.

A cell is named ``SETTING / MODEL / METHOD``: the report finds its way by these three parts alone, so it can be
rebuilt from a run directory.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tape.agents.base import Agent
from tape.engine.settings import TapeConfig
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task
from tape.runner.cells import Cell
from tape.runner.spec import RunSpec

if TYPE_CHECKING:
    from experiments.harness.measured import Measured
    from tape.show.document import Section

SEPARATOR = " / "
SLACK = 2
OTHER_LM = (
    "The model here is a network of a few million parameters, trained on Sokoban alone and run offline; the paper's "
    "are hosted general LMs. How high a method gets is therefore not comparable, only the order and the differences "
    "are."
)
OTHER_LEVELS = (
    "The levels are ours (7 x 9, one box, the paper's optimal lengths: easy T* = 6, hard T* = 10), and so are prompts "
    "and formats; the rules of the comparison are the paper's: at most T* + 2 moves, temperature 0.3, M = 4."
)
LADDER = tuple(f"bundled:{size}" for size in ("nano-750", "nano-1500", "nano-3000", "nano", "mini", "base"))
"""The bundled models, the weakest first."""

PAPER = ("sokoban", "models", "num_plans", "ablation", "errors", "best_of_n", "slack", "tradeoff")
"""The experiments of the paper."""

NAMES = (*PAPER, "headline", "development")
"""The experiments; each is ``experiments/NAME.py`` with an ``EXPERIMENT``. A new one is a file and a name here."""


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes:
        label: Its name in tables and plots.
        agent: Name of the agent.
        changes: Fields of ``TapeConfig`` that differ from the defaults.
    """

    label: str
    agent: str
    changes: Mapping[str, Any] = field(default_factory=dict)


TAPE = Method("TAPE (LM world model)", "tape")
SIMULATOR = Method("TAPE (simulator): upper bound", "tape", {"world_model": "simulator"})
REACT = Method("ReAct", "react")
PLAN_AND_ACT = Method("Plan-and-Act", "plan_and_act")
REPLANNING = Method("Plan-and-Act, replanning", "plan_and_act_replan")
BEST_REACT = Method("Best-of-4 ReAct", "best_of_n_react")
BEST_PLAN_AND_ACT = Method("Best-of-4 Plan-and-Act", "best_of_n_plan_and_act")
OPEN_LOOP = Method("open-loop plan", "open_loop")
ALL_STEP = Method("TAPE, replanning at every step", "tape_all_step")
BASELINES = (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, BEST_PLAN_AND_ACT)
EVERYTHING = (*BASELINES, TAPE, ALL_STEP, SIMULATOR)


@lru_cache(maxsize=64)
def identity(model: str, prices: Path | None = None) -> str:
    """A model's name, checksum and listed price; loads it once.

    Args:
        model: The model's string.
        prices: A price file of the user's own.

    Raises:
        UnknownNameError: There is no such model.
    """
    from tape.runner.models import open_at_price

    return open_at_price(model, prices=prices).identity


@dataclass(frozen=True)
class Options:
    """What the command line decides.

    Attributes:
        limit: Only the first levels of every set.
        seeds: Episodes per level, each with its own derived seed.
        seed: The root of all seeds.
        models: Models; an experiment has its own defaults.
        identify: Gives a model's identity.
    """

    seeds: int
    models: tuple[str, ...]
    limit: int | None = None
    seed: int = 0
    identify: Callable[[str], str] = identity


@dataclass(frozen=True)
class PaperValue:
    """A number of the paper and the cells of ours that it is closest to.

    Attributes:
        what: What the paper measured.
        value: As the paper gives it.
        setting: Our setting, or nothing where there is no counterpart.
        method: Our method.
    """

    what: str
    value: str
    setting: str = ""
    method: str = ""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper, played with the bundled models.

    Attributes:
        name: Of the module and of the run directory.
        title: Heading of its report.
        source: Where the paper has it.
        about: What is compared, in a sentence or two.
        models: Played by default.
        cells: Makes the cells.
        sections: Tables and figures of what was measured.
        pairs: (setting, model, ours, against) for the paired differences.
        paper: The paper's numbers.
        differs: Why the numbers need not agree: what is not the same here.
        seeds: Episodes per level by default.
        arguments: What its command needs beside the module's name.
    """

    name: str
    title: str
    source: str
    about: str
    models: tuple[str, ...]
    cells: Callable[[Options], list[Cell]]
    sections: Callable[[Measured], list[Section]]
    pairs: Callable[[Measured], list[tuple[str, str, str, str]]]
    paper: tuple[PaperValue, ...] = ()
    differs: tuple[str, ...] = ()
    seeds: int = 10
    arguments: str = ""

    @property
    def command(self) -> str:
        """The command that makes its report."""
        module = self.name.partition("-")[0]
        return f"python -m experiments.{module} {self.arguments}".rstrip()


def find(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        KeyError: There is none.
    """
    if name not in NAMES:
        raise KeyError(f"there is no experiment {name!r}; there is: {', '.join(NAMES)}")
    found: Experiment = importlib.import_module(f"experiments.{name}").EXPERIMENT
    return found


def sokoban_cell(
    method: Method, model: str, options: Options, *, levels: str, slack: int = SLACK, setting: str = ""
) -> Cell:
    """One method with one model on one level set: the same levels, budget and seeds for all methods.

    Args:
        method: The agent and its switches.
        model: The model's string.
        options: Seeds and limits.
        levels: Name of a level set.
        slack: Moves beyond the shortest solution.
        setting: First part of the cell's name; the level set by default.
    """
    spec = RunSpec(
        environment="sokoban",
        options={"levels": levels, "slack": slack, "limit": options.limit},
        agent=method.agent,
        config=TapeConfig.make(**method.changes),
        model=model,
        model_identity=options.identify(model),
        seed=options.seed,
        repeats=options.seeds,
        prompt_version=plugin().prompt_version,
    )
    name = SEPARATOR.join([setting or levels, short(model), method.label])
    return Cell(name, spec, sokoban_tasks(levels, slack)[: options.limit])


def grid(methods: Sequence[Method], settings: Sequence[str], options: Options, slack: int = SLACK) -> list[Cell]:
    """Every method with every model on every level set; cells of one model and level set follow each other."""
    return [
        sokoban_cell(method, model, options, levels=levels, slack=slack)
        for model in options.models
        for levels in settings
        for method in methods
    ]


def short(model: str) -> str:
    """A model's name in tables."""
    return model.removeprefix("bundled:")


def split(cell: str) -> tuple[str, str, str]:
    """Setting, model and method of a cell's name."""
    setting, model, method = cell.split(SEPARATOR, 2)
    return setting, model, method


def plugin() -> EnvironmentPlugin:
    """The environment."""
    found: EnvironmentPlugin = load("tape.environments", "sokoban")
    return found


def agent_class(name: str) -> type[Agent]:
    """An agent's class."""
    found: type[Agent] = load("tape.agents", name)
    return found


@lru_cache(maxsize=64)
def sokoban_tasks(levels: str, slack: int) -> tuple[Task, ...]:
    """All tasks of a level set."""
    return tuple(plugin().tasks({"levels": levels, "slack": slack}))


def most_calls(cell: Cell, task: Task) -> int | None:
    """An upper bound on the LM requests of one episode of a cell; None where its agent knows none."""
    steps = cell.spec.caps(task)["steps"]
    # A plan in the bundled models' grammar never has more moves than steps remain.
    bound = agent_class(cell.spec.agent).most_lm_calls(cell.spec.config, int(steps), int(steps))
    environment: EnvironmentPlugin = load("tape.environments", cell.spec.environment)
    return None if bound is None else bound + environment.reads * (int(steps) + 1)
