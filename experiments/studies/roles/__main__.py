"""Measure a model in the roles of an environment.

``python -m experiments.studies.roles --model hf:FOLDER --environment sokoban --role plan -n 50``

With ``--out FILE`` every role is written there once it is measured, beside those of other models; the same command goes
on where it stopped, and asks again where a prompt's version, the seed, or the number of cases is another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tape.analysis.roles import RoleMeasure, measure
from tape.files import replace_file
from tape.lm.base import LanguageModel
from tape.lm.registry import open_model
from tape.plugins import load, names
from tape.protocols import prompt_version
from tape.protocols.role_cases import RoleCase

ENVIRONMENTS = "tape.environments"


def probed() -> list[str]:
    """The environments whose plugins make cases."""
    return [name for name in names(ENVIRONMENTS) if load(ENVIRONMENTS, name).roles]


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
    parser.add_argument(
        "--answer-tokens", type=int, metavar="N", help="cut every answer here (default: the limit of its prompt)"
    )
    parser.add_argument("--answers", type=Path, help="JSON Lines file to add every answer to")
    parser.add_argument("--out", type=Path, help="JSON file of results to add to")
    args = parser.parse_args(arguments)
    if args.threads is not None:
        import torch  # only models of this machine need it

        torch.set_num_threads(args.threads)
    model = open_model(args.model)
    print(f"# {model.name} ({model.identity}), seed {args.seed}\n{HEADER}", flush=True)
    for environment in args.environment or probed():
        plugin = load(ENVIRONMENTS, environment)
        if not plugin.roles:
            parser.error(f"{environment} makes no cases; those that do: {', '.join(probed())}")
        for role in plugin.roles:
            if args.role is not None and role not in args.role:
                continue
            version = prompt_version(load(ENVIRONMENTS, environment), model.prompt_format)
            asked = {
                "environment": environment,
                "role": role,
                "prompts": version,
                "cases": args.n,
                "seed": args.seed,
                "answer_tokens_at_most": args.answer_tokens,
            }
            if args.out is not None and _there(args.out, model, asked):
                print(f"{environment:14} {role:10} is in {args.out}", flush=True)
                continue
            cases = plugin.role_cases(model.prompt_format, role, args.n, args.seed)
            if args.answer_tokens is not None:
                cases = [cut(case, args.answer_tokens) for case in cases]
            found = asyncio.run(measure(model, cases, batch=args.batch))
            print(row(environment, found), flush=True)
            if args.out is not None:
                _add(args.out, model, asked, found)
            if args.answers is not None:
                _keep(args.answers, environment, found)
    return 0


def cut(case: RoleCase, tokens: int) -> RoleCase:
    """A case whose answer may have so many tokens at most."""
    return replace(case, request=replace(case.request, max_tokens=min(tokens, case.request.max_tokens)))


def _read(file: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _there(file: Path, model: LanguageModel, asked: Mapping[str, object]) -> bool:
    asked = {**asked, "identity": model.identity}
    return any(asked.items() <= found.items() for found in _read(file).get(model.name, []))


def _add(file: Path, model: LanguageModel, asked: Mapping[str, object], found: RoleMeasure) -> None:
    """Write a role's figures, in place of older ones of the same model."""
    results = _read(file)
    low, high = found.right_interval
    mean, most = found.prompt_tokens
    figures = {
        **asked,
        "identity": model.identity,
        "n": found.n,
        "valid": found.valid,
        "right": found.right,
        "right_95": [round(low, 3), round(high, 3)],
        "chance": None if found.chance is None else round(found.chance, 3),
        "prompt_tokens": round(mean, 1),
        "most_prompt_tokens": most,
        "answer_tokens": round(found.completion_tokens, 1),
        "seconds_a_case": round(found.seconds / max(1, found.n), 2),
        "failure": found.failure,
    }
    place = asked["environment"], asked["role"]
    others = [row for row in results.get(model.name, []) if (row["environment"], row["role"]) != place]
    results[model.name] = sorted([*others, figures], key=lambda row: str(row["environment"]))
    replace_file(file, json.dumps(results, indent=1, sort_keys=True) + "\n")


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
