"""The main job of the project, ``make demo``: TAPE under hard budgets, in two parts.

Sokoban with bundled models, TAPE beside the same model's own single plan: the same shipped levels, language model, step
budget and seeds for both agents; every run is kept under ``--out`` and resumed by the same command. Then a support
agent with priced tools over MCP under three dollar caps, beside ReAct, with a scripted model
(:mod:`experiments.support`), and one HTML page of its six episodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.table import Table

from experiments.support.demo import show as support
from solvers.errors import SolverError
from tape.engine.settings import TapeConfig
from tape.errors import TapeError
from tape.lm.base import LanguageModel
from tape.lm.registry import open_model
from tape.plugins import load
from tape.protocols import prompt_version
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.runner import Runner
from tape.runner.spec import RunSpec
from tape.runner.summary import table
from tape.runner.workers import InProcess
from tape.screen import guard
from tape.show.progress import display, loading, working
from tape.show.replay import episode_name, pictures
from tape.trace import read_trace

AGENTS = ("open_loop", "tape")
TEXT = ("model", "levels", "agent")
COLUMNS = (*TEXT, "solved", "success", "95 % interval", "steps", "replans", "LM tokens", "over budget")
SPARE = ("success", "LM tokens", "replans", "steps", "over budget", "95 % interval")
"""Left out of the table on a narrow terminal, in this order."""
NARROW = 80
"""Columns of a terminal below which the table has no lines."""


def run_one(args: argparse.Namespace, model: LanguageModel, levels: str, agent: str) -> tuple[RunDirectory, list[Any]]:
    """Run one agent on one level set, or resume it."""
    plugin = load("tape.environments", "sokoban")
    options = {"levels": levels, "slack": 2}
    spec = RunSpec(
        environment="sokoban",
        options=options,
        agent=agent,
        config=TapeConfig(),
        model=model.name,
        model_identity=model.identity,
        seed=args.seed,
        repeats=args.repeats,
        prompt_version=prompt_version(plugin, model.prompt_format),
    )
    directory = RunDirectory(args.out / f"{model.name.replace(':', '-')}-{levels}-{agent}")
    configurations = [Configuration(spec.label(), spec, tuple(plugin.tasks(options)))]
    with display(f"{levels} {agent} {model.name}", quiet=args.quiet) as shown:
        groups = Runner(configurations, directory, InProcess(lambda _: model), shown.watcher()).run()
    return directory, groups


def draw_one(directory: RunDirectory) -> list[Path]:
    """Draw the plan graphs of the episode with the most replans among the solved ones."""
    episodes = directory.episodes()
    best = max(episodes, key=lambda line: (line["result"]["success"], line["result"]["replans"]))
    events = list(read_trace(directory.trace_file(best["key"])))
    name = episode_name(best, episodes, directory.configurations())
    with working("drawing the plan graphs") as report:
        return pictures(events, directory.path / "plots", name, report)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m experiments.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["bundled:nano", "bundled:mini"])
    parser.add_argument("--levels", nargs="+", default=["easy", "hard", "xhard"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("demo-run"))
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args(argv)
    began = time.monotonic()
    console = Console() if Console().is_terminal else Console(width=120)
    try:
        console.print("Sokoban with a hard budget of steps: the shortest solution plus 2.")
        groups: list[dict[str, Any]] = []
        drawn: list[Path] = []
        for name in args.models:
            with loading(f"loading {name}", console):
                model = open_model(name)
            for levels in args.levels:
                for agent in AGENTS:
                    directory, result = run_one(args, model, levels, agent)
                    groups += result
            drawn += draw_one(directory)
        _show(console, groups)
        (args.out / "summary.md").write_text(table(groups), encoding="utf-8")
        console.print()
        page = support(args.out / "support", console)
    except (TapeError, SolverError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; finished episodes are kept. `make demo` resumes.", file=sys.stderr)
        return 130
    print(f"\ntable: {args.out / 'summary.md'}\npictures of plan graphs with their paths:")
    for path in drawn:
        print(f"  {path}")
    print(f"replay an episode: .venv/bin/tape show {directory.path}\n{time.monotonic() - began:.0f} s")
    print(f"the support agent's episodes, to look at in a browser: {page}")
    return 0


def _show(console: Console, groups: Sequence[dict[str, Any]]) -> None:
    rows = []
    for g in groups:
        n = g["episodes"]
        low, high = g["ci95"]
        columns = (
            g["model"],
            g["level_set"],
            g["agent"],
            f"{g['successes']}/{n}",
            f"{g['success_rate']:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{g['mean_steps']:.1f}",
            f"{g['replans'] / n:.2f}",
            f"{g['lm_tokens'] / n:.0f}",
            str(g["budget_violations"]),
        )
        rows.append(dict(zip(COLUMNS, columns, strict=True)))
    left_out: list[str] = []
    while True:
        frame = HEAVY_HEAD if console.width >= NARROW else None
        shown = Table(title="TAPE beside the same model's own single plan (open loop)", title_style="bold", box=frame)
        for name in (column for column in COLUMNS if column not in left_out):
            shown.add_column(name, justify="left" if name in TEXT else "right", no_wrap=True)
        for row in rows:
            shown.add_row(*(cell for name, cell in row.items() if name not in left_out))
        wide = console.measure(shown, options=console.options.update(width=1000)).maximum
        if wide <= console.width or len(left_out) == len(SPARE):
            break
        left_out.append(SPARE[len(left_out)])
    console.print(shown)
    console.print("Means per episode; intervals over levels. Same levels, model, budget and seeds for both agents.")
    if left_out:
        console.print(f"Not shown for want of room, but in the table below: {', '.join(left_out)}.")


if __name__ == "__main__":
    guard()
    sys.exit(main())
