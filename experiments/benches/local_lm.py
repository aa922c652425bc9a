"""A TAPE run with a general model on this machine, and the same requests by plain ``transformers.generate``.

``python -m experiments.benches.local_lm --model smollm2 --levels easy --limit 2`` plays Sokoban by chat prompts and
keeps every call of the model. Some of them, evenly spaced over the run, are then answered again by the plain decoder:
one request at a time, by transformers with its own cache, under the same constraints, its samples in one batch. Both
sides are timed in this process, by the wall clock and by processor time. What was written is counted by the answers'
texts, as the tokenizer splits them: tokens of beams that were dropped count for nothing.

The calls are timed in lock-step: one begins when every episode waits for the model. ``side_by_side`` compares that with
the same run as ``tape run`` plays it, where an episode goes on as soon as it is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.level_sets import load_set
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.lm.base import Completion, Constraint, LanguageModel, Request, Usage
from tape.lm.batching import EpisodeBatch
from tape.lm.decoding import LocalLM
from tape.lm.outlines_engine import ConstraintCompiler, Processor, encode
from tape.lm.registry import open_backend
from tape.lm.trees import PrefixStore
from tape.lm.wrapper import WrappedLM


@dataclass
class Timed:
    """What some calls took.

    Attributes:
        calls: Requests.
        seconds: By the wall clock.
        cpu_seconds: Of all threads.
        prompt_tokens: Of the requests, each counted once.
        read_tokens: That were read by the network for them, before the first one was written.
        written: Completion tokens.
    """

    calls: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    prompt_tokens: int = 0
    read_tokens: int = 0
    written: int = 0

    def summary(self) -> dict[str, float]:
        """With tokens a second."""
        rates = {"tokens_a_second": self.written / self.seconds, "tokens_a_cpu_second": self.written / self.cpu_seconds}
        return {name: round(value, 3) for name, value in (asdict(self) | rates).items()}


@dataclass(frozen=True)
class Call:
    """One call of the model in the run: its requests, answered together."""

    kind: str
    requests: Sequence[Request]
    took: Timed


def tokens_of(lm: LocalLM, answers: Sequence[Any]) -> tuple[int, int]:
    """Tokens of the prompts and of the answers' texts, ends included, by the tokenizer of a model."""
    prompts = written = 0
    for answer in answers:
        usage = answer.usage if isinstance(answer, Completion) else answer[1]
        prompts += usage.prompt_tokens
        if isinstance(answer, Completion):
            ended = sum(finish == "stop" for finish in answer.finish)
            written += ended + sum(len(encode(lm._tokenizer, text)) for text in answer.texts)
        else:
            written += usage.completion_tokens
    return prompts, written


class Watched(WrappedLM):
    """Times every call of a local model, one after the other, and counts the tokens that its network reads.

    Args:
        model: The model; it decodes with trees.

    Attributes:
        calls: What was asked.
        passes: Tokens that each forward pass read.
    """

    continuous = False  # calls that overlap could not be told apart

    def __init__(self, model: LocalLM) -> None:
        super().__init__(model)
        self.calls: list[Call] = []
        self.passes: list[int] = []
        self._read = 0
        network: Any = model._network
        read = network.read

        def counting(feeds: Sequence[Any]) -> torch.Tensor:
            self.passes.append(sum(len(feed.tokens) for feed in feeds))
            # What stands where nothing of an answer does.
            self._read += sum(len(feed.tokens) for feed in feeds if feed.sees is None and len(feed.tokens) > 1)
            logits: torch.Tensor = read(feeds)
            return logits

        network.read = counting

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests."""
        return await self._timed("generate", self._model.generate, requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options."""
        return await self._timed("score", self._model.score_options, requests)

    async def _timed(self, kind: str, call: Any, requests: Sequence[Request]) -> list[Any]:
        self._read, wall, cpu = 0, time.perf_counter(), time.process_time()
        answers: list[Any] = await call(requests)
        took = Timed(len(requests), time.perf_counter() - wall, time.process_time() - cpu, read_tokens=self._read)
        lm: Any = self._model
        took.prompt_tokens, took.written = tokens_of(lm, answers)
        self.calls.append(Call(kind, requests, took))
        print(f"{kind} {requests[0].role}: {json.dumps(took.summary())}", file=sys.stderr, flush=True)
        return answers


def together(calls: Sequence[Timed]) -> Timed:
    """The sum."""
    total = Timed()
    for call in calls:
        for name, value in asdict(call).items():
            setattr(total, name, getattr(total, name) + value)
    return total


async def play(model: LanguageModel, args: argparse.Namespace) -> None:
    """The run: levels side by side, as ``tape run`` plays them."""
    levels = load_set(args.levels)[: args.limit]
    agent = TapeAgent(model, TapeConfig(num_plans=args.num_plans, temperature=0.8))
    batch = EpisodeBatch(model, len(levels))

    async def episode(index: int) -> None:
        try:
            env = SokobanEnvironment.with_slack(levels[index], 2)
            await agent.arun(env, budget=Budget.of(tokens=args.tokens), seed=index, model=batch.member(index))
        finally:
            await batch.leave()

    await asyncio.gather(*map(episode, range(len(levels))))
    await batch.close()


def measured(watched: Watched, model: LanguageModel, args: argparse.Namespace) -> dict[str, float]:
    """Play the run, with nothing kept of prompts, and count what the whole of it takes."""
    lm: Any = watched._model
    lm._trees.store = PrefixStore()
    watched.passes.clear()
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(play(model, args))
    took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    read = sum(watched.passes)
    took |= {"passes": len(watched.passes), "read": read, "tokens_a_pass": read / max(1, len(watched.passes))}
    return {name: round(value, 3) for name, value in took.items()}


class _Masks:
    """A logits processor of transformers that masks by our constraints."""

    def __init__(self, compiler: ConstraintCompiler, constraint: Constraint, prompt: int, rows: int) -> None:
        self._prompt, self._eos = prompt, compiler.eos
        self._processors: list[Processor] = [compiler.processor(constraint) for _ in range(rows)]

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        rows = []
        for processor, row, mine in zip(self._processors, ids.tolist(), scores, strict=True):
            if row[-1] == self._eos and len(row) > self._prompt:  # it has ended, and is padded
                rows.append(mine[None])
                continue
            if len(row) > self._prompt:
                processor.take(row[-1])
            rows.append(processor.masked(mine[None]))
        return torch.cat(rows)


def plain(lm: LocalLM, model: Any, call: Call) -> Timed:
    """Answer the requests of a call one by one, as ``transformers.generate`` does.

    It reads a prompt again for every sample, and that is counted. The pass over options repeats the prompt for each of
    them, too; there it is counted once.
    """
    took = Timed(len(call.requests))
    wall, cpu = time.perf_counter(), time.process_time()
    for request in call.requests:
        prompt = lm._encode(request)
        took.prompt_tokens += len(prompt)
        if call.kind == "score":
            took.written += _plain_scores(lm, model, request, prompt)
            took.read_tokens += len(prompt)
            continue
        ids = torch.tensor([prompt])
        masks = [] if request.constraint is None else [_Masks(lm._compiler, request.constraint, len(prompt), request.n)]
        sampling = {"do_sample": True, "temperature": request.temperature, "top_k": 0, "top_p": 1.0}
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=request.max_tokens,
            num_return_sequences=request.n if request.temperature > 0 else 1,
            logits_processor=masks,
            pad_token_id=lm._eos,
            eos_token_id=lm._eos,
            **(sampling if request.temperature > 0 else {"do_sample": False}),
        )
        for row in out[:, len(prompt) :].tolist():
            ended = lm._eos in row
            kept = row[: row.index(lm._eos)] if ended else row
            took.written += len(encode(lm._tokenizer, lm._tokenizer.decode(kept))) + ended
        took.read_tokens += len(prompt) * len(out)  # it repeats the prompt for every sample
    took.seconds, took.cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    print(f"plain {call.kind} {call.requests[0].role}: {json.dumps(took.summary())}", file=sys.stderr, flush=True)
    return took


@torch.inference_mode()
def _plain_scores(lm: LocalLM, model: Any, request: Request, prompt: list[int]) -> int:
    """A pass over prompt and option for each option, padded to a batch."""
    options = lm._options(request)
    width = max(map(len, options))
    rows = [prompt + option + [lm._eos] * (width - len(option)) for option in options]
    model(input_ids=torch.tensor(rows), use_cache=False, logits_to_keep=width + 1)
    return sum(len(option) + 1 for option in options)


def reference(lm: LocalLM, name: str) -> Any:
    """The same weights as transformers has them."""
    from transformers import AutoModelForCausalLM

    own = getattr(lm._network, "_model", None)
    if own is not None:
        folder: Any = name.removeprefix("hf:")
    else:
        from tape.files import cache_folder
        from tape.lm.gguf import LAYOUT, file_digest
        from tape.lm.smollm2 import weights_file

        file = weights_file() if name == "smollm2" else Path(name.removeprefix("gguf:").partition("#")[0])
        folder = cache_folder("gguf") / f"{file_digest(file)}-{LAYOUT}" / "weights"
    return AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()


async def beside(lm: LocalLM, name: str, calls: Sequence[Call]) -> Timed:
    """The same requests answered by another model, for instance ``llamacpp:NAME`` by a llama.cpp server."""
    model = open_backend(name)
    took = Timed(sum(len(call.requests) for call in calls))
    for call in calls:
        wall, cpu = time.perf_counter(), time.process_time()
        answers: Sequence[Any] = await (
            model.generate(call.requests) if call.kind == "generate" else model.score_options(call.requests)
        )
        took.seconds += time.perf_counter() - wall
        took.cpu_seconds += time.process_time() - cpu
        prompts, written = tokens_of(lm, answers)
        took.prompt_tokens += prompts
        took.written += written
    return took


def _told(took: Timed) -> dict[str, float]:
    """Without the tokens that were read, which another model does not tell."""
    return {name: value for name, value in took.summary().items() if name != "read_tokens"}


def main(argv: Sequence[str] | None = None) -> int:
    """Play, answer again, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.local_lm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default="smollm2", help="smollm2, gguf:FILE or hf:FOLDER")
    parser.add_argument("--levels", default="easy")
    parser.add_argument("--limit", type=int, default=4, help="levels, played side by side")
    parser.add_argument("--tokens", type=int, default=20_000, help="budget of an episode")
    parser.add_argument("--num-plans", type=int, default=4)
    parser.add_argument("--plain", type=int, default=10, help="calls that are answered again, evenly spaced")
    parser.add_argument("--beside", action="append", default=[], metavar="MODEL", help="answers them too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    torch.set_num_threads(args.threads)
    lm = open_backend(args.model)
    if not isinstance(lm, LocalLM) or lm._trees is None:
        print(f"{args.model} is not decoded with trees on this machine", file=sys.stderr)
        return 2
    watched = Watched(lm)
    torch.set_num_threads(args.threads)
    side_by_side = {"lock_step": measured(watched, watched, args), "continuous": measured(watched, lm, args)}
    calls = watched.calls
    run = together([call.took for call in calls])
    some = calls[:: max(1, len(calls) // args.plain)][: args.plain]
    model = reference(lm, args.model)
    ours, theirs = together([call.took for call in some]), together([plain(lm, model, call) for call in some])
    result = {
        "model": lm.identity,
        "weights": "float32" if args.model == "smollm2" else str(model.dtype).removeprefix("torch."),
        "threads": args.threads,
        "levels": f"{args.levels}, first {args.limit}, side by side",
        "run": run.summary(),
        "side_by_side": side_by_side,
        "prompt_tokens_saved": round(run.prompt_tokens / max(1, run.read_tokens), 2),
        "same_calls": {"trees": ours.summary(), "transformers.generate": theirs.summary()},
        "faster": round(ours.written / ours.seconds / (theirs.written / theirs.seconds), 2),
        "faster_by_cpu": round(ours.written / ours.cpu_seconds / (theirs.written / theirs.cpu_seconds), 2),
        "beside": {name: _told(asyncio.run(beside(lm, name, some))) for name in args.beside},
    }
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
