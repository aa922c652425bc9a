"""AgentDojo for the command line and the runner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.agentdojo.environment import AgentDojoEnvironment, DojoCase, suite_of, suites
from envs.agentdojo.source import BENCHMARK, SUITES, VERSION, DojoSource, require_extra, source
from envs.agentdojo.tools import PRICES, SuiteWorld, use_of
from tape.budget import Budget
from tape.errors import ConfigError
from tape.protocols import Environment, EnvironmentPlugin, Task

TIGHTNESSES = ("none", "loose", "tight")
DEVELOPMENT = 4
"""The first tasks of each user's list, to develop on; all others are for evaluation."""


def budget(gold: Sequence[Mapping[str, Any]], tightness: str) -> Budget:
    """Caps made from the gold calls.

    ``tight`` pays for them and for two more calls that read; ``loose`` for twice as many; ``none`` caps the steps
    alone, at three times as many. The answer is a step.
    """
    if tightness == "none":
        return Budget({"steps": 3 * len(gold) + 5})
    usd = sum(PRICES[use_of(mapping["name"])].worst()["usd"] or 0 for mapping in gold) + 2 * (
        PRICES["read"].worst()["usd"] or 0
    )
    steps = len(gold) + 3
    return Budget({"usd": usd, "steps": steps} if tightness == "tight" else {"usd": 2 * usd, "steps": 2 * steps})


class AgentDojoPlugin(EnvironmentPlugin):
    """Requests over bank accounts, chats, trips and offices, with texts in the results that ask for something else."""

    name = "agentdojo"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "2"})
    model = "smollm2"
    built_on = ("tape.tools",)
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--suite``, ``--attack``, ``--part`` and ``--tightness``."""
        parser.add_argument("--data", type=str, help=f"the folder of the unpacked wheel of agentdojo {VERSION}")
        parser.add_argument("--suite", choices=(*SUITES, "all"), default="all", help="the suite (default: all)")
        parser.add_argument(
            "--attack", action="store_true", help="each task with each injected task whose calls are known"
        )
        parser.add_argument(
            "--part",
            choices=("dev", "test"),
            default="dev",
            help=f"dev: the first {DEVELOPMENT} tasks of each suite; test: all others (default: dev)",
        )
        parser.add_argument(
            "--tightness", choices=TIGHTNESSES, default="none", help="caps made from the gold calls (default: none)"
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per request, or per request and injected task."""
        require_extra()
        if not options.get("data"):
            raise ConfigError(
                f"agentdojo needs --data DIR, the folder of the unpacked wheel of agentdojo {VERSION} (`pip download "
                f"--no-deps agentdojo=={VERSION}`, then `unzip`); nothing of it is installed"
            )
        wheel = source(Path(options["data"]))
        chosen = SUITES if options["suite"] == "all" else (options["suite"],)
        return [task for suite in chosen for task in self._of(wheel, suite, options)]

    def _of(self, wheel: DojoSource, suite: str, options: Mapping[str, Any]) -> list[Task]:
        mapping, process, tightness = suite_of(wheel, suite), suites(wheel), options["tightness"]
        users = list(mapping["users"])
        users = users[:DEVELOPMENT] if options["part"] == "dev" else users[DEVELOPMENT:]
        made = []
        for user in users:
            world = SuiteWorld.of(process, suite, user, {})
            injections = [item for item in mapping["injections"] if world.gold(item)] if options["attack"] else [""]
            caps = budget(world.gold(), tightness)
            world.close()
            made += [self._task(wheel, DojoCase(suite, user, injection), caps, options) for injection in injections]
        return made

    @staticmethod
    def _task(wheel: DojoSource, case: DojoCase, caps: Budget, options: Mapping[str, Any]) -> Task:
        part, tightness = options["part"], options["tightness"]
        content = json.dumps([*case, VERSION, BENCHMARK])
        suffix = "" if tightness == "none" else f"-{tightness}"
        return Task(
            id=case.id,
            level_set=f"agentdojo-{'attack-' if case.injection else ''}{part}{suffix}",
            budget=caps,
            digest=hashlib.sha256(content.encode()).hexdigest()[:16],
            facts={
                "case": case,
                "source": wheel,
                "split": part,
                "text": suite_of(wheel, case.suite)["users"][case.user],
            },
        )

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        return AgentDojoEnvironment(task.facts["case"], task.facts["source"])


PLUGIN = AgentDojoPlugin()
