"""``tape export RUN --to otel|inspect``: a finished run in the formats of other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    args = _parser().parse_args(argv)
    from tape.errors import ConfigError

    given = {"--endpoint": args.endpoint, "--content": args.content or None, "--out": args.out}
    foreign = ("--out",) if args.to == "otel" else ("--endpoint", "--content")
    for name in foreign:
        if given[name] is not None:
            raise ConfigError(f"{name} means nothing to --to {args.to}: leave it out")
    from tape.adapters import inspect_log, otlp
    from tape.adapters.operations import open_run

    if args.endpoint is not None:
        otlp.endpoint_of(args.endpoint)
    run = open_run(args.run, args.configuration)
    for note in run.notes:
        print(note, file=sys.stderr)
    if args.to == "otel":
        episodes, spans = otlp.export(run, args.endpoint, content=args.content)
        print(f"sent: {episodes} episode{'' if episodes == 1 else 's'} as {spans} spans")
    else:
        written = inspect_log.export(run, args.out)
        print(f"written: {written}   look at it: inspect view --log-dir {written.parent}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tape export",
        description="Export a finished run: as OpenTelemetry spans to a collector, or as a log of Inspect AI.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory, or a trace file")
    parser.add_argument("--to", choices=("otel", "inspect"), required=True, help="the format")
    parser.add_argument(
        "--configuration", metavar="NAME", help="only the episodes of this configuration, of a run that has several"
    )
    parser.add_argument(
        "--endpoint",
        metavar="URL",
        help="otel: the collector (default: OTEL_EXPORTER_OTLP_ENDPOINT, else port 4318 here)",
    )
    parser.add_argument(
        "--content", action="store_true", help="otel: prompts, completions, thoughts and observations, too"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.eval", help="inspect: the log (default: RUN/NAME.eval)")
    return parser
