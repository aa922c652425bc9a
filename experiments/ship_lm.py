"""Freeze a trained checkpoint: weights, machine-readable card and the ladder's evaluation.

``python -m experiments.ship_lm TRAINING_DIR`` copies the last checkpoint to ``tape/lm/weights/SIZE`` and
evaluates every checkpoint of the ladder on held-out boards. No agent is run here: what ships is
decided before agents are compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

from experiments.eval_lm import KINDS, report
from experiments.train_lm import SIZES
from tape.lm.bundled import weights_folder

MAX_BYTES = 8_000_000


def main() -> None:
    """Ship one checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("training", type=Path)
    parser.add_argument("--count", type=int, default=400, help="held-out states per kind of board")
    args = parser.parse_args()
    torch.set_num_threads(1)
    recipe = json.loads((args.training / "recipe.json").read_text())
    size, steps = recipe["size"], recipe["steps"]
    last = args.training / f"step-{steps}"
    log = [json.loads(line) for line in (args.training / "log.jsonl").read_text().splitlines()]
    target = weights_folder() / size
    target.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(last / name, target / name)
    weights = target / "model.safetensors"
    if weights.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{weights} is larger than {MAX_BYTES} bytes")
    checkpoints = sorted(args.training.glob("step-*"), key=lambda p: int(p.name.removeprefix("step-")))
    ladder = {}
    for checkpoint in checkpoints:
        kinds = list(KINDS) if checkpoint == last else ["7x9, one box"]
        ladder[checkpoint.name.removeprefix("step-")] = report(checkpoint, args.count, kinds)
        print(f"evaluated {checkpoint}", flush=True)
    card = {
        "name": f"bundled:{size}",
        "parameters": sum(t.numel() for t in load_file(weights).values()),
        "bytes": weights.stat().st_size,
        "architecture": {"type": "Llama", **SIZES[size], "steps": steps},
        "recipe": recipe,
        "training": {"loss": log[-1]["loss"], "seconds": log[-1]["seconds"], "sequences": steps * recipe["batch"]},
        "ladder": ladder,
    }
    (target / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    print(f"shipped {target}")


if __name__ == "__main__":
    main()
