"""BFCL multi-turn for the command line and the runner."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.bfcl.calls import read_call
from envs.bfcl.environment import BfclEnvironment
from envs.bfcl.functions import PRICES, parameters_of, use_of
from envs.bfcl.source import KINDS, VERSION, BfclSource, Conversation, source
from tape.budget import Budget
from tape.errors import ConfigError
from tape.protocols import Environment, EnvironmentPlugin, Task

TIGHTNESSES = ("none", "loose", "tight")
DEVELOPMENT = 100
"""The first tasks of ``base``, to develop on; all others are for evaluation."""


def budget(conversation: Conversation, parameters: Mapping[str, Any], tightness: str) -> Budget:
    """Caps made from the gold calls of a conversation.

    ``tight`` pays for them, and for one more call that reads in each turn; ``loose`` for twice as many; ``none`` caps
    the steps alone, at three times as many. A turn's end is a step.
    """
    calls = [use_of(read_call(name, parameters).name) for turn in conversation.gold for name in turn]
    turns = len(conversation.requests)
    if tightness == "none":
        return Budget({"steps": 3 * len(calls) + 2 * turns + 3})
    gold = sum(PRICES[use].worst()["usd"] or 0 for use in calls)
    more = turns * (PRICES["read"].worst()["usd"] or 0)
    if tightness == "tight":
        return Budget({"usd": gold + more, "steps": len(calls) + 2 * turns})
    return Budget({"usd": 2 * (gold + more), "steps": 2 * (len(calls) + 2 * turns)})


class BfclPlugin(EnvironmentPlugin):
    """Requests over several turns, done by calls of APIs that share a state."""

    name = "bfcl"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "3"})
    model = "smollm2"
    built_on = ("tape.tools",)
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--kind``, ``--part``, ``--tightness`` and ``--sample``."""
        parser.add_argument("--data", type=str, help=f"the folder of the unpacked wheel of bfcl-eval {VERSION}")
        parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help="the kind of conversations (default: base)")
        parser.add_argument(
            "--part",
            choices=("dev", "test"),
            default="dev",
            help=f"dev: the first {DEVELOPMENT} of base; test: all others (default: dev)",
        )
        parser.add_argument(
            "--tightness", choices=TIGHTNESSES, default="none", help="caps made from the gold calls (default: none)"
        )
        parser.add_argument("--sample", type=int, help="so many of them, drawn by a fixed seed (default: all)")

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per conversation."""
        if not options.get("data"):
            raise ConfigError(
                f"bfcl needs --data DIR, the folder of the unpacked wheel of bfcl-eval {VERSION} (`pip download "
                f"--no-deps bfcl-eval=={VERSION}`, then `unzip`); nothing of it is installed"
            )
        kind, part, tightness = options["kind"], options["part"], options["tightness"]
        wheel = source(Path(options["data"]))
        conversations = list(wheel.conversations(kind))
        if kind == KINDS[0]:
            conversations = conversations[:DEVELOPMENT] if part == "dev" else conversations[DEVELOPMENT:]
        elif part == "dev":
            raise ConfigError(f"all conversations of the kind {kind} are for evaluation; give --part test")
        if (count := options.get("sample")) is not None:
            if not 1 <= count <= len(conversations):
                raise ConfigError(f"--sample is from 1 to the {len(conversations)} conversations, not {count}")
            drawn = random.Random(0).sample(range(len(conversations)), count)
            conversations = [conversations[number] for number in sorted(drawn)]
        return [self._task(wheel, conversation, part, tightness) for conversation in conversations]

    @staticmethod
    def _task(wheel: BfclSource, conversation: Conversation, part: str, tightness: str) -> Task:
        content = json.dumps([asdict(conversation), VERSION], sort_keys=True, default=dict)
        suffix = "" if tightness == "none" else f"-{tightness}"
        return Task(
            id=conversation.id,
            level_set=f"bfcl-{conversation.kind}-{part}{suffix}",
            budget=budget(conversation, parameters_of(wheel, conversation.classes), tightness),
            digest=hashlib.sha256(content.encode()).hexdigest()[:16],
            facts={"conversation": conversation, "source": wheel, "split": part, "text": conversation.requests[0]},
        )

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        return BfclEnvironment(task.facts["conversation"], task.facts["source"])


PLUGIN = BfclPlugin()
