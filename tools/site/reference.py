"""Pages of the reference that are made of the code: the public names, the command line, and the prompts."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tape.cli.main import COMMANDS
from tools.site import prompts
from tools.site.public import PUBLIC

ROOT = Path(__file__).parents[2]


def pages() -> dict[str, str]:
    """Markdown by the page's path in docs/."""
    made = {f"reference/api/{name}.md": _names(name) for name in PUBLIC}
    made["reference/api/index.md"] = _overview()
    made["reference/cli.md"] = _command_line()
    return made | prompts.pages()


def _names(name: str) -> str:
    page = PUBLIC[name]
    parts = [f"# {page.title}\n\n{page.about}\n"]
    for module, names in page.names.items():
        parts += [f"::: {identifier(module, text)}\n" for text in names]
    return "\n".join(parts)


def identifier(module: str, name: str) -> str:
    """What the reference calls a name: where it is imported from, unless a module there has the same name."""
    below = Path(*module.split("."), f"{name}.py")
    return f"{module}.{name}.{name}" if (ROOT / below).exists() else f"{module}.{name}"


def _overview() -> str:
    lines = ["# Public names\n", "What is not listed here is private and may change without notice.\n"]
    lines += ["| page | for | names |", "|---|---|---|"]
    for name, page in PUBLIC.items():
        names = ", ".join(f"`{text}`" for listed in page.names.values() for text in listed)
        lines.append(f"| [{page.title}]({name}.md) | {page.about} | {names} |")
    return "\n".join([*lines, ""])


EXAMPLE = "sokoban"
"""The environment whose options are shown; each has its own."""


class _Parsed(BaseException):
    """The parser of a command has been made."""


def _command_line() -> str:
    parts = [
        "# Command line\n",
        "Exit codes: 0 complete, 1 some episodes errored or no path exists, 2 usage, 3 the run's budget is exhausted,"
        " 130 interrupted.\n",
    ]
    for command, about in COMMANDS.items():
        what, _, example = about.partition(": ")
        parts.append(f"## tape {command}\n\n{what[0].upper()}{what[1:]}.\n")
        if example:
            parts.append(f"```sh\n{example}\n```\n")
        parts += list(_options(parser_of(command)))
    return "\n".join(parts)


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser that a command makes of its arguments."""
    parsers: list[argparse.ArgumentParser] = []

    plain = argparse.ArgumentParser.parse_known_args

    def parse(self: argparse.ArgumentParser, *given: Any, **named: Any) -> Any:
        if not self.add_help:
            return plain(self, *given, **named)  # a look ahead, for the name of the environment
        parsers.append(self)
        raise _Parsed

    module = importlib.import_module(f"tape.cli.{command}")
    with (
        mock.patch.object(argparse.ArgumentParser, "parse_known_args", parse),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(_Parsed),
    ):
        module.main([EXAMPLE] if command == "run" else [])
    return parsers[-1]


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """A table for each group of options; and for each sub-command."""
    for group in parser._action_groups:
        rows = []
        for action in group._group_actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, below in action.choices.items():
                    yield f"### {parser.prog} {name}\n\n{below.description or ''}\n"
                    yield from _options(below)
            elif action.help is not argparse.SUPPRESS and "--help" not in action.option_strings:
                rows.append(_row(parser, action))
        if rows:
            yield "\n".join(["| option | default | meaning |", "|---|---|---|", *rows, ""])


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    usage = parser._get_formatter()
    name = ", ".join(action.option_strings) or action.metavar or action.dest
    value = (
        "" if action.nargs == 0 or not action.option_strings else " " + usage._format_args(action, action.dest.upper())
    )
    default = "" if action.default in (None, False, argparse.SUPPRESS, "", [], ()) else f"`{action.default}`"
    text = usage._expand_help(action) if action.help else ""
    cells = (f"`{name}{value}`", default, text)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
