"""Writes ``tape/lm/weights/MODEL_CARD_SEARCH.md`` from the shipped checkpoints' ``card.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.training.search.code import HELD_OUT, TRAINED
from experiments.training.search.data import CONDITIONS, DOMAINS, MIXES, ROW, WORDS
from tape.lm.bundled import card, sizes, weights_folder

NAME = "search"
HEAD = """# The bundled search models

Small language models trained from nothing for this project, so that search agents can be played and measured offline.
They are real and imperfect: they overlook facts, point to the wrong sentence, give up early and answer wrongly. The
recipe and the checkpoints that ship were fixed before agents were compared.

- **What they read and write**: the `search` prompt format of `tape/cgdp/prompts/compact.py`: the question, a transcript
  or a belief, and one of the roles query (with notes and with a given open question), think, extract (structured and
  freeform), curate, answer. One token per word ({words} words); a word that is not in the vocabulary is a slot, so they
  never see a letter of a name. What they find they point to by its number, so quotes are verbatim. They judge no gates.
- **Architecture**: Llama (rotary embeddings with theta 1000, SwiGLU, tied embeddings), float16 safetensors; computed in
  float32 on a CPU. Trained on prompts up to 512 tokens; its window, an answer included, is 576.
- **Data**: searches that an expert who knows the gold facts has played with real BM25 retrieval: worlds of
  `envs/musique` (every last wording, and the quarter of questions that `envs.musique.corpus.is_held_out` names, are
  never trained on), conversations of `envs/locomo` of the part `train`, and questions of `envs/repo_qa` in trained
  wordings about these packages of Python's library:
  {trained}.
  A part of the questions has no answer. States are shown as a growing transcript, as the newest round alone, or as a
  belief of either form, some of them with facts missing, with facts that do not matter, or with stray queries; the
  label is what is right for someone who sees no more than that. Known words are slots now and then.
- **Policy**: the expert asks for the first fact that is missing, in another wording after each failure; it answers when
  the last fact is shown, and says `unanswerable` otherwise. Where earlier queries are not shown (a belief, the newest
  round alone) it cannot know that it has asked before.
- **Training**: Muon on the matrices, AdamW on the rest, learning rate 4e-3, warm-up, hold, linear fall from 55 % of the
  steps on, about {tokens:,} tokens a step, bfloat16 matrix products, one CPU thread
  (`python -m experiments.training.train --size search --out DIR`). It begins with `envs/musique` and `envs/repo_qa`;
  from step {second} on there are conversations too, states are shorter, and two of three answers `unanswerable` are
  left out; from step {third} on states are long again (`MIXES` in `experiments/training/search/data.py`).
  That answers are left out was decided at step {second}, after a look at the accuracies below at step 450 (12 a role).
- **The ladder**: `{name}` is the end of the run, the others are earlier checkpoints of it, for trends over weaker
  backbones.
- **Not for**: anything else. Texts of other kinds can be written, and are read badly.
- **Licence**: Apache-2.0, like the project.

| model | parameters | file | hidden x layers | steps | tokens | minutes, one busy core | last loss |
|---|---|---|---|---|---|---|---|
"""

NOTE = """
Everything is asked greedily, through the prompts, constraints and decoding loop of a run, in states that the expert has
played. Worlds and conversations are none that were trained on, nor any of the sets that agents are compared on; half of
the facts and questions of `musique`, and a part of those of the conversations, have wordings that training lacks; the
packages are {held}. `transcript` is a whole transcript as far as it fits, `newest` the newest round without its query,
`structured` and `freeform` are beliefs. A query brings what is missing if it is among the first five passages of BM25.
95 % intervals are Wilson's.
"""


def row(name: str, facts: Mapping[str, Any]) -> str:
    """One line of the table of checkpoints."""
    arch, training = facts["architecture"], facts["training"]
    tokens = arch["steps"] * facts["recipe"]["batch"] * ROW
    return (
        f"| `bundled:{name}` | {facts['parameters'] / 1e6:.2f} M | {facts['bytes'] / 1e6:.1f} MB "
        f"| {arch['hidden']} x {arch['layers']} | {arch['steps']} | {tokens / 1e6:.1f} M "
        f"| {training['seconds'] / 60:.0f} | {training['loss']:.3f} |"
    )


def table(ladders: Mapping[str, Mapping[str, Any]], part: str) -> list[str]:
    """Accuracy of every role along the ladder, by steps; the interval is the last one's."""
    last = ladders[max(ladders, key=int)][part]
    steps = sorted(ladders, key=int)
    lines = ["| role | " + " | ".join(f"step {step}" for step in steps) + " | 95 % interval | n |"]
    lines.append("|---" * (len(steps) + 3) + "|")
    for role, found in last.items():
        cells = [
            f"{ladders[step][part][role]['accuracy']:.3f}" if role in ladders[step][part] else "" for step in steps
        ]
        low, high = found["ci95"]
        lines.append(f"| {role} | {' | '.join(cells)} | {low:.3f} to {high:.3f} | {found['n']} |")
    return lines


def text(cards: Mapping[str, Mapping[str, Any]]) -> str:
    """The card.

    Args:
        cards: The machine-readable cards of the shipped checkpoints, by name.
    """
    last = cards[NAME]
    head = HEAD.format(
        words=len(WORDS),
        trained=", ".join(f"`{name}`" for name in TRAINED),
        tokens=last["recipe"]["batch"] * ROW,
        second=MIXES[1].start,
        third=MIXES[2].start,
        name=NAME,
    )
    lines = [head.rstrip()]
    lines += [row(name, facts) for name, facts in cards.items()]
    ladders = {str(facts["architecture"]["steps"]): facts["ladder"] for facts in cards.values()}
    ladders = {step: ladder[step] for step, ladder in ladders.items()}
    for domain in DOMAINS:
        for condition, _ in CONDITIONS:
            part = f"{domain}, {condition}"
            lines += ["", f"## {part}", "", *table(ladders, part)]
    return "\n".join(lines) + "\n" + NOTE.format(held=", ".join(f"`{name}`" for name in HELD_OUT))


def main() -> None:
    """Write the card."""
    cards = {name: card(name) for name in sizes("search")}
    (weights_folder() / "MODEL_CARD_SEARCH.md").write_text(text(cards), encoding="utf-8")


if __name__ == "__main__":
    main()
