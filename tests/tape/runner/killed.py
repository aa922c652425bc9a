"""A run to be killed: ``python -m tests.tape.runner.killed KIND OUT WORKERS CALLS COUNT``.

KIND is sokoban (a bundled model), tools or alfworld (a script that needs no torch, so that a start is short). CALLS is
the run's budget; COUNT is a file that gets a byte for each call of a model, before it is answered.
"""

import json
import os
import random
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.errors import TapeError
from tape.lm.base import Completion, LanguageModel, OneOf, Request
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM
from tape.plugins import load
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.processes import Processes
from tape.runner.runner import Runner
from tape.runner.spec import RunSpec
from tape.runner.workers import InProcess

KINDS = ("sokoban", "tools", "alfworld")
EXHAUSTED, STOPPED = 3, 4
"""Exit statuses: the run's budget is used up; the run stopped with a sentence."""


def games() -> str | None:
    """The folder of the official ALFWorld games."""
    folder = os.environ.get("TAPE_TEST_DATA")
    return None if folder is None else str(Path(folder) / "alfworld")


PLAYED: dict[str, tuple[str, dict[str, Any], int, tuple[str, ...], str]] = {
    # The last configuration has the episodes of the first, which are played once and committed for both.
    "sokoban": ("sokoban", {"levels": "easy", "slack": 2}, 3, ("tape", "react", "tape again"), "bundled:nano"),
    "tools": (
        "gsm_hard", {"problems": "dev", "profile": "priced", "tightness": "none"}, 4,
        ("react", "open_loop", "react again"), "scripted",
    ),
    "alfworld": ("alfworld", {"data": games(), "count": 3}, 3, ("react", "open_loop", "react again"), "scripted"),
}  # fmt: skip
"""Environment, options, tasks, agents, model."""


def reply(kind: str, request: Request, sample: int) -> str:
    """An answer that depends on the request alone, in every process and at any time."""
    prompt = request.prompt if isinstance(request.prompt, str) else "\n".join(part.content for part in request.prompt)
    rng = random.Random(f"{prompt} {sample}")
    if isinstance(request.constraint, OneOf):
        return rng.choice(request.constraint.options)
    acts = request.role == "act"
    if kind == "tools":
        calls = [
            {"tool": rng.choice(("add.quick", "multiply.exact", "subtract.standard")), "arguments": {"a": 2, "b": b}}
            for b in range(3)
        ]
        if acts and "#3" in prompt.rpartition("So far:")[2]:
            calls[0] = {"tool": "answer", "arguments": {"value": "#3"}}
        return json.dumps({"thought": "", "call": calls[0]} if acts else {"calls": calls, "answer": "#2"})
    places = re.findall(r"^- ([a-z]+ [0-9]+):", prompt, re.MULTILINE) or ["drawer 1"]
    actions = [f"{rng.choice(('go to', 'open'))} {rng.choice(places)}" for _ in range(6)]
    return json.dumps({"thought": "", "action": actions[0]} if acts else {"actions": actions})


class Counted:
    """A model whose calls are counted in a file that every process appends to."""

    def __init__(self, model: LanguageModel, file: str) -> None:
        self._model, self._file = model, file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def _count(self, requests: Sequence[Request]) -> None:
        with open(self._file, "ab", buffering=0) as file:
            file.write(b"." * len(requests))

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self._count(requests)
        return await self._model.generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> Any:
        self._count(requests)
        return await self._model.score_options(requests)


def opened(name: str, kind: str, count: str) -> Any:
    """Opens a model, in whichever process."""
    return Counted(ScriptedLM(partial(reply, kind)) if name == "scripted" else open_model(name), count)


def main(kind: str, out: str, workers: str, calls: str, count: str) -> int:
    environment, options, limit, agents, model = PLAYED[kind]
    tasks = tuple(load("tape.environments", environment).tasks(options)[:limit])
    opener = partial(opened, kind=kind, count=count)
    shared: dict[str, Any] = {
        "environment": environment, "options": options, "config": TapeConfig(), "model": model,
        "model_identity": opener(model).identity, "budget": {"steps": 8}, "repeats": 2, "batch": 3,
    }  # fmt: skip
    configurations = [Configuration(name, RunSpec(agent=name.split()[0], **shared), tasks) for name in agents]
    with InProcess(opener) if workers == "1" else Processes(int(workers), opener) as pool:
        runner = Runner(configurations, RunDirectory(Path(out)), pool, run_budget=Budget({"calls": int(calls)}))
        try:
            runner.run()
        except TapeError as error:
            print(error)
            return STOPPED
    return 0 if runner.exhausted is None else EXHAUSTED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
