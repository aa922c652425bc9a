"""The families of bundled models: which words they know and what they are trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from envs.alfworld.prompts import lexicon as household
from experiments.training.alfworld import data as household_lm_data
from experiments.training.chains import data as chains_lm_data
from experiments.training.packing import Batch
from experiments.training.sokoban import data as lm_data


@dataclass(frozen=True)
class Family:
    """One vocabulary and one stream of training text.

    Attributes:
        words: The vocabulary; the position is the id.
        batch: Of seed, size of the model, number of sequences and number of the batch: a function of these alone, so
            that training can resume.
        window: Most tokens of a prompt and its answer.
        actions: Ids of the words among which a target may be spread evenly.
        space: Where the space of a token stands, see :func:`experiments.training.tokenizer.build`.
        prompt_format: In which its prompts are written.
        about: The line in ``tape models``.
    """

    words: list[str]
    batch: Callable[[int, str, int, int], Batch]
    window: int
    actions: list[int]
    space: Literal["before", "after"]
    prompt_format: str
    about: str


SOKOBAN = Family(lm_data.WORDS, lm_data.batch, 256, lm_data.ACTION_IDS, "before", "compact", "Sokoban")

HOUSEHOLD = Family(
    list(household.WORDS), household_lm_data.batch, 512, [], "after", "household", "household tasks (ALFWorld)"
)

CHAINS = Family(chains_lm_data.WORDS, chains_lm_data.batch, 256, [], "after", "chains", "requests of tool_chains")


def family_of(size: str) -> Family:
    """The family of a size of :data:`experiments.training.train.SIZES`."""
    return {"household": HOUSEHOLD, "chains": CHAINS}.get(size, SOKOBAN)
