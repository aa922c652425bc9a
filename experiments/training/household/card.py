"""Writes ``tape/lm/weights/MODEL_CARD_HOUSEHOLD.md`` from the shipped checkpoints' ``card.json``."""

from __future__ import annotations

from envs.alfworld.prompts.lexicon import WORDS
from experiments.training.tools.card import part_table, row
from tape.lm.bundled import card, sizes, weights_folder

HEAD = """# The bundled household models

Small language models trained from nothing for this project, so that household games can be played and measured offline.
They are real and imperfect: they forget to open things, predict outcomes that do not come, and expect things where they
are not. The recipe was fixed before training (but for its length, below), and what ships was decided before agents were
compared.

- **What they read and write**: the `household` prompt format of `envs/alfworld/prompts/lexicon.py`: what is known of
  the household, followed by one query: a plan, the next command, what a command changes, how many commands are left,
  where something is likely to be, whether a cabinet or drawer can be closed. One token per word; one for each
  receptacle. Only objects of the kinds that the goal names are written.
- **Architecture**: Llama (rotary embeddings with theta 1000, SwiGLU, tied embeddings, {words} words), float16
  safetensors; computed in float32 on a CPU.
- **Data**: moments of games in households of the project's own generator (`envs/alfworld/game/generator.py`), with
  everything seen or only a part; plans are the shortest by the rules of the game, and where something was not seen, the
  answer is what is really so. Up to step 600 small rooms only. None of the 120 shipped games occurs in it: all
  {sequences:,} households of the run were drawn again and compared by hash (`experiments/training/household/check.py`).
  The official games never occur either: the generator's numbers were chosen by common sense and not fitted to them.
- **Training**: Muon on the matrices, AdamW on the rest, learning rate 4e-3, warm-up, hold, linear fall, 64 sequences a
  step, bfloat16 matrix products, one busy CPU thread
  (`python -m experiments.training.train --size household --out DIR`).
{length}
- **The ladder**: `household` is the end of the run, the others are earlier checkpoints of it, for comparisons across
  backbones.
- **Not for**: anything else, and no game with kinds of objects or receptacles that the vocabulary lacks: asked to, they
  say `unsupported`.
- **Licence**: Apache-2.0, like the project.

| model | parameters | file | hidden x layers | steps | sequences | minutes, one busy core | last loss |
|---|---|---|---|---|---|---|---|
"""

LENGTH = """  The run was begun for 1,900 steps and shortened to {steps:,} at step 1,000 for want of time, before
  anything was compared: up to there the learning rate was held, from there it fell to nothing."""

TITLES = {
    "homes": "Fresh households, up to the largest",
    "given": "36 official games (valid_unseen), by the rules of the game",
}
NOTE = """
All roles are asked greedily. A plan wins if carrying it out by the rules of the game reaches the goal; a command is a
step nearer if fewer are left after it. `likely place` has beside it the best guess that the generator's own numbers
allow. 95 % intervals are Wilson's.
"""


def main() -> None:
    """Write the card."""
    cards = {name: card(name) for name in sizes("household")}
    last = cards["household"]
    length = LENGTH.format(steps=last["recipe"]["steps"])
    sequences = last["training"]["sequences"]
    lines = [HEAD.format(words=len(WORDS), sequences=sequences, length=length).rstrip()]
    lines += [row(name, facts) for name, facts in cards.items()]
    for part, title in TITLES.items():
        if part in next(iter(last["ladder"].values())):
            lines += ["", f"## {title}", "", *part_table(last, part)]
    (weights_folder() / "MODEL_CARD_HOUSEHOLD.md").write_text("\n".join(lines) + "\n" + NOTE, encoding="utf-8")


if __name__ == "__main__":
    main()
