"""Writes ``tape/lm/weights/MODEL_CARD.md`` from the shipped checkpoints' ``card.json`` files."""

from __future__ import annotations

from typing import Any

from experiments.training.sokoban.data import MIXES
from tape.lm.bundled import card, sizes, weights_folder

HEAD = """# The bundled Sokoban models

Small language models trained from nothing for this project, so that everything can be run and measured offline.
They are real and imperfect: they mispredict, mis-score and mis-plan. Recipes were fixed before training (`base` was
extended once, see below) and the last checkpoint of each run is what ships; no agent's results took part in any choice.

- **What they read and write**: the `compact` prompt format of `envs/sokoban/prompts/compact_text.py`: a state followed
  by one query (`<plan>`, `<act>`, `<next>`, `<score>`, `<left>`), one token per word. Boards from 5x5 to 10x10.
- **Architecture**: Llama (rotary embeddings with theta 1000, SwiGLU, tied embeddings, 226 words), float16 safetensors;
  computed in float32 on a CPU.
- **Data**: states of random boards from our own generator, answers from our own simulator and exact cost-to-go tables
  (`experiments/training/sokoban/data.py`). A sequence is one state and several queries; each sees the state and
  itself. A plan step's target is spread evenly over all optimal actions. Half of the states stand beside an inner wall
  and blocked moves are asked about four times as often as free ones. Boards whose walls and goals hash to the held-out
  sixteenth (`envs.sokoban.state.is_held_out`, equal under mirroring and rotation) are never trained on; all shipped
  level sets and all generated evaluation levels come from that sixteenth.
- **Training**: Muon on the matrices, AdamW on the rest, learning rate 4e-3, warm-up, hold, linear fall from 55 % of the
  steps on, 64 sequences a step, bfloat16 matrix products, one CPU thread
  (`python -m experiments.training.train --size SIZE --out DIR`). `base` had finished at step 6500, behind `mini` on 7x9
  boards with one box, and was extended to 9000 steps (the same command with `--steps 9000`): its learning rate rose
  again to 2.5e-3 and fell to nothing anew. Held-out accuracies alone led to that, before `base` had played an episode.
- **Not for**: anything but Sokoban as written above. More than two boxes, or boards made mostly of walls, were never
  seen in training.
- **Licence**: Apache-2.0, like the project.

## Sizes

`nano`, `mini` and `base` are the ends of their training runs. `nano-STEP` are earlier checkpoints of `nano`, for
comparisons along ability: they make the mistakes that the larger ones no longer make on these boards.

| model | parameters | file | hidden x layers | steps | sequences | minutes, one busy core | last loss | boards seen |
|---|---|---|---|---|---|---|---|---|
"""


def size_row(name: str, facts: dict[str, Any]) -> str:
    """One line of the table of sizes."""
    arch, training = facts["architecture"], facts["training"]
    mix = "; ".join(
        f"{kind.share:.0%} {kind.boxes} box{'es' if kind.boxes > 1 else ''} "
        + ("7x9" if kind.rows == (7, 7) else f"{kind.rows[0]}x{kind.cols[0]} to {kind.rows[1]}x{kind.cols[1]}")
        for kind in MIXES[facts["recipe"]["size"]]
    )
    return (
        f"| `bundled:{name}` | {facts['parameters'] / 1e6:.2f} M | {facts['bytes'] / 1e6:.1f} MB "
        f"| {arch['hidden']} x {arch['layers']} | {arch['steps']} | {training['sequences']:,} "
        f"| {training['seconds'] / 60:.0f} | {training['loss']:.3f} | {mix} |"
    )


def ladder_table(facts: dict[str, Any]) -> list[str]:
    """Accuracy of every role along the ladder, on 7x9 boards with one box."""
    ladder = facts["ladder"]
    steps = sorted(ladder, key=int)
    reports = {step: ladder[step]["7x9, one box"] for step in steps}
    roles = list(reports[steps[-1]])
    lines = ["| role, greedy | " + " | ".join(f"step {s}" for s in steps) + " | n |", "|---" * (len(steps) + 2) + "|"]
    for role in roles:
        cells = [f"{reports[s][role]['accuracy']:.3f}" if role in reports[s] else "" for s in steps]
        lines.append(f"| {role} | " + " | ".join(cells) + f" | {reports[steps[-1]][role]['n']} |")
    return lines


def kinds_table(facts: dict[str, Any]) -> list[str]:
    """Accuracy of the shipped checkpoint on other boards."""
    last = facts["ladder"][str(facts["architecture"]["steps"])]
    kinds = [kind for kind in last if kind != "7x9, one box"]
    roles = [role for role in last["7x9, one box"] if not role.startswith("plan, shortest")]
    lines = ["| role, greedy | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for role in roles:
        cells = [f"{last[k][role]['accuracy']:.3f} (n {last[k][role]['n']})" if role in last[k] else "" for k in kinds]
        lines.append(f"| {role} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Write the card."""
    cards = {name: card(name) for name in sizes("compact")}
    lines = [size_row(name, facts) for name, facts in cards.items()]
    for name, facts in cards.items():
        if len(facts["ladder"]) == 1:
            continue  # an earlier checkpoint: it stands in its family's table
        lines += ["", f"## bundled:{name}", "", "Held-out states of 7x9 boards with one box, along the ladder:", ""]
        lines += [*ladder_table(facts), "", "The shipped checkpoint on other held-out boards:", "", *kinds_table(facts)]
    (weights_folder() / "MODEL_CARD.md").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
