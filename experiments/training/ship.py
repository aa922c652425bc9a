"""Freeze a trained model: weights, machine-readable card and the accuracy of every checkpoint.

``python -m experiments.training.ship TRAINING_DIR`` copies the last checkpoint to ``experiments/weights/NAME`` and says
how right every checkpoint is on fresh text (:mod:`experiments.training.evaluate`); with ``--ladder`` the earlier ones
are shipped too, as ``SIZE-STEP``. No agent is run here: what ships is decided before agents are compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from experiments.training.evaluate import accuracy
from experiments.training.families import SOKOBAN, family_of
from experiments.training.train import SIZES
from tape.lm.bundled import experiments_folder
from tape.reading import json_lines, read_json

MAX_BYTES = 8_000_000


def ship(checkpoint: Path, name: str, facts: dict[str, Any]) -> None:
    """Copy one checkpoint and write its card."""
    target = experiments_folder() / name
    target.mkdir(parents=True, exist_ok=True)
    files = ["config.json", "model.safetensors"]
    if facts["prompt_format"] != SOKOBAN.prompt_format:
        files.append("tokenizer.json")  # the Sokoban models share one
    for file in files:
        shutil.copyfile(checkpoint / file, target / file)
    weights = target / "model.safetensors"
    if weights.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{weights} is larger than {MAX_BYTES} bytes")
    card = {
        "name": f"bundled:{name}",
        "parameters": sum(t.numel() for t in load_file(weights).values()),
        "bytes": weights.stat().st_size,
        **facts,
    }
    (target / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    print(f"shipped {target}")


def main() -> None:
    """Ship one model."""
    parser = argparse.ArgumentParser(prog="python -m experiments.training.ship", description=__doc__)
    parser.add_argument("training", type=Path)
    parser.add_argument("--batches", type=int, default=8, help="of fresh text, for each checkpoint")
    parser.add_argument(
        "--ladder", type=int, nargs="*", metavar="STEP", help="ship earlier checkpoints too: all, or those named"
    )
    parser.add_argument("--name", help="of the last checkpoint (default: the size)")
    parser.add_argument("--evaluate", action="store_true", help="print what was evaluated, and ship nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    recipe = read_json(args.training / "recipe.json", dict[str, Any])
    size, last = recipe["size"], int(recipe["steps"])
    checkpoints = {int(p.name.removeprefix("step-")): p for p in args.training.glob("step-*")}
    family, ladder = family_of(size), {}
    for step, checkpoint in sorted(checkpoints.items()):
        model = LlamaForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
        ladder[str(step)] = accuracy(model, family, size, args.batches)
        print(f"evaluated {checkpoint}", flush=True)
    if args.evaluate:
        print(json.dumps(ladder, indent=1))
        return
    log = {line["step"]: line for _, line in json_lines(args.training / "log.jsonl", dict[str, Any])}
    for step, checkpoint in sorted(checkpoints.items()):
        if step != last and (args.ladder is None or (args.ladder and step not in args.ladder)):
            continue
        facts = {
            "prompt_format": family.prompt_format,
            "about": family.about,
            "architecture": {"type": "Llama", **SIZES[size], "steps": step},
            "recipe": recipe,
            "training": {**log[max(s for s in log if s <= step)], "sequences": step * recipe["batch"]},
            "ladder": ladder if step == last else {str(step): ladder[str(step)]},
        }
        ship(checkpoint, args.name or size if step == last else f"{size}-{step}", facts)


if __name__ == "__main__":
    main()
