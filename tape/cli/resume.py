"""``tape resume TRACE``: go on with an episode from its trace."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tape.agents.base import Agent
    from tape.protocols.result import EpisodeResult


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0 after a success, 1 after another end."""
    parser = argparse.ArgumentParser(
        prog="tape resume",
        description="Go on with an episode that was interrupted, killed, stopped, or ended by its budget. What was "
        "called is not called again, and the model is not asked again.",
    )
    parser.add_argument("trace", type=Path, metavar="TRACE", help="what agent.run(..., trace=...) was given")
    parser.add_argument(
        "--in", dest="place", required=True, metavar="MODULE[:NAME]", help="a module or a file.py with the tools; NAME "
        "is a list of tools, an environment, or a function that makes one (default: all tools of the module)",
    )  # fmt: skip
    parser.add_argument("--budget", default="", help="higher caps, for instance '$0.10, 40 steps'")
    parser.add_argument(
        "--on-unfinished", choices=("ask", "assume_done", "retry"), default="ask", help="what becomes of a call that "
        "was under way and may be done (default: ask on a terminal)",
    )  # fmt: skip
    args = parser.parse_args(argv)
    from tape.agents.record import TraceRecord
    from tape.engine.settings import TapeConfig
    from tape.errors import ConfigError, UnfinishedCallError, UnknownNameError
    from tape.plugins import load

    described = dict(TraceRecord(args.trace).started.config)
    made, model = load("tape.agents", described.pop("agent")), described.pop("model")
    try:
        agent: Agent = made(model, TapeConfig.make(**described))
    except UnknownNameError as error:
        if error.what != "model":
            raise
        raise ConfigError(
            f"{args.trace}: its model is called {model!r}, which names no model that this command can open; an episode "
            "whose model was an object, such as ScriptedLM, goes on in Python: agent.resume(trace, tools=[...])"
        ) from error
    place = _found(args.place)
    try:
        result = _resumed(agent, args, place, args.on_unfinished)
    except UnfinishedCallError as error:
        if not sys.stdin.isatty():
            raise
        result = _resumed(agent, args, place, _asked(error))
    print(f"{result.end_state}{f': {result.detail}' if result.detail else ''}")
    if result.answer is not None:
        print(f"answer: {result.answer}")
    print("spent: " + (", ".join(f"{kind} {amount}" for kind, amount in result.spent.items()) or "nothing"))
    return 0 if result.success else 1


def _resumed(agent: Agent, args: argparse.Namespace, place: Any, on_unfinished: Any) -> EpisodeResult:
    """Resume in an environment, or with tools."""
    from tape.protocols import Environment

    env = place if isinstance(place, Environment) else None
    tools = None if env is not None else place
    return agent.resume(args.trace, env, tools=tools, budget=args.budget or None, on_unfinished=on_unfinished)


def _asked(error: Exception) -> str:
    """Ask a person what became of the call."""
    print(error, file=sys.stderr)
    while True:
        try:
            answer = input("Is it done? [y]es: assume_done, [n]o: retry, Ctrl-C: leave it as it is: ").strip().lower()
        except (EOFError, UnicodeError):  # Ctrl-D, or keys of another encoding
            raise error from None
        if answer[:1] in ("y", "n"):
            return "assume_done" if answer[0] == "y" else "retry"


def _found(named: str) -> Any:
    """The tools or the environment that are named."""
    from tape.errors import ConfigError, error_text
    from tape.protocols import Environment
    from tape.tools.tool import Tool

    module, _, name = named.partition(":")
    if module.endswith(".py"):
        path = Path(module)
        module = path.stem
        sys.path.insert(0, str(path.parent.resolve()))
    else:
        sys.path.insert(0, str(Path.cwd()))
    try:
        loaded = importlib.import_module(module)
        variables: Any = (
            getattr(loaded, name)
            if name
            else [variable for variable in vars(loaded).values() if isinstance(variable, Tool)]
        )
        if callable(variables) and not isinstance(variables, Tool | Environment):
            variables = variables()
    except Exception as error:  # whatever a module raises
        raise ConfigError(f"--in {named}: it cannot be imported: {error_text(error)}") from error
    if not isinstance(variables, Environment) and not (variables and all(isinstance(item, Tool) for item in variables)):
        raise ConfigError(f"--in {named}: neither an environment nor a list of tools")
    return variables
