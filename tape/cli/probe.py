"""``tape probe MODEL [ENVIRONMENT]``: what a model can do here, role by role, and the settings that fit."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tape.cli.numbers import real, whole
from tape.interrupts import cleaning_up
from tape.plugins import load, names

if TYPE_CHECKING:
    from tape.analysis.probe.advice import Advice
    from tape.analysis.probe.probing import Probing
    from tape.analysis.probe.record import Probe
    from tape.lm.base import LanguageModel

CASES, MINUTES, USD = 24, 10.0, "$0.50"
"""What is measured by default at most: cases of each role, minutes, money."""

EVERY = 5.0
"""Seconds between two plain lines of progress."""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    environments = names("tape.environments")
    chosen = next((word for word in argv if word in environments), None)
    parser = _parser(environments)
    options: list[str] = []
    if chosen is not None:
        own = parser.add_argument_group(f"{chosen} options", "from which tasks; see `tape run`")
        load("tape.environments", chosen).add_arguments(own)
        options = [action.dest for action in own._group_actions]
    args = parser.parse_args(argv)
    if args.environment not in (chosen, None):
        load("tape.environments", args.environment)  # raises: there is none of that name
    from tape.errors import TapeError
    from tape.runner.play import open_at_price
    from tape.show.progress import loading

    with loading(f"loading {args.model}"):
        model = open_at_price(args.model, args.cache, args.prices)
    again = shlex.join(["tape", "probe", *argv])
    if chosen is not None:
        probing = _probing(args, model, chosen, {name: getattr(args, name) for name in options}, episode=True)
        _report(args, again, [probing], json_list=False)
        return 0
    probings: list[Probing] = []
    for name in environments:
        try:
            probings.append(_probing(args, model, name, _defaults(name), episode=False))
        except (TapeError, ValueError, OSError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    for probing in probings:
        probing.share(len(probings))
    _report(args, again, probings, json_list=True)
    return 0 if probings else 1


def _probing(
    args: argparse.Namespace, model: LanguageModel, environment: str, options: Mapping[str, Any], *, episode: bool
) -> Probing:
    """The probe of one environment."""
    from tape.analysis.probe.measuring import ProbeLimits
    from tape.analysis.probe.probing import ProbeWanted, Probing
    from tape.show.progress import working

    plugin = load("tape.environments", environment)
    with working(f"reading the tasks of {environment}"):
        tasks = plugin.tasks(options)
    limits = ProbeLimits(args.cases, 60 * args.minutes, args.max_usd)
    wanted = ProbeWanted(
        model, args.model, plugin, environment, tasks, limits, args.seed, episode and not args.no_episode
    )
    return Probing(wanted, fresh=args.fresh)


def _defaults(environment: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    load("tape.environments", environment).add_arguments(parser)
    return vars(parser.parse_args([]))


def _report(args: argparse.Namespace, again: str, probes: Sequence[Probing], *, json_list: bool) -> None:
    """Measure what is missing and print everything; at an interrupt what there is."""
    from tape.analysis.probe.report import as_json, overview, report

    values: list[dict[str, Any]] = []
    judged: list[tuple[Probe, Advice]] = []

    def out(probe: Probe, advice: Advice | None) -> None:
        values.append(as_json(probe, advice))
        if not args.json:
            print(("\n" if len(values) > 1 else "") + report(probe, advice), end="", flush=True)

    with cleaning_up(lambda: f"what is measured is kept; {again} goes on"):
        for probing in probes:
            try:
                measured(probing)
            except KeyboardInterrupt:
                probing.probe.stopped = "interrupted"
                out(probing.probe, None)
                if args.json:
                    print(json.dumps(values if json_list else values[0], indent=1), flush=True)
                raise
            judged.append((probing.probe, probing.advice()))
            out(*judged[-1])
        if args.json:
            print(json.dumps(values if json_list else values[0], indent=1))
        elif len(judged) > 1:
            print(overview(judged), end="", flush=True)


def measured(probing: Probing) -> None:
    """Measure what is missing of a probe, and report on standard error what is done and what was there already."""
    probe = probing.probe
    if probing.complete:
        print(f"{probe.environment}: measured on {probe.date}, from the cache (--fresh: anew)", file=sys.stderr)
        return
    with _progress(probing) as noted:
        probing.run(noted)


@contextmanager
def _progress(probing: Probing) -> Iterator[Callable[[Probe], None]]:
    """Say how far it has got: in place on a terminal, else in a line every few seconds."""
    from rich.text import Text

    from tape.screen import guarded
    from tape.show.console import GuardedConsole
    from tape.show.progress import moves
    from tape.show.scene import Marks

    console, began, written = GuardedConsole(sys.stderr), time.monotonic(), -EVERY
    limit, total = probing.wanted.limits.seconds, probing.total

    def line(probe: Probe) -> str:
        done = sum(min(record.n, total) for record in probe.roles.values())
        roles = ", ".join(f"{record.role} {record.n}" for record in probe.roles.values())
        spent = f", ${probe.usd / 1e6:.4f}" if probe.usd else ""
        passed = time.monotonic() - began
        return f"probing {probe.environment}: {done} of {total} cases ({roles}), {passed:.0f} of {limit:.0f} s{spent}"

    first = (
        f"{probing.before} of {total} cases were answered before, the others" if probing.before else f"{total} cases"
    )
    limits = f"in {limit / 60:.3g} minutes at most"
    start = f"probing {probing.probe.environment}: {first} {limits}"
    if moves(console):
        with console.status(Text(start), spinner=Marks(console.encoding).spinner) as status, guarded():
            yield lambda probe: status.update(Text(line(probe)))
        return
    print(start, file=sys.stderr, flush=True)

    def noted(probe: Probe) -> None:
        nonlocal written
        now = time.monotonic() - began
        if now - written >= EVERY:
            written = now
            print(line(probe), file=sys.stderr, flush=True)

    yield noted


def dollars(text: str) -> int | None:
    """Reads an amount of money, or ``none``, for ``type=`` of ``argparse``; in millionths of a US dollar."""
    from tape.budget.resources import kind_of
    from tape.errors import ConfigError

    if text.strip().lower() == "none":
        return None
    try:
        return kind_of("usd").count(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(f"{error}; or none: no cap") from None


def _parser(environments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tape probe",
        description="Measure what a model can do in an environment: on small cases with known answers, how many of its "
        "answers in each role can be read and are right; how fast it is; what an episode takes; and which settings of "
        "the agent fit. What is measured is kept in the user's cache, and `tape run --auto-roles` goes by it.",
        epilog="docs/reference/probe.md explains the table.",
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL", help="see `tape models`")
    parser.add_argument(
        "environment",
        metavar="ENVIRONMENT",
        nargs="?",
        help=f"one of: {', '.join(environments)} (default: all, in equal parts of the time, without an episode)",
    )
    parser.add_argument("--cases", type=whole(most=1000), default=CASES, help=f"of each role (default: {CASES})")
    parser.add_argument(
        "--minutes", type=real(most=1440, above=True), default=MINUTES, help=f"at most (default: {MINUTES:g})"
    )
    parser.add_argument(
        "--max-usd",
        type=dollars,
        default=dollars(USD),
        metavar="AMOUNT",
        help=f"a hard cap on what is spent, or none (default: {USD.replace('%', '%%')})",
    )
    parser.add_argument(
        "--prices", type=Path, help="a JSON file with prices of models (docs/reference/budgets.md), before genai-prices"
    )
    parser.add_argument("--cache", type=Path, help="an SQLite file that keeps completions")
    parser.add_argument("--seed", type=whole(0), default=0, help="of the cases (default: 0)")
    parser.add_argument("--no-episode", action="store_true", help="play no episode to see what one costs")
    parser.add_argument("--fresh", action="store_true", help="measure anew what is in the cache")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser
