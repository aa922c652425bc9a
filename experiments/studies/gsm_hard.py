"""GSM-Hard with a real general model behind a server: TAPE beside agents without a solver, under loose and tight caps.

``python -m experiments.studies.gsm_hard --data gsmhard_even.jsonl --lines 1-50 --caps loose --server URL --out FOLDER``

Every agent is asked under the same caps. What the model says to a prompt is kept in
``samples.sqlite`` and said again under every seed of the tools' draws, so that these differ in nothing else. A run that
was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.loader import load
from envs.gsm_hard.problem import Problem
from envs.gsm_hard.profiles import PROFILES, budget
from experiments.harness.greedy import GreedyOpenLoopAgent, GreedyReactAgent
from experiments.harness.places import ROOT
from experiments.own_tools.without import PARTS, without
from tape import BestOfNReactAgent, OpenLoopAgent, ReactAgent, TapeAgent
from tape.agents.base import Agent
from tape.budget import Budget
from tape.engine.ablations import PAPER
from tape.lm.base import Completion, LanguageModel, Request, Usage
from tape.lm.cache import CachedLM
from tape.lm.registry import open_model
from tape.lm.wrapper import WrappedLM
from tape.statistics import paired, wilson

TOKENS = 20_000
"""Cap on the model's tokens of an episode, for every agent."""
ROWS: Mapping[str, Callable[[LanguageModel], Agent]] = {
    "tape": TapeAgent,
    "first sample": lambda model: TapeAgent(model, num_plans=1),
    "tape, 3 samples": lambda model: TapeAgent(model, num_plans=3),
    "tape, 5 samples": lambda model: TapeAgent(model, num_plans=5),
    "tape, scores by the model": lambda model: TapeAgent(model, ablations={"score": "argmax"}),
    "tape (paper)": lambda model: TapeAgent(model, ablations=PAPER),
    "react": ReactAgent,
    "react, greedy with a reserve": GreedyReactAgent,
    "best of n": BestOfNReactAgent,
    "open loop": OpenLoopAgent,
    "open loop, greedy with a reserve": GreedyOpenLoopAgent,
}
"""The agents by their names in the table; ``tape without grammar`` and the like leave a part out."""
WITHOUT = "tape without "


class SameSamples(WrappedLM):
    """Asks with a seed that depends on how often a request was made in the episode, and on nothing else."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self._asked: Counter[str] = Counter()

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The model's completions, the same in every episode that asks the same."""
        return await self._model.generate([self._seeded(request) for request in requests])

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """The model's scores, which depend on no seed."""
        return await self._model.score_options(requests)

    def _seeded(self, request: Request) -> Request:
        plain = replace(request, seed=0)
        key = plain.fingerprint(self.identity)
        self._asked[key] += 1
        return replace(plain, seed=self._asked[key])


def play(row: str, problem: Problem, caps: str, draw: int, model: LanguageModel, trace: Path) -> dict[str, Any]:
    """An episode, as a line of the results."""
    limits = Budget({**budget(PROFILES["priced"], problem.operations, caps), "tokens": TOKENS})
    part = row.removeprefix(WITHOUT) if row.startswith(WITHOUT) else ""
    agent = ROWS["tape" if part else row](SameSamples(model))
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.unlink(missing_ok=True)  # of an episode that was stopped
    with without(part):
        result = agent.run(GsmHardEnvironment(problem), budget=limits, seed=draw, trace=trace)
    return {"row": row, "problem": problem.id, "caps": caps, "draw": draw, "right": result.success,
            "end": result.end_state, "tokens": result.lm_tokens, "requests": sum(result.lm_calls.values()),
            "usd": result.used.get("usd", 0), "over": result.budget_violations}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.gsm_hard", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in the public GSM-Hard format")
    parser.add_argument("--lines", default="1-50", help="the first and the last line (default: 1-50)")
    parser.add_argument("--caps", choices=("loose", "tight"), default="loose")
    parser.add_argument(
        "--rows", nargs="*", default=["tape", "first sample"], choices=(*ROWS, *(WITHOUT + part for part in PARTS))
    )
    parser.add_argument("--draws", type=int, default=1, help="seeds of the tools' draws (default: 1)")
    parser.add_argument("--server", required=True, help="an OpenAI-compatible server")
    parser.add_argument("--out", type=Path, required=True, help="a folder for results, traces and samples")
    given = parser.parse_args(arguments)
    first, last = map(int, given.lines.split("-"))
    problems = load(given.data)[first - 1 : last]
    file = given.out / "results.jsonl"
    given.out.mkdir(parents=True, exist_ok=True)
    model = CachedLM(open_model(f"llamacpp:qwen@{given.server}"), given.out / "samples.sqlite")
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {(row["row"], row["problem"], row["caps"], row["draw"]) for row in rows}
    for name in given.rows:
        for draw in range(given.draws):
            for problem in problems:
                if (name, problem.id, given.caps, draw) in known:
                    continue
                trace = given.out / "traces" / given.caps / name / f"{problem.id}-{draw}.jsonl"
                rows.append(play(name, problem, given.caps, draw, model, trace))
                with file.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
        print(line(name, given.caps, rows), flush=True)
    return 0


def line(name: str, caps: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A row of the table; TAPE is compared with it by problem."""
    own = {(row["problem"], row["draw"]): row for row in rows if row["row"] == name and row["caps"] == caps}
    tape = {(row["problem"], row["draw"]): row for row in rows if row["row"] == "tape" and row["caps"] == caps}
    count, right = len(own), sum(row["right"] for row in own.values())
    problems = len({problem for problem, _ in own})
    low, high = wilson(right / count * problems, problems)
    tokens = statistics.mean(row["tokens"] for row in own.values())
    text = f"{name}: {right} of {count} right, {right / count:.0%} ({low:.0%} to {high:.0%}), {tokens:.0f} tokens"
    if name != "tape" and tape:
        result = paired(*({key: float(row["right"]) for key, row in side.items()} for side in (tape, own)))
        text += f"; TAPE is above it by {result.difference:+.0%} ({result.low:+.0%} to {result.high:+.0%})"
    over = sum(bool(row["over"]) for row in own.values())
    return text + (f"; {over} over a cap" if over else "")


def table(caps: str, file: str = "gsm_hard_programs.json") -> str:
    """Committed results under some caps, as a table; the tokens of samples are counted by the model's tokenizer."""
    kept = json.loads((ROOT / "experiments" / "results" / file).read_text(encoding="utf-8"))
    lines = ["| agent | right (95 %) | tokens, mean | TAPE is above it by (95 %) |", "|---|---|---|---|"]
    by_row: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for row in kept:
        if row["caps"] == caps:
            by_row.setdefault(row["row"], {})[row["problem"], row["draw"]] = row
    for name, own in by_row.items():
        right, count = sum(row["right"] for row in own.values()), len(own)
        low, high = wilson(right, count)
        sides = ({key: float(row["right"]) for key, row in side.items()} for side in (by_row["tape"], own))
        result = paired(*sides)
        above = f"{result.difference:+.0%} ({result.low:+.0%} to {result.high:+.0%})" if name != "tape" else ""
        tokens = statistics.mean(row["tokens"] for row in own.values())
        lines.append(f"| {name} | {right} of {count} ({low:.0%} to {high:.0%}) | {tokens:,.0f} | {above} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
