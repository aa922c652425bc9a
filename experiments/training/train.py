"""Train a bundled LM from nothing: ``python -m experiments.training.train --size mini --out DIR``.

Resumable: run the same command again after Ctrl-C or a kill; with more ``--steps`` a finished run is
extended. Every batch is a function of the seed
and its number. A GPU is used if one is there, else one CPU thread by default.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from experiments.training.families import Family, family_of
from experiments.training.packing import EOS, PAD
from experiments.training.tokenizer import build

SIZES = {
    "nano": {"hidden": 96, "layers": 4, "heads": 3, "inner": 256, "steps": 6_000},
    "mini": {"hidden": 192, "layers": 5, "heads": 6, "inner": 512, "steps": 5_500},
    "base": {"hidden": 192, "layers": 8, "heads": 6, "inner": 512, "steps": 6_500},
    "household": {"hidden": 192, "layers": 6, "heads": 6, "inner": 512, "steps": 1_900},
    "chains": {"hidden": 96, "layers": 4, "heads": 3, "inner": 256, "steps": 800},
}


SAVE_EVERY = 100
"""Steps between two points from which training can resume."""


@dataclass(frozen=True)
class Recipe:
    """What a training run is made of; it is stored in the model card."""

    size: str
    steps: int
    seed: int = 0
    batch: int = 64
    lr: float = 4e-3
    warmup: int = 200
    decay_from: float = 0.55
    weight_decay: float = 0.05
    clip: float = 1.0
    restarts: tuple[int, ...] = ()
    """Steps at which a finished run was extended: its learning rate rose again to the longer run's."""


def config(size: str) -> LlamaConfig:
    """The Llama configuration of a size."""
    spec, family = SIZES[size], family_of(size)
    return LlamaConfig(
        vocab_size=len(family.words),
        hidden_size=spec["hidden"],
        intermediate_size=spec["inner"],
        num_hidden_layers=spec["layers"],
        num_attention_heads=spec["heads"],
        num_key_value_heads=spec["heads"],
        max_position_embeddings=family.window,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=family.words.index(EOS),
        pad_token_id=family.words.index(PAD),
    )


def _attention(_module: Any, q: Any, k: Any, v: Any, mask: Any, *, scaling: float | None = None, **_: Any) -> Any:
    # PyTorch's CPU attention is six times slower backwards in bfloat16 than in float32.
    with torch.autocast(q.device.type, enabled=False):
        out = torch.nn.functional.scaled_dot_product_attention(
            q.float(), k.float(), v.float(), attn_mask=mask, scale=scaling
        )
    return out.transpose(1, 2).to(q.dtype), None


def loss_of(model: LlamaForCausalLM, batch: dict[str, torch.Tensor], actions: Sequence[int]) -> torch.Tensor:
    """Mean negative log-likelihood of the targets; where several ``actions`` are optimal, any of them, evenly."""
    device = batch["ids"].device
    with torch.autocast(device.type, torch.bfloat16):
        hidden = model.model(
            input_ids=batch["ids"], attention_mask=batch["mask"], position_ids=batch["position"], use_cache=False
        ).last_hidden_state
        wanted = batch["label"] >= 0
        logits = model.lm_head(hidden[wanted])
    logp = torch.log_softmax(logits.float(), -1)
    label, optimal = batch["label"][wanted], batch["optimal"][wanted]
    hard = -logp.gather(1, label[:, None])[:, 0]
    if not actions:
        return hard.mean()
    bits = torch.stack([(optimal >> i) & 1 for i in range(len(actions))], 1).float()
    soft = -(logp[:, actions] * bits).sum(1) / bits.sum(1).clamp(min=1)
    return torch.where(optimal > 0, soft, hard).mean()


def learning_rate(step: int, steps: int, *, lr: float, warmup: int, decay_from: float) -> float:
    """Warm up, hold, then from a share of the steps on fall linearly to nothing."""
    start = int(steps * decay_from)
    if step < warmup:
        return lr * (step + 1) / warmup
    return lr if step < start else lr * max(0.0, (steps - step) / (steps - start))


def optimizers(model: LlamaForCausalLM, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for embeddings and norms."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        torch.optim.Muon(matrices, lr=1.0, weight_decay=recipe.weight_decay, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=1.0, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def described(recipe: Recipe) -> dict[str, Any]:
    """What a training run was made of, for ``recipe.json``."""
    return {**SIZES[recipe.size], **asdict(recipe), "prompt_format": family_of(recipe.size).prompt_format}


def save(model: LlamaForCausalLM, folder: Path, recipe: Recipe) -> None:
    """Write float16 safetensors, configuration, tokenizer and recipe: a folder for ``hf:FOLDER``."""
    half = LlamaForCausalLM(model.config)
    half.load_state_dict(model.state_dict())
    half.half().save_pretrained(folder)
    build(family_of(recipe.size).words, family_of(recipe.size).space).save(str(folder / "tokenizer.json"))
    (folder / "recipe.json").write_text(json.dumps(described(recipe)))


def train(recipe: Recipe, out: Path, device: str, log_every: int = 25) -> None:
    """Train, logging to ``out/log.jsonl``; checkpoints at 1/8, 1/4, 1/2 and the end."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(recipe.seed)
    family: Family = family_of(recipe.size)
    ALL_ATTENTION_FUNCTIONS.register("f32_sdpa", _attention)
    model = LlamaForCausalLM(config(recipe.size)).to(device)
    model.set_attn_implementation("f32_sdpa")
    opts = optimizers(model, recipe)
    state_file = out / "state.pt"
    first, seconds = 0, 0.0
    if state_file.exists():
        saved = torch.load(state_file, weights_only=True)
        recipe = _continued(recipe, saved["recipe"], saved["step"], state_file)
        model.load_state_dict(saved["model"])
        for opt, state in zip(opts, saved["optimizers"], strict=True):
            opt.load_state_dict(state)
        first, seconds = saved["step"], saved["seconds"]
        print(f"resuming at step {first}", flush=True)
    ladder = {recipe.steps // 8, recipe.steps // 4, recipe.steps // 2, recipe.steps}
    began, total = time.monotonic() - seconds, 0.0
    try:
        for step in range(first, recipe.steps):
            batch = {k: v.to(device) for k, v in family.batch(recipe.seed, recipe.size, recipe.batch, step).items()}
            loss = loss_of(model, batch, family.actions)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            rate = learning_rate(step, recipe.steps, lr=recipe.lr, warmup=recipe.warmup, decay_from=recipe.decay_from)
            for opt in opts:
                opt.param_groups[0]["lr"] = rate
                opt.step()
                opt.zero_grad(set_to_none=True)
            total += float(loss.detach())
            done = step + 1
            if done % log_every == 0:
                line = {"step": done, "loss": round(total / log_every, 4), "seconds": round(time.monotonic() - began)}
                total = 0.0
                print(json.dumps(line), flush=True)
                with (out / "log.jsonl").open("a") as log:
                    log.write(json.dumps(line) + "\n")
            if done in ladder:
                save(model, out / f"step-{done}", recipe)
            if done % SAVE_EVERY == 0 or done == recipe.steps:
                _save_state(state_file, model, opts, recipe, done, time.monotonic() - began)
    except KeyboardInterrupt:
        print(f"\nstopped; run the same command again to resume from {state_file}")
        raise SystemExit(130) from None
    (out / "recipe.json").write_text(json.dumps(described(recipe)))


def _continued(recipe: Recipe, saved: dict[str, Any], step: int, state_file: Path) -> Recipe:
    """The recipe to go on with: the saved one, or a longer one for a run that had finished."""
    done = Recipe(**{**saved, "restarts": tuple(saved["restarts"])})
    if replace(recipe, restarts=done.restarts) == done:
        return done
    if recipe.steps > done.steps == step and replace(recipe, steps=done.steps, restarts=done.restarts) == done:
        return replace(recipe, restarts=(*done.restarts, step))
    raise SystemExit(f"{state_file} belongs to another recipe: {saved}; name another --out")


def _save_state(
    path: Path,
    model: LlamaForCausalLM,
    opts: list[torch.optim.Optimizer],
    recipe: Recipe,
    step: int,
    seconds: float,
) -> None:
    state = {
        "recipe": asdict(recipe),
        "model": model.state_dict(),
        "optimizers": [opt.state_dict() for opt in opts],
        "step": step,
        "seconds": seconds,
    }
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(prog="python -m experiments.training.train", description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="mini")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, help="optimizer steps; the size's own by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=Recipe.lr)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recipe = Recipe(args.size, args.steps or SIZES[args.size]["steps"], args.seed, lr=args.lr)
    train(recipe, args.out, device)


if __name__ == "__main__":
    main()
