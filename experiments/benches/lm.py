"""Our decoding loop beside ``generate``, and the cost of constraints, in one run.

``python -m experiments.benches.lm --model bundled:mini`` prints milliseconds and ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.level_sets import load_set
from envs.sokoban.prompts.compact import CompactFormat
from tape.lm.base import Request
from tape.lm.bundled import weights_folder
from tape.lm.registry import open_model


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.lm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default="bundled:mini")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    lm = open_model(args.model)
    # The same checkpoint as transformers has it, for its ``generate``.
    model = LlamaForCausalLM.from_pretrained(
        weights_folder() / args.model.removeprefix("bundled:"), dtype=torch.float32
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(weights_folder() / "tokenizer.json"), eos_token="<eos>", pad_token="<pad>"
    )
    levels = load_set("hard")
    act = [CompactFormat(SokobanDomain(v)).act_request(v.start, {"steps": 12}, "U", ["U"]) for v in levels]
    plan = [CompactFormat(SokobanDomain(v)).plan_request(v.start, {"steps": 12}) for v in levels]

    def ours(requests: list[Request]) -> Callable[[], object]:
        return lambda: asyncio.run(lm.generate(requests))

    first = timed(ours(act[:1]))
    later = [timed(ours([act[i % 10]])) for i in range(args.repeats)]
    print(f"{args.model}, {args.threads} thread(s), n = {args.repeats}")
    print(f"first constrained call of the process: {first:.0f} ms (imports and model loading excluded)")
    print(f"later constrained calls (one action): median {statistics.median(later):.1f} ms")
    free = [replace(request, constraint=None) for request in plan]
    for batch in (1, 8):
        rows: dict[str, list[float]] = {"constrained": [], "free": [], "generate": []}
        for i in range(args.repeats):
            some = [plan[(i + j) % 10] for j in range(batch)]
            rows["constrained"].append(timed(ours(some)))
            rows["free"].append(timed(ours([free[(i + j) % 10] for j in range(batch)])))
            rows["generate"].append(timed(lambda some=some: _generate(model, tokenizer, some)))  # type: ignore[misc]
        medians = {name: statistics.median(values) for name, values in rows.items()}
        print(
            f"whole plans, batch {batch}: ours constrained {medians['constrained']:.1f} ms, ours free "
            f"{medians['free']:.1f} ms, HF generate free {medians['generate']:.1f} ms; "
            f"generate / ours free = {medians['generate'] / medians['free']:.2f}"
        )


def _generate(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, requests: list[Request]) -> object:
    tokenizer.padding_side = "left"
    batch = tokenizer([str(r.prompt) for r in requests], return_tensors="pt", padding=True, add_special_tokens=False)
    return model.generate(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        max_new_tokens=requests[0].max_tokens,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=1,
    )


if __name__ == "__main__":
    main()
