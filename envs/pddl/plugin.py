"""Planning problems for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.pddl.environment import PddlEnvironment
from envs.pddl.errors import PddlError
from envs.pddl.planners import DEFAULT
from envs.pddl.search import Bounds
from tape.plugins import require_extra
from tape.protocols import Environment, EnvironmentPlugin, Task


class PddlPlugin(EnvironmentPlugin):
    """Planning problems in PDDL."""

    name = "pddl"
    model = "declared:first"
    proposer = f"planner:{DEFAULT}"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "1", "declared": "1"})
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--domain``, ``--problem``, ``--cap`` and the bounds of planners."""
        parser.add_argument("--domain", metavar="FILE", required=True, help="the domain in PDDL")
        parser.add_argument("--problem", metavar="FILE", nargs="+", required=True, help="one problem or several")
        parser.add_argument(
            "--cap",
            metavar="NAME=AMOUNT",
            action="append",
            default=[],
            help="the most of a number, for instance total_cost=12 or fuel_truck1=100; several times for several",
        )
        parser.add_argument("--planner-seconds", type=float, default=60, help="of each planner (default: 60)")
        parser.add_argument("--planner-memory", type=int, default=2048, help="of each planner, in MiB (default: 2048)")
        parser.add_argument("--states", type=int, default=20_000, help="the most of the exact search (default: 20000)")

    def require_installed(self) -> None:
        """Check that unified-planning is there."""
        require_extra("pddl", "unified_planning", what="planning problems")

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task for each problem."""
        caps = dict(map(_cap, options["cap"]))
        limits = (options["planner_seconds"], options["planner_memory"], options["states"])
        if min(limits) <= 0:
            raise PddlError("--planner-seconds, --planner-memory and --states must be positive")
        domain, problems = Path(options["domain"]), [Path(item) for item in options["problem"]]
        names = _names(problems)
        return [self._task(domain, problem, name, caps, limits) for problem, name in zip(problems, names, strict=True)]

    def _task(
        self, domain: Path, problem: Path, name: str, caps: Mapping[str, str], limits: tuple[float, int, int]
    ) -> Task:
        facts = {"domain": domain.resolve(), "problem": problem.resolve(), "caps": caps, "limits": limits}
        environment = PddlEnvironment(domain, problem, caps)
        content = hashlib.sha256(domain.read_bytes() + b"\0" + problem.read_bytes() + repr(caps).encode())
        text = environment.domain.task_text()
        return Task(
            name, domain.stem, environment.budget, digest=content.hexdigest()[:16], facts={**facts, "text": text}
        )

    def make(self, task: Task) -> Environment:
        """A fresh environment."""
        facts = task.facts
        return PddlEnvironment(facts["domain"], facts["problem"], facts["caps"], Bounds(*facts["limits"]))


def _cap(given: str) -> tuple[str, str]:
    name, equals, amount = given.partition("=")
    if not equals or not name:
        raise PddlError(f"--cap {given}: write NAME=AMOUNT, for instance total_cost=12")
    return name, amount


def _names(problems: list[Path]) -> list[str]:
    """The name of each file, with its folder where two are alike."""
    stems = [problem.stem for problem in problems]
    return stems if len(set(stems)) == len(stems) else [str(problem) for problem in problems]


PLUGIN = PddlPlugin()
