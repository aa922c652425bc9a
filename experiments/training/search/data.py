"""Training text of the bundled search model: states of searches, and every role asked of them.

A batch is a function of the seed and its number. Half of the asked roles are asked on transcripts, half on beliefs
(:mod:`experiments.training.search.states`). Words are slots now and then although they are known, so that the model
learns to match words that it has never seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from experiments.training.packing import EOS, PAD, ROW, Batch, Sequence, collate
from experiments.training.search import code, dialogues, musique
from experiments.training.search.labels import Case, Label
from experiments.training.search.states import belief_case, newest_case, transcript_case
from experiments.training.search.task import PLAIN, Task
from tape.cgdp.prompts.compact import model_words
from tape.cgdp.prompts.lexicon import Lexicon, vocabulary

WORDS = list(dict.fromkeys((PAD, EOS, *model_words())))
ID = {word: i for i, word in enumerate(WORDS)}
MARK = {True: ID["found"], False: ID["none"]}
"""After the tag of each sentence of a state the model is taught whether it matters; no request asks for that."""

WINDOW = 576
"""Most tokens of a prompt of 512 and its answer."""
DEPTHS = (3, 3, 5, 5, 10)
CONDITIONS = {"transcript": 0.22, "newest": 0.16, "structured": 0.31, "freeform": 0.31}
MOSTLY_TRANSCRIPTS = {"transcript": 0.6, "newest": 0.1, "structured": 0.15, "freeform": 0.15}
HOPPING = {"transcript": 0.64, "newest": 0.12, "structured": 0.12, "freeform": 0.12}
BALANCED = {"transcript": 0.4, "newest": 0.12, "structured": 0.24, "freeform": 0.24}

DOMAINS: Mapping[str, Callable[[random.Random], list[Task]]] = {
    "musique": musique.draw,
    "code": code.draw,
    "dialogues": dialogues.draw,
}
"""Each draws questions over one corpus."""


@dataclass(frozen=True)
class Mix:
    """What batches are made of from some step on.

    Attributes:
        start: The step.
        shares: Of the domains.
        windows: Most tokens of the states of a batch, and how often.
        unanswerable: Share of the answers "unanswerable" that are kept: most states of a search hold no answer yet.
        conditions: Shares of what is shown.
        long: Whether transcripts go on before and after their evidence, so that it stands anywhere.
    """

    start: int
    shares: Mapping[str, float]
    windows: Mapping[int, float]
    unanswerable: float = 0.35
    conditions: Mapping[str, float] = field(default_factory=lambda: CONDITIONS)
    long: bool = False


EVERY = {"musique": 0.35, "code": 0.28, "dialogues": 0.37}
LONG = {128: 0.2, 192: 0.25, 256: 0.2, 384: 0.2, 512: 0.15}
LONGER = {128: 0.05, 192: 0.15, 256: 0.35, 384: 0.2, 512: 0.25}
SHORT = {96: 0.35, 144: 0.3, 208: 0.2, 320: 0.1, 512: 0.05}
MIXES = (
    Mix(0, {"musique": 0.6, "code": 0.4}, LONG, 1.0),
    Mix(500, EVERY, SHORT),
    Mix(1350, EVERY, LONG),
    Mix(1800, EVERY, LONGER, 0.35, MOSTLY_TRANSCRIPTS, True),
    Mix(2120, {"musique": 0.5, "code": 0.15, "dialogues": 0.35}, LONGER, 0.35, MOSTLY_TRANSCRIPTS, True),
    Mix(2520, {"musique": 0.45, "code": 0.2, "dialogues": 0.35}, LONGER, 0.35, BALANCED, True),
    Mix(3000, {"musique": 0.6, "code": 0.12, "dialogues": 0.28}, LONGER, 0.25, HOPPING, True),
)
"""In the order of their starts."""


def draw_lexicon(rng: random.Random) -> Lexicon:
    """Which words are plain: now and then some that are known become slots."""
    share = rng.choice((0.0, 0.0, 0.0, 0.04, 0.12))
    return Lexicon(
        frozenset(word for word in vocabulary() if not share or word in PLAIN or rng.random() >= share).__contains__
    )


def draw_case(
    rng: random.Random, task: Task, window: int, condition: str, lexicon: Lexicon, *, long: bool = False
) -> Case | None:
    """A state of a search for a task, of a memory condition; ``long`` as in :class:`Mix`."""
    depth = rng.choice(DEPTHS)
    if condition == "transcript":
        return transcript_case(rng, task, window, depth, lexicon, long=long)
    if condition == "newest":
        return newest_case(rng, task, window, depth, lexicon)
    assert condition in ("structured", "freeform")
    return belief_case(rng, task, window, depth, lexicon, "structured" if condition == "structured" else "freeform")


def cases(rng: random.Random, tokens: int, mix: Mix) -> list[Case]:
    """States of one window for one batch of so many tokens.

    Args:
        rng: Source of randomness.
        tokens: How many.
        mix: What they are made of.
    """
    window = rng.choices(list(mix.windows), list(mix.windows.values()))[0]
    found: list[Case] = []
    used = 0
    while used < tokens:
        domain = rng.choices(list(mix.shares), list(mix.shares.values()))[0]
        for task in DOMAINS[domain](rng):
            condition = rng.choices(list(mix.conditions), list(mix.conditions.values()))[0]
            case = draw_case(rng, task, window, condition, draw_lexicon(rng), long=mix.long)
            if case is not None and mix.unanswerable < 1:
                case.labels = [label for label in case.labels if _is_kept(rng, label, mix)]
            if case is not None and case.labels:
                found.append(case)
                used += length(case)
            if used >= tokens:
                break
    return found


def _is_kept(rng: random.Random, label: Label, mix: Mix) -> bool:
    return label.reply[0] != "unanswerable" or rng.random() < mix.unanswerable


def length(case: Case) -> int:
    """Tokens of a case in a batch."""
    return len(case.words) + sum(len(label.prompt) + len(label.reply) for label in case.labels)


def sequence(case: Case) -> Sequence:
    """A case as a sequence; a role sees its own tokens and the state as far as it is shown."""
    row = Sequence(ID)
    row.prefix(case.words)
    for place, matters in case.marks.items():
        row.label[place] = MARK[matters]
    for asked in case.labels:
        row.query(asked.prompt, asked.reply, upto=asked.upto)
    return row


def batch(seed: int, _size: str, count: int, index: int) -> Batch:
    """A batch of about ``count`` rows of :data:`ROW` tokens, see :class:`experiments.training.families.Family`."""
    mix = [mix for mix in MIXES if mix.start <= index][-1]
    found = cases(random.Random(f"search-lm-data:{seed}:{index}"), count * ROW, mix)
    return collate([sequence(case) for case in found], ID[PAD], max(ROW, *map(length, found)))
