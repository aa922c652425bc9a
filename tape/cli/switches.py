"""The agents' switches as command-line options, one for every setting.

The settings of a method, AEC or SDP, are read only where it is used, or where help is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic.fields import FieldInfo

from tape.agents.base import Agent
from tape.budget import Budget
from tape.cli.numbers import LARGEST, whole
from tape.engine.ablations import PAPER, Ablations, changed
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.plugins import METHODS, load, names
from tape.protocols.method import method

OWN = "the agent's "
"""How the titles of groups begin that ``--help`` shows as well."""
_PAPER = "TAPE as the paper has it, without this engine's additions; an --ablation that is given beside it counts"
_VERIFY = "aec: commit only to paths, and answer only from facts, that grounded evidence certifies (default: none)"


def add_switches(parser: argparse.ArgumentParser, methods: Iterable[str]) -> None:
    """Add an option for every setting of the engine, and of these methods."""
    group = parser.add_argument_group("switches of the agent")
    group.add_argument("--paper", action="store_true", help=_PAPER)
    group.add_argument("--ablation", metavar="NAME=VALUE", action="append", default=[], help=_ablations())
    group.add_argument("--verify", metavar="METHOD", type=_verifier, default="none", help=_VERIFY)
    _add(group, _engine())
    for name in methods:
        title = f"{'' if method(name).verifies else OWN}switches of {name}"
        _add(parser.add_argument_group(title), method(name).settings.model_fields)


def shorten(parser: argparse.ArgumentParser, shown: Collection[str]) -> None:
    """Leave all options but these, and those of the agent's own methods, out of the help; all are read."""
    for group in parser._action_groups:
        for action in group._group_actions:
            if action.dest not in shown and not (group.title or "").startswith(OWN):
                action.help = argparse.SUPPRESS


def _add(group: Any, fields: Mapping[str, FieldInfo]) -> None:
    for name, field in fields.items():
        if name == "verify":
            continue  # one switch for all methods
        option, default = "--" + name.replace("_", "-"), field.get_default(call_default_factory=True)
        text = field.description or ""
        text = text if default in (None, {}, "") else f"{text} (default: {_shown(default)})"
        # Of a choice that may be left open, the choices.
        kinds = [kind for kind in get_args(field.annotation) if get_args(kind)] or [field.annotation]
        choices = get_args(kinds[0])
        if isinstance(default, bool):
            group.add_argument(
                option, nargs="?", const="on", choices=("on", "off"), default=argparse.SUPPRESS, help=text
            )
        elif choices and all(isinstance(choice, str) for choice in choices):
            group.add_argument(option, choices=choices, default=argparse.SUPPRESS, help=text)
        elif isinstance(default, dict):
            group.add_argument(option, default=argparse.SUPPRESS, help=text)
        else:
            whole_number = default is None or isinstance(default, int)
            kind: Any = whole(-LARGEST, LARGEST) if whole_number else type(default)  # each setting has its own range
            group.add_argument(option, type=kind, default=argparse.SUPPRESS, help=text)


def methods_of(argv: Sequence[str], usual: str = "tape") -> list[str]:
    """The methods whose options a command line may hold: those that it uses; where it asks for help, all of its agent.

    Raises:
        UnknownNameError: It names an agent that does not exist.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--agent", default=usual)
    early.add_argument("--verify", default="none")
    try:
        chosen, _ = early.parse_known_args([*argv])
    except argparse.ArgumentError:
        return []  # the real parser reports what is wrong
    agent: type[Agent] = load("tape.agents", chosen.agent)
    if {"-h", "--help", "--help-all"} & {*argv} and agent.verifies:
        return [name for name in names(METHODS) if method(name).verifies or name in agent.methods]
    verified = [chosen.verify] if _verifies(chosen.verify) and not agent.searches else []
    return [*verified, *agent.methods]


def _verifies(name: str) -> bool:
    return name in names(METHODS) and method(name).verifies


def _verifier(name: str) -> str:
    """The name of a method that verifies; no other method is loaded for it."""
    if name != "none" and not _verifies(name):
        known = ", ".join(["none", *filter(_verifies, names(METHODS))])
        raise argparse.ArgumentTypeError(f"invalid choice: {name!r} (choose from {known})")
    return name


def explain_unknown(parser: argparse.ArgumentParser, unknown: Sequence[str], methods: Sequence[str]) -> None:
    """End with a usage error; where an option belongs to a method that is not in use, it names how to use that."""
    if not unknown:
        return
    for part in unknown:
        option = part.partition("=")[0]
        owners = [result for result in map(method, names(METHODS)) if option in _options(result.settings.model_fields)]
        if owners and not {owner.name for owner in owners} & {*methods}:
            unused = "which is not in use here" if len(owners) == 1 else "none of which is in use here"
            ways = " or ".join(owner.chosen_by for owner in owners)
            parser.error(f"{option} is a setting of {' and '.join(o.name for o in owners)}, {unused}; add {ways}")
    parser.error(f"unrecognized arguments: {' '.join(unknown)}")


def _options(fields: Iterable[str]) -> set[str]:
    return {"--" + name.replace("_", "-") for name in fields}


def config_of(args: argparse.Namespace, methods: Sequence[str], proposer: str = "lm") -> TapeConfig:
    """The configuration that the options name; ``proposer`` where they name none."""
    ablations = {**(changed(PAPER) if args.paper else {}), **dict(map(_ablation, args.ablation))}
    settings = {"proposer": proposer, **_given(args, _engine()), "ablations": ablations}
    return TapeConfig.make(**settings, **{name: _given(args, method(name).settings.model_fields) for name in methods})


def _given(args: argparse.Namespace, fields: Mapping[str, FieldInfo]) -> dict[str, Any]:
    """The settings among the options of a command line, and no others."""
    settings: dict[str, Any] = {}
    for name in fields.keys() & vars(args).keys():
        given, value = getattr(args, name), fields[name].get_default(call_default_factory=True)
        if isinstance(value, bool):
            given = given == "on"
        elif isinstance(value, dict):
            given = dict(Budget.parse(given))
        settings[name] = given
    return settings


def _engine() -> dict[str, FieldInfo]:
    """The engine's settings that are options."""
    return {name: field for name, field in TapeConfig.model_fields.items() if name not in ("methods", "ablations")}


def _ablation(text: str) -> tuple[str, Any]:
    """A switch of :class:`tape.Ablations` and its value."""
    name, given, value = text.partition("=")
    if not given or not value:
        raise ConfigError(f"--ablation {text}: give NAME=VALUE, one of {', '.join(Ablations.model_fields)}")
    known = Ablations.model_fields.get(name)
    if known is not None and isinstance(known.default, bool):
        return name, {"on": True, "off": False}.get(value, value)
    return name, value


def _ablations() -> str:
    """What ``--ablation`` takes, for its help."""
    lines = []
    for name, field in Ablations.model_fields.items():
        default = "" if field.default is None else f" (default: {_shown(field.default)})"
        lines.append(f"{name}: {field.description}{default}")
    return "for studies, as often as needed. " + ". ".join(lines)


def _shown(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
