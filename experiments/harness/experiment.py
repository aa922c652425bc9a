"""What an experiment is: a matrix to play, and the sections of its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.harness.document import Section
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured
from tape.runner.configurations import Configuration

OTHER_LM = (
    "The model here is a network of a few million parameters, trained on Sokoban alone and run offline; the paper's "
    "are hosted general LMs. How high a method gets is therefore not comparable, only the order and the differences "
    "are."
)


@dataclass(frozen=True)
class PaperValue:
    """A number of the paper and the configurations of ours that it is closest to.

    Attributes:
        what: What the paper measured.
        value: As the paper gives it.
        setting: Our setting, or nothing if there is no counterpart.
        method: Our method.
    """

    what: str
    value: str
    setting: str = ""
    method: str = ""


DROP = PaperValue("relative drop from easy to hard, mean of four tasks: TAPE, Plan-and-Act, ReAct", "28 %, 52 %, 55 %")
"""What figure 3 comes to."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper, played with the bundled models.

    Attributes:
        name: Of the run directory and in tables.
        module: Where it is; ``python -m MODULE`` plays it.
        title: Heading of its report.
        source: Where the paper has it.
        about: What is compared, in a sentence or two.
        models: Played by default.
        configurations: Makes the configurations.
        sections: Tables and figures of what was measured.
        pairs: (setting, model, ours, against) for the paired differences.
        paper: The paper's numbers.
        differs: Why the numbers need not agree: what is not the same here.
        seeds: Episodes per task by default.
        batch: Episodes played together by default.
        arguments: What its command needs beside the module's name.
    """

    name: str
    module: str
    title: str
    source: str
    about: str
    models: tuple[str, ...]
    configurations: Callable[[Options], list[Configuration]]
    sections: Callable[[Measured], list[Section]]
    pairs: Callable[[Measured], list[tuple[str, str, str, str]]]
    paper: tuple[PaperValue, ...] = ()
    differs: tuple[str, ...] = ()
    seeds: int = 1
    batch: int = 8
    arguments: str = ""

    @property
    def command(self) -> str:
        """The command that makes its report."""
        return f"python -m {self.module} {self.arguments}".rstrip()
