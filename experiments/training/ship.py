"""Freeze a trained model: weights, machine-readable card and the ladder's evaluation.

``python -m experiments.training.ship TRAINING_DIR`` copies the last checkpoint to ``tape/lm/weights/SIZE`` and
evaluates every checkpoint of the ladder on held-out boards, problems and questions, or households; with ``--ladder``
the earlier checkpoints are shipped too, as ``SIZE-STEP``. No agent is run here: what ships is decided before agents are
compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from experiments.training.alfworld import evaluate as eval_household_lm
from experiments.training.chains import evaluate as eval_chains_lm
from experiments.training.families import CHAINS, HOUSEHOLD, SEARCH, SOKOBAN, TOOLS, family_of
from experiments.training.search import evaluate as eval_search_lm
from experiments.training.sokoban.evaluate import KINDS, report
from experiments.training.tools import evaluate as eval_tool_lm
from experiments.training.train import SIZES
from tape.lm.bundled import weights_folder
from tape.reading import json_lines, read_json

MAX_BYTES = 8_000_000


def ship(checkpoint: Path, name: str, facts: dict[str, Any]) -> None:
    """Copy one checkpoint and write its card."""
    target = weights_folder() / name
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
    parser.add_argument("--count", type=int, default=400, help="held-out states per kind of board, or problems")
    parser.add_argument(
        "--ladder", type=int, nargs="*", metavar="STEP", help="ship earlier checkpoints too: all, or those named"
    )
    parser.add_argument("--data", type=Path, help="official games, to evaluate a household model on them too")
    parser.add_argument("--evaluate", action="store_true", help="print what was evaluated, and ship nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    recipe = read_json(args.training / "recipe.json", dict[str, Any])
    size, last = recipe["size"], int(recipe["steps"])
    log = {line["step"]: line for _, line in json_lines(args.training / "log.jsonl", dict[str, Any])}
    checkpoints = {int(p.name.removeprefix("step-")): p for p in args.training.glob("step-*")}
    family, ladder = family_of(size), {}
    for step, checkpoint in sorted(checkpoints.items()):
        if family is HOUSEHOLD:
            ladder[str(step)] = eval_household_lm.report(checkpoint, args.count, args.data)
        elif family is TOOLS:
            ladder[str(step)] = eval_tool_lm.report(checkpoint, args.count)
        elif family is CHAINS:
            ladder[str(step)] = eval_chains_lm.report(checkpoint, args.count)
        elif family is SEARCH:
            ladder[str(step)] = eval_search_lm.report(checkpoint, args.count)
        else:
            ladder[str(step)] = report(checkpoint, args.count, list(KINDS) if step == last else ["7x9, one box"])
        print(f"evaluated {checkpoint}", flush=True)
    if args.evaluate:
        print(json.dumps(ladder, indent=1))
        return
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
        ship(checkpoint, size if step == last else f"{size}-{step}", facts)


if __name__ == "__main__":
    main()
