"""Train the reader's adapter: ``python -m experiments.training.reader.train --base FOLDER --out DIR [--public FILE]``.

Resumable: run the same command again after Ctrl-C or a kill. Every row is a function of the seed and its number. The
learning rate warms up, holds, and falls to nothing over the last part, so a run can be cut short: give fewer
``--steps`` and go on from what was saved, as long as the fall had not begun.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from experiments.training.reader.data import Row, Source
from experiments.training.reader.lora import LowRank, adapt
from experiments.training.train import learning_rate
from tape.errors import ModelError
from tape.lm.adapter import card_of, load

STATE = "state.pt"
SAVE_EVERY = 5
"""Steps between two points from which training can resume."""


@dataclass(frozen=True)
class Recipe:
    """What a training run is made of; it is stored in the model card.

    Attributes:
        steps: Of the optimizer.
        rows: For each step.
        rank: Of the adapter.
        scale: Of what it adds.
        first: The first layer that is adapted; those below are left as they are.
        lr: Learning rate after warming up.
        warmup: Steps.
        decay: Share of the steps over which the learning rate falls.
        clip: Largest norm of a gradient.
        seed: Of the rows and of the first weights.
    """

    steps: int
    rows: int = 2
    rank: int = 16
    scale: float = 2.0
    first: int = 8
    lr: float = 7e-4
    warmup: int = 10
    decay: float = 0.4
    clip: float = 1.0
    seed: int = 0


def attention(_module: Any, q: Any, k: Any, v: Any, mask: Any, *, scaling: float | None = None, **_: Any) -> Any:
    """Attention in float32, whatever the rest is computed in; heads may share keys."""
    out = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), attn_mask=mask, scale=scaling, enable_gqa=True
    )
    return out.transpose(1, 2).to(q.dtype), None


ALL_ATTENTION_FUNCTIONS.register("f32_gqa", attention)


def loss_of(model: Any, row: Row) -> tuple[torch.Tensor, float]:
    """Negative log-likelihood of an answer of a row, in the mean; and the share that would be written without a slip.

    An answer is written without a slip where each of its tokens is the likeliest after those before it.
    """
    hidden = model.model(
        input_ids=row.ids[None], attention_mask=row.mask(), position_ids=row.positions[None], use_cache=False
    ).last_hidden_state[0]
    wanted = row.target >= 0
    logits = model.lm_head(hidden[wanted]).float()
    losses = torch.nn.functional.cross_entropy(logits, row.target[wanted], reduction="none")
    slips = row.branch[wanted][logits.argmax(-1) != row.target[wanted]].unique()
    return (losses * row.weight[wanted]).sum(), 1 - len(slips) / int(row.branch.max())


def train(recipe: Recipe, model: Any, source: Source, out: Path, start: Path | None = None) -> dict[str, LowRank]:
    """Train, logging to ``out/log.jsonl``; the state is in ``out/state.pt``.

    Args:
        recipe: How.
        model: The base, a Llama of transformers; adapters are put into it.
        source: Of rows.
        out: Folder; made where it is not there.
        start: Folder of an adapter of the same shape that training begins with; a random one otherwise.

    Raises:
        ModelError: ``start`` holds no such adapter.
    """
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(recipe.seed)
    model.set_attn_implementation("f32_gqa")
    adapters = adapt(model, recipe.rank, recipe.scale, recipe.first)
    if start is not None:
        begin_with(adapters, start)
    parameters = [p for one in adapters.values() for p in (one.down, one.up)]
    optimizer = torch.optim.AdamW(parameters, lr=recipe.lr, betas=(0.9, 0.98), weight_decay=0.0)
    first, seconds, cpu = 0, 0.0, 0.0
    if (out / STATE).exists():
        saved = torch.load(out / STATE, weights_only=True)
        for name, one in adapters.items():
            one.down.data, one.up.data = saved["adapters"][name]
        optimizer.load_state_dict(saved["optimizer"])
        first, seconds, cpu = saved["step"], saved["seconds"], saved["cpu_seconds"]
    started, cpu_started = time.time() - seconds, time.process_time() - cpu
    with (out / "log.jsonl").open("a", encoding="utf-8") as log:
        for step in range(first, recipe.steps):
            optimizer.param_groups[0]["lr"] = learning_rate(
                step, recipe.steps, lr=recipe.lr, warmup=recipe.warmup, decay_from=1 - recipe.decay
            )
            total = right = 0.0
            tokens = 0
            for number in range(recipe.rows):
                row = source.row(recipe.seed, step * recipe.rows + number)
                loss, share = loss_of(model, row)
                torch.autograd.backward(loss / recipe.rows)
                total, tokens = total + loss.item() / recipe.rows, tokens + len(row.ids)
                right += share / recipe.rows
            torch.nn.utils.clip_grad_norm_(parameters, recipe.clip)
            optimizer.step()
            optimizer.zero_grad()
            took = {
                "seconds": round(time.time() - started, 1),
                "cpu_seconds": round(time.process_time() - cpu_started, 1),
            }
            log.write(
                json.dumps(
                    {"step": step + 1, "loss": round(total, 4), "right": round(right, 3), "tokens": tokens, **took}
                )
                + "\n"
            )
            log.flush()
            if (step + 1) % SAVE_EVERY == 0 or step + 1 == recipe.steps:
                state = {
                    "adapters": {name: (one.down.data, one.up.data) for name, one in adapters.items()},
                    "optimizer": optimizer.state_dict(),
                    "step": step + 1,
                    "recipe": asdict(recipe),
                    **took,
                }
                torch.save(state, out / "state.tmp")
                (out / "state.tmp").replace(out / STATE)
    return adapters


def begin_with(adapters: Mapping[str, LowRank], folder: Path) -> None:
    """Put the factors of a stored adapter into those of a model.

    Raises:
        ModelError: They adapt other matrices, or are of another rank.
    """
    factors = load(folder)
    shapes = {name: (one.down.shape, one.up.shape) for name, one in adapters.items()}
    if shapes != {name: (down.shape, up.shape) for name, (down, up) in factors.items()}:
        raise ModelError(f"{folder}: an adapter of other matrices or of another rank; train without --start")
    for name, (down, up) in factors.items():
        adapters[name].down.data, adapters[name].up.data = down, up / adapters[name].scale


def main(arguments: Sequence[str] | None = None) -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.training.reader.train", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of the base model, as transformers saves it")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument(
        "--public", type=Path, help="a file in the MuSiQue format; half of its questions are trained on"
    )
    parser.add_argument("--start", type=Path, help="folder of an adapter to go on from, with rows of another --seed")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rows", type=int, default=Recipe.rows)
    parser.add_argument("--lr", type=float, default=Recipe.lr)
    parser.add_argument("--decay", type=float, default=Recipe.decay, help="share of the steps at the end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(arguments)
    torch.set_num_threads(args.threads)
    recipe = Recipe(args.steps, rows=args.rows, lr=args.lr, decay=args.decay, seed=args.seed)
    source = Source(AutoTokenizer.from_pretrained(args.base), args.public)
    model = AutoModelForCausalLM.from_pretrained(args.base, dtype=torch.bfloat16)
    before = card_of(args.start).model_dump()["training"] if args.start else None
    train(recipe, model, source, args.out, args.start)
    digest = hashlib.sha256(args.public.read_bytes()).hexdigest() if args.public else None
    written = {"recipe": asdict(recipe), "public": digest, "threads": args.threads, "torch": torch.__version__}
    written["before"] = before
    (args.out / "recipe.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
