"""Entry point of the ``tape`` command.

Exit codes: 0 complete, 1 some episodes errored or no path exists, 2 usage, 3 the run's
budget is exhausted, 130 interrupted.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import signal
import sys
import threading
from collections.abc import Sequence

COMMANDS = {
    "run": "play the tasks of an environment and summarise: tape run sokoban --levels easy --out DIR",
    "show": "replay an episode of a run and draw its plan graphs: tape show DIR [EPISODE]",
    "why": "say why an agent did what it did, and which budget decided: tape why DIR [EPISODE]",
    "view": "write one HTML page of a run, or of two side by side: tape view RUN [RUN2] [-o run.html]",
    "diagnose": "say what became of the episodes of a run, and why: tape diagnose DIR [-o FOLDER]",
    "solve": "pick the best path of a plan graph under a budget: tape solve GRAPH.json --budget steps=8",
    "serve": "serve a model to OpenAI clients on this machine: tape serve bundled:mini",
    "models": "list the language models that can be used here",
    "solvers": "list the solvers that can be used here",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    listed = "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="tape",
        description="LLM agents with hard budgets: an LLM proposes plans, an exact solver picks the best that fits.",
        epilog=f"commands:\n{listed}\n\n`tape COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="COMMAND", help=", ".join(COMMANDS))
    known = parser.parse_args(arguments[:1])
    if known.version:
        from tape import __version__

        print(f"tape {__version__}")
        return 0
    if known.command is None:
        parser.print_help()
        return 2
    from tape.errors import ShadowedPackageError, TapeError
    from tape.plugins import check_not_shadowed

    try:
        check_not_shadowed("solvers")
    except ShadowedPackageError as error:
        print(f"tape {known.command}: {error}", file=sys.stderr)
        return 2
    _hear_interrupts()
    # The interpreter's last searches for garbage among the modules of torch take a fifth of a small run.
    atexit.register(gc.freeze)
    from solvers.errors import SolverError

    try:
        command = importlib.import_module(f"tape.cli.{known.command}")
        return int(command.main(arguments[1:]))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    except (TapeError, SolverError, OSError) as error:
        print(f"tape {known.command}: {error}", file=sys.stderr)
        return 2


def _hear_interrupts() -> None:
    """Let SIGINT interrupt the command even where it was started with the signal ignored.

    A non-interactive shell starts ``tape run ... &`` so; ``kill -INT`` should end such a run as Ctrl-C ends another.
    """
    main_thread = threading.current_thread() is threading.main_thread()
    if main_thread and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
