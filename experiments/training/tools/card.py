"""Writes ``tape/lm/weights/MODEL_CARD_TOOLS.md`` from the shipped checkpoint's ``card.json``."""

from __future__ import annotations

from typing import Any

from envs.gsm_hard.templates import TEMPLATES
from experiments.training.tools.data import WORDS
from tape.lm.bundled import card, sizes, weights_folder

HEAD = """# The bundled tool model

A small language model trained from nothing for this project, so that agents with tools can be run and measured
offline. It is real and imperfect: it plans wrong programs, misjudges them and misreads passages. The recipe was fixed
before training but for one extension (below), and the last checkpoint of the run is what ships.

- **What it reads and writes**: the `tools` prompt format of `tape/tools/prompts/compact.py`: a task and what has been
  done, followed by one query (`<plan>`, `<act>`, `<score>`), or passages and `<read>`; one token per word. Numbers
  and names are slots (`n1`, `e1`): it never sees a digit of a number or a letter of a name.
- **Architecture**: Llama (rotary embeddings with theta 1000, SwiGLU, tied embeddings, {words} words), float16
  safetensors; computed in float32 on a CPU.
- **Data**: up to step 2200 half word problems of the project's own generator ({templates} templates of six wordings
  each; one wording of each template and {held} whole templates are never trained on, nor is the eighth of all texts
  that `envs.gsm_hard.generator.is_held_out` names), half multi-hop questions over small invented worlds and passages to
  read (one wording of each relation is never trained on, nor is the quarter of question texts that
  `envs.musique.corpus.is_held_out` names, from which all shipped questions come). Variants of tools are chosen for the
  best product of qualities under a random budget.
- **Training**: Muon on the matrices, AdamW on the rest, learning rate 4e-3, warm-up, hold, linear fall from 55 % of the
  steps on, 64 sequences a step, bfloat16 matrix products, one CPU thread
  (`python -m experiments.training.train --size tools --out DIR`). The run had finished at step 2200 with plans at .96
  and reading at .57 on its own training text, and was extended to step 3200 with mostly passages to read, from step
  2500 on with 8 to 12 questions to each (`experiments/training/tools/data.py`): its learning rate rose again to 2.8e-3
  and fell to nothing anew. What led to that was the accuracy of reading, and episodes of all agents on the development
  questions that were lost by misreading; no comparison between agents, and nothing of the test sets.
- **Not for**: anything else. It reads no sentence of the public GSM-Hard or MuSiQue files; asked to, it says
  `unsupported`. Some words occur only in held-out wordings, so their embeddings are as they were drawn.
- **Licence**: Apache-2.0, like the project.

| model | parameters | file | hidden x layers | steps | sequences | minutes, one busy core | last loss |
|---|---|---|---|---|---|---|---|
"""

TITLES = {
    "fresh": "Word problems: new texts of trained wordings",
    "wordings": "Word problems: held-out wordings of trained templates",
    "templates": "Word problems: held-out templates",
    "questions": "Multi-hop questions of the shipped corpus, and reading its passages",
}
NOTE = """
All roles are asked greedily, but for `score`: it judges up to four plans that the model itself has sampled at
temperature 0.7. A plan is right if it leads to the right answer with exact tools. The budgets of the plans are `tight`
and `loose` in turn. 95 % intervals are Wilson's.
"""


def row(name: str, facts: dict[str, Any]) -> str:
    """One line of the table of sizes."""
    arch, training = facts["architecture"], facts["training"]
    return (
        f"| `bundled:{name}` | {facts['parameters'] / 1e6:.2f} M | {facts['bytes'] / 1e6:.1f} MB "
        f"| {arch['hidden']} x {arch['layers']} | {arch['steps']} | {training['sequences']:,} "
        f"| {training['seconds'] / 60:.0f} | {training['loss']:.3f} |"
    )


def part_table(facts: dict[str, Any], part: str) -> list[str]:
    """Accuracy of every role along the ladder."""
    ladder = {step: found[part] for step, found in sorted(facts["ladder"].items(), key=lambda item: int(item[0]))}
    last = list(ladder.values())[-1]
    lines = ["| role | " + " | ".join(f"step {step}" for step in ladder) + " | 95 % interval | n |"]
    lines.append("|---" * (len(ladder) + 3) + "|")
    for role, found in last.items():
        cells = [f"{reports[role]['accuracy']:.3f}" if role in reports else "" for reports in ladder.values()]
        low, high = found["ci95"]
        lines.append(f"| {role} | {' | '.join(cells)} | {low:.3f} to {high:.3f} | {found['n']} |")
    return lines


def main() -> None:
    """Write the card."""
    held = sum(template.held_out for template in TEMPLATES)
    lines = [HEAD.format(words=len(WORDS), templates=len(TEMPLATES), held=held).rstrip()]
    cards = {name: card(name) for name in sizes("tools")}
    lines += [row(name, facts) for name, facts in cards.items()]
    for facts in cards.values():
        for part, title in TITLES.items():
            lines += ["", f"## {title}", "", *part_table(facts, part)]
    (weights_folder() / "MODEL_CARD_TOOLS.md").write_text("\n".join(lines) + "\n" + NOTE, encoding="utf-8")


if __name__ == "__main__":
    main()
