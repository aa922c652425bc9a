"""Entry point of the ``tape`` command.

Exit codes: 0 complete, 1 some episodes errored or no path exists, 2 usage, 3 the run's
budget is exhausted, 130 interrupted (143 by SIGTERM, 129 by SIGHUP), 141 the output has no reader.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tape.interrupts import interrupted, let_go, line, own_process

# Nothing else is imported here: a Ctrl-C before the guard stands would end in a traceback.

COMMANDS = {
    "run": "play the tasks of an environment and summarise: tape run sokoban --levels easy --out DIR",
    "show": "replay an episode of a run and draw its plan graphs: tape show DIR [EPISODE]",
    "why": "explain why an agent did what it did, and which budget decided: tape why DIR [EPISODE]",
    "view": "write one HTML page of a run, or of two side by side: tape view RUN [RUN2] [-o run.html]",
    "resume": "go on with an episode from its trace: tape resume TRACE --in tools.py [--budget '$0.10']",
    "export": "write a run for other viewers, OpenTelemetry or Inspect AI: tape export RUN --to otel",
    "solve": "pick the best path of a plan graph under a budget: tape solve GRAPH.json --budget steps=8",
    "plan": "pick the best of your plans under a budget, or all worth having: tape plan FILE --frontier usd,value",
    "gateway": "give any agent a budget: an MCP server before others, each call priced: tape gateway CONFIG.toml",
    "serve": "serve agents over HTTP, as OpenAI's models and as runs to watch: tape serve module:agent",
    "ledger": "caps that programs and hosts share, and what is left of them: tape ledger show --url URL",
    "audit": "list the calls in the audit log of a gateway, or check it: tape audit FILE --check",
    "models": "list the language models that can be used here",
    "prices": "what models cost, and what a call costs at worst: tape prices openai:gpt-4o-mini",
    "probe": "measure what a model can do here, and which settings fit: tape probe MODEL [ENVIRONMENT]",
    "solvers": "list the solvers that can be used here",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Args:
        argv: The command line. None takes that of this process, which then is the command's own: Ctrl-C ends it.
    """
    if argv is None:
        return own_process(_name(sys.argv[1:]), _own)
    from tape.screen import guarded

    with guarded():
        try:
            return _run(list(argv))
        except KeyboardInterrupt:
            print(line(_name(argv)), file=sys.stderr)
            return 130


def _own() -> int:
    from tape.screen import guard

    guard()  # for good: a traceback is printed last of all
    return _run(sys.argv[1:])


def _name(arguments: Sequence[str]) -> str:
    return f"tape {arguments[0]}" if arguments and arguments[0] in COMMANDS else "tape"


def _run(arguments: Sequence[str]) -> int:
    return ended(_name(arguments), lambda: _done(arguments))


def ended(name: str, run: Callable[[], int]) -> int:
    """The exit status of a command; an error is a line, and output that cannot be written is one, in time."""
    from tape.errors import TapeError

    try:
        try:
            return run()
        finally:
            sys.stdout.flush()  # what cannot be written is reported now, not in the interpreter's last moments
    except BrokenPipeError:
        let_go(sys.stdout)
        return 141
    except (TapeError, OSError) as error:
        if interrupted():
            raise
        print(f"{name}: {error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            let_go(sys.stdout)  # the interpreter would try again
        return 2


def _done(arguments: Sequence[str]) -> int:
    import argparse
    import atexit
    import gc
    import importlib

    listed = "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="tape",
        description="LLM agents with hard budgets: an LLM proposes plans, an exact solver picks the best that fits.",
        epilog=f"commands:\n{listed}\n\n`tape COMMAND --help` describes one.",
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
    from tape.errors import TapeError
    from tape.plugins import check_not_shadowed

    check_not_shadowed("solvers")
    # The interpreter's last searches for garbage among the modules of torch take a fifth of a small run.
    atexit.register(gc.freeze)
    from solvers.errors import SolverError

    try:
        return int(importlib.import_module(f"tape.cli.{known.command}").main(arguments[1:]))
    except SolverError as error:
        raise TapeError(str(error)) from error
