"""Models for tests: a tiny random transformer, and a script that plays Sokoban by the simulator."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.state import Level, State, is_solved, step
from envs.sokoban.table import CostToGo
from envs.sokoban.xsb import parse
from tape.agents.tape import TapeAgent
from tape.lm.base import Request
from tape.lm.bundled import weights_folder
from tape.lm.scripted import ScriptedLM
from tape.lm.transformers_lm import TransformersLM
from tape.trace import TraceWriter

CORRIDOR = parse("#######\n#######\n#@ $ .#\n#######\n#######\n")[0]
ROOM = parse("#########\n#       #\n# @ $ . #\n#       #\n#########\n")[0]


def bundled_tokenizer() -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_file=str(weights_folder() / "tokenizer.json"), eos_token="<eos>", pad_token="<pad>"
    )


@lru_cache(maxsize=1)
def tiny_model() -> LlamaForCausalLM:
    """A transformer with random weights."""
    torch.set_num_threads(1)  # several test processes share the cores
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {"eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None, "max_position_embeddings": 256}
    config = LlamaConfig(vocab_size=len(bundled_tokenizer()), num_key_value_heads=2, **sizes, **special)
    return LlamaForCausalLM(config)


@lru_cache(maxsize=1)
def tiny_lm() -> TransformersLM:
    """Random weights, real tokenizer, real constrained decoding."""
    return TransformersLM(tiny_model(), bundled_tokenizer(), name="tiny", identity="tiny", prompt_format="compact")


def without_times(path: Path) -> list[dict[str, Any]]:
    """The committed episodes of a run directory, but for what a clock measured and what a cache saved."""
    lines = [json.loads(line) for line in (path / "episodes.jsonl").read_text().splitlines()]
    for line in lines:
        for name in ("wall_seconds", "wall_overrun_seconds", "solver_seconds", "paid"):
            line["result"].pop(name)
        line.pop("trace_hash")  # of a trace with times
    return lines


def state_of(level: Level, prompt: str) -> State:
    """The state that a compact prompt describes."""
    body = prompt.split(" <", maxsplit=1)[0]

    def configurations(field: str) -> list[int]:
        after = re.search(rf" {field}:((?: \(\d+,\d+\))+)", body)
        assert after
        return [int(r) * level.cols + int(c) for r, c in re.findall(r"\((\d+),(\d+)\)", after[1])]

    return State(configurations("player")[0], tuple(sorted(configurations("box"))))


class SimulatedModel(ScriptedLM):
    """Answers every compact prompt of one level correctly, from the simulator: a fake for unit tests.

    Args:
        level: The level.
        wrong: Transitions to get wrong: (state, action) -> the words it answers.
        plans: Plans it proposes, in turn; shortest solutions by default.
    """

    def __init__(
        self,
        level: Level,
        wrong: dict[tuple[State, str], str] | None = None,
        plans: list[str] | None = None,
        **options: object,
    ) -> None:
        self.level, self.wrong, self.plans = level, wrong or {}, plans
        self.table = CostToGo(level)
        self._proposed = 0
        super().__init__(self._answer, prompt_format="compact", **options)  # type: ignore[arg-type]

    def _answer(self, request: Request, sample: int) -> str:
        assert isinstance(request.prompt, str)
        state = state_of(self.level, request.prompt)
        query = request.prompt.split(" <")[1]
        if query.startswith("plan"):
            if self.plans is not None:
                self._proposed += 1
                return self.plans[(self._proposed - 1) % len(self.plans)]
            return " " + " ".join(self.shortest(state)) if self.shortest(state) else ""
        if query.startswith("next"):
            action = query.split()[1]
            if (state, action) in self.wrong:
                return self.wrong[state, action]
            after = step(self.level, state, action)
            if after is None:
                return " invalid"
            return "".join(f" {self.level.coordinate(c)}" for c in (after.player, *after.boxes))
        if query.startswith("score"):
            left = self.table[state]
            return " hopeless" if left is None else " solved" if is_solved(self.level, state) else " open"
        action = re.search(r" action: \(?\??:?([UDLR])\)?$", str(getattr(request.constraint, "pattern", "")))
        move = action[1] if action else (self.shortest(state) or ["U"])[0]
        return f" next: move {move} action: {move}"

    def shortest(self, state: State) -> list[str]:
        """One shortest solution from a state."""
        moves: list[str] = []
        while self.table[state]:
            for action in "UDLR":
                after = step(self.level, state, action)
                if after is not None and self.table[after] == (self.table[state] or 0) - 1:
                    moves.append(action)
                    state = after
                    break
        return moves


def play(level=CORRIDOR, steps=4, agent=TapeAgent, model=None, **settings):  # type: ignore[no-untyped-def]
    """Play one episode; returns its result and its events."""
    options = {k: settings.pop(k) for k in ("budget", "simulator", "parent", "payer", "seed") if k in settings}
    trace = TraceWriter("test")
    model = model or SimulatedModel(level)
    result = agent(model, **settings).run(SokobanEnvironment(level, steps), trace=trace, **options)
    return result, trace.events
