"""Writes ``tape/lm/weights/MODEL_CARD_CHAINS.md`` from the shipped checkpoint's ``card.json``."""

from __future__ import annotations

from typing import Any

from experiments.training.chains.data import WORDS
from tape.lm.bundled import card, sizes, weights_folder

HEAD = """# The bundled reader of requests

A very small language model trained from nothing for this project: it reads what users ask for in `tool_chains`, so that
these episodes can be played with a real model, offline. Reading is all it does: plans come from the exact planner.

- **What it reads and writes**: the `chains` prompt format of `envs/tool_chains/compact.py`: a request, one token per
  word, then the type that it names. Words that it does not know are `<unk>`.
- **Architecture**: Llama (rotary embeddings with theta 1000, SwiGLU, tied embeddings, {words} words), {hidden} x
  {layers}, {parameters:.2f} M parameters, float16 safetensors; computed in float32 on a CPU.
- **Data**: requests and changes of mind by the environment's own words (`envs/tool_chains/data/words.json`): three
  wordings of each of twelve things and preferences in eight sentences. A quarter of all these texts, by their hash, is
  never trained on (`experiments/training/chains/data.py`). No wording is held out.
- **Training**: {steps} steps of {batch} requests, Muon on the matrices, AdamW on the rest, {seconds} s on one busy
  core, last loss {loss:.4f} (`python -m experiments.training.train --size chains --out DIR`). The recipe was fixed
  before training; the last checkpoint ships.
- **Not for**: anything else. A wording that is not in the list is guessed, a type of your own is refused.
- **Licence**: Apache-2.0, like the project.

| requests | right | 95 % interval | n |
|---|---|---|---|
"""


def text(facts: dict[str, Any]) -> str:
    """The card."""
    architecture, training = facts["architecture"], facts["training"]
    lines = [
        HEAD.format(
            words=len(WORDS),
            hidden=architecture["hidden"],
            layers=architecture["layers"],
            parameters=facts["parameters"] / 1e6,
            steps=architecture["steps"],
            batch=facts["recipe"]["batch"],
            seconds=training["seconds"],
            loss=training["loss"],
        ).rstrip()
    ]
    for part, found in facts["ladder"][str(architecture["steps"])].items():
        for name, counted in found.items():
            low, high = counted["ci95"]
            lines.append(f"| {part}, {name} | {counted['accuracy']:.3f} | {low:.3f} to {high:.3f} | {counted['n']} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the card."""
    [name] = sizes("chains")
    (weights_folder() / "MODEL_CARD_CHAINS.md").write_text(text(card(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
