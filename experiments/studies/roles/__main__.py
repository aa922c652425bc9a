"""Measure a model in the roles of an environment.

``python -m experiments.studies.roles --model hf:FOLDER --environment sokoban --role plan -n 50``
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tape.analysis.roles import RoleMeasure, measure
from tape.lm.registry import open_model
from tape.plugins import load, names
from tape.protocols.role_cases import ProbedPlugin

ENVIRONMENTS = "tape.environments"


def probed() -> list[str]:
    """The environments whose plugins make cases."""
    return [name for name in names(ENVIRONMENTS) if isinstance(load(ENVIRONMENTS, name), ProbedPlugin)]


def row(environment: str, found: RoleMeasure) -> str:
    """One line of the table."""
    low, high = found.right_interval
    chance = "    -" if found.chance is None else f"{found.chance:5.2f}"
    mean, most = found.prompt_tokens
    failed = f"  {found.failure[:160]}" if found.failure else ""
    return (
        f"{environment:14} {found.role:10} {found.n:4} {found.valid:6} {found.right:6}  {low:.2f}-{high:.2f} {chance} "
        f"{mean:7.0f} {most:6} {found.completion_tokens:6.0f} {found.seconds:8.1f}{failed}"
    )


HEADER = (
    f"{'environment':14} {'role':10} {'n':>4} {'valid':>6} {'right':>6}  {'95 %':9} {'chance':>5} "
    f"{'prompt':>6} {'most':>6} {'answer':>6} {'seconds':>8}"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row per role."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.roles", description=__doc__)
    parser.add_argument("--model", required=True, help="for instance hf:FOLDER, or an endpoint's")
    parser.add_argument("--environment", action="append", help="an environment; repeat for several (default: all)")
    parser.add_argument("--role", action="append", help="a role; repeat for several (default: all)")
    parser.add_argument("-n", type=int, default=50, help="cases a role (default: 50)")
    parser.add_argument("--seed", type=int, default=1, help="of the cases; 0 is that of the pages (default: 1)")
    parser.add_argument("--batch", type=int, default=5, help="cases asked at once (default: 5)")
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--answers", type=Path, help="JSON Lines file to add every answer to")
    args = parser.parse_args(arguments)
    if args.threads is not None:
        import torch  # only models of this machine need it

        torch.set_num_threads(args.threads)
    model = open_model(args.model)
    print(f"# {model.name} ({model.identity}), seed {args.seed}\n{HEADER}", flush=True)
    for environment in args.environment or probed():
        plugin = load(ENVIRONMENTS, environment)
        if not isinstance(plugin, ProbedPlugin):
            parser.error(f"{environment} makes no cases; those that do: {', '.join(probed())}")
        for role in plugin.roles:
            if args.role is not None and role not in args.role:
                continue
            cases = plugin.role_cases(model.prompt_format, role, args.n, args.seed)
            found = asyncio.run(measure(model, cases, batch=args.batch))
            print(row(environment, found), flush=True)
            if args.answers is not None:
                _keep(args.answers, environment, found)
    return 0


def _keep(file: Path, environment: str, found: RoleMeasure) -> None:
    with file.open("a", encoding="utf-8") as lines:
        for answered in found.answers:
            judged = answered.judged
            record = {
                "environment": environment,
                "role": found.role,
                "case": answered.case.id,
                "valid": judged.valid,
                "right": judged.right,
                "why": judged.why,
                "text": answered.text,
                "ideal": answered.case.ideal,
            }
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
