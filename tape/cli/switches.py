"""The agents' switches as command-line options, one for every setting.

The settings of a method, AEC or SDP, are read only where it is used, or where help is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic.fields import FieldInfo

from tape.agents.base import Agent
from tape.budget import Budget
from tape.cli.numbers import LARGEST, whole
from tape.engine.settings import METHOD_FIELDS, PAPER, TapeConfig, method
from tape.plugins import load

_HELP = {
    "num_plans": "M, plans sampled per planning round",
    "temperature": "sampling temperature",
    "sampling": "distinct: the plans of one sampling are drawn without replacement, where the model can (default: "
    "independent for tools and where places are supposed, else distinct)",
    "horizon": "most moves of an episode (default: the budget decides)",
    "discount": "in (0, 1], per move",
    "solver": "see `tape solvers`",
    "selector": "lm: the model picks a path of the plan graph; best_plan: the best single plan (ablations)",
    "execution": "forced: no call for a planned action; free: it is only a hint (ablation; default: forced for tools, "
    "else constrained)",
    "replan": "off: no mismatch check, and the episode ends with the path (ablation)",
    "replan_every_step": "plan again after every step",
    "no_repeat": "keep free choices from repeating an action in an identical state",
    "reselect": "select the rest of the path anew where a step has used less than its worst case",
    "mismatch": "exact: replan wherever a state is not as predicted; needed: where the rest of the path rests on what "
    "is not, in environments that can tell (default: needed on ScienceWorld, else exact)",
    "max_replans": "most replanning rounds",
    "resample": "further samplings where no path is feasible",
    "extend": "further plans from inside the graph while no path reaches a goal; 0: none",
    "doubt": "predict an action again that is called invalid with less probability; 0: never",
    "cautious": "prefer a path of confident predictions to a goal",
    "on_infeasible": "where no complete plan fits, follow the best partial path, or stop and say what would do "
    "(default: stop for tools, else partial)",
    "probe": "as a last resort, try an action predicted invalid",
    "score": "how nodes are scored",
    "world_model": "simulator: an upper bound only",
    "costs": "lm: plan with costs that the model predicts; every step must still fit at its declared worst",
    "goal_test": "lm: the model's score says what reaches the goal, also where the environment declares a test",
    "scorer": "declared: predicted states are scored by what the environment declares, without a call",
    "projector": "lm: the model also merges states that it takes for the same, as the paper's abstraction does",
    "planning_reserve": "kept from the selector for later planning calls, for instance tokens=500",
    "on_limit": "at a limit stop, or spend a call kept back on an answer, where the environment takes one",
    "paper": "TAPE as the paper has it, without this engine's additions; an option that is given beside it counts",
    "verify": "aec: commit only to paths, and answer only from facts, that grounded evidence certifies",
    "hypotheses": "how many of the best paths are considered",
    "gate": "what is queried and what is simulated; of search agents when a search is exhausted: none, "
    "f_j0.6_u0.3_p2 and others (docs/cgdp.md), lm_conservative, lm_neutral, fixed:R, voi",
    "commit": "belief: no verifier (ablation)",
    "margin": "predictions nearer to 1/2 than this are ambiguous",
    "uncertainty": "the most uncertainty with which a prediction is believed",
    "query_budget": "most queries of an episode (default: the budget decides)",
    "sigma": "wordings: uncertainty is how much the model's probabilities differ between wordings of a question",
    "ensemble": "samples for one prediction, or wordings",
    "calibration": "a file with the calibration of predictions (default: none)",
    "learned_rules": "a file with rules that override predictions (default: none)",
    "bridges": "insert actions that establish a precondition where that is cheaper than asking",
    "proposer": "declared: plans come from the exact search of an environment that has one; two_frontier: from a "
    "search through declared predicates; neither asks the model",
    "chain": "where the predicates come from: the solver's path, one sample of the model, or the environment",
    "attempts": "failed attempts at a predicate before it is replanned (default: 1 on a path, else the environment's)",
    "target_replans": "most replans of one predicate (default: as many attempts in all as the environment's)",
    "step_cap": "most steps of the loop (default: the environment's)",
    "strict_algorithm1": "replan after one more failure, as the paper's algorithm 1 has it",
    "cascade": "off: an action certifies one predicate at most (ablation)",
    "validation": "always: nothing is validated (ablation)",
    "memory": "what prompts hold of a search: its transcript, the newest observation alone, or a belief state in one "
    "of two forms (default: structured of cgdp, else baseline)",
    "select": "solver: the exact solver says what is searched for next, and how deep",
    "context_tokens": "most tokens of a prompt; a longer one is never sent",
    "rounds": "most rounds of a search (default: the harness's own)",
    "k_trigger": "a belief of more items is curated",
    "k_target": "most items that curation leaves",
    "belief_tokens": "most tokens of a belief (default: half of what the window leaves)",
    "jaccard_window": "with how many of the last queries the gate compares a query",
    "answer_worth": "what a right answer is worth, in tokens: for --select solver and --gate voi",
}


def add_switches(parser: argparse.ArgumentParser, methods: Iterable[str]) -> None:
    """Add an option for every setting of the engine, and of these methods."""
    group = parser.add_argument_group("switches of the agent")
    group.add_argument("--paper", action="store_true", help=f"{_HELP['paper']}: {_as_options(PAPER)}")
    group.add_argument("--verify", choices=("none", "aec"), default="none", help=f"{_HELP['verify']} (default: none)")
    _add(group, {name: field for name, field in TapeConfig.model_fields.items() if name not in METHOD_FIELDS})
    for name in methods:
        _add(parser.add_argument_group(f"switches of {name}"), method(name).settings.model_fields)


def _add(group: Any, fields: Mapping[str, FieldInfo]) -> None:
    for name, field in fields.items():
        if name == "verify":
            continue  # one switch for all methods
        option, default = "--" + name.replace("_", "-"), field.get_default(call_default_factory=True)
        said = _HELP[name] if default in (None, {}, "") else f"{_HELP[name]} (default: {_shown(default)})"
        # Of a choice that may be left open, the choices.
        kinds = [kind for kind in get_args(field.annotation) if get_args(kind)] or [field.annotation]
        choices = get_args(kinds[0])
        if isinstance(default, bool):
            group.add_argument(
                option, nargs="?", const="on", choices=("on", "off"), default=argparse.SUPPRESS, help=said
            )
        elif choices and all(isinstance(choice, str) for choice in choices):
            group.add_argument(option, choices=choices, default=argparse.SUPPRESS, help=said)
        elif isinstance(default, dict):
            group.add_argument(option, default=argparse.SUPPRESS, help=said)
        else:
            whole_number = default is None or isinstance(default, int)
            kind: Any = whole(-LARGEST, LARGEST) if whole_number else type(default)  # each setting has its own range
            group.add_argument(option, type=kind, default=argparse.SUPPRESS, help=said)


def methods_of(argv: Sequence[str], usual: str = "tape") -> list[str]:
    """The methods whose options a command line may hold: those that it uses; where it asks for help, all of its agent.

    Args:
        argv: The command line.
        usual: The agent that plays where it names none.

    Raises:
        UnknownNameError: It names an agent that does not exist.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--agent", default=usual)
    early.add_argument("--verify", default="none")
    try:
        chosen, _ = early.parse_known_args([*argv])
    except argparse.ArgumentError:
        return []  # the real parser says what is wrong
    agent: type[Agent] = load("tape.agents", chosen.agent)
    if ("-h" in argv or "--help" in argv) and not agent.searches:
        return ["aec", "sdp"]
    # AEC is chosen by --verify; the other methods of an agent are what it is.
    verified = ["aec"] if chosen.verify == "aec" and not agent.searches else []
    return [*verified, *(name for name in agent.methods if name != "aec")]


def explain_unknown(parser: argparse.ArgumentParser, unknown: Sequence[str], methods: Sequence[str]) -> None:
    """End with a usage error; where an option belongs to a method that is not in use, it says how to use that."""
    if not unknown:
        return
    needs = {"aec": "--verify aec", "sdp": "--agent sdp", "cgdp": "--agent cgdp, or another search agent"}
    for part in unknown:
        option = part.partition("=")[0]
        names = [name for name in METHOD_FIELDS if option in _options(method(name).settings.model_fields)]
        if names and not {*names} & {*methods}:
            ways = [needs[name] for name in names if name != "aec" or "cgdp" not in methods]
            said = f"; add {' or '.join(ways)}" if ways else ", and means nothing to search agents"
            unused = "which is not in use here" if len(names) == 1 else "none of which is in use here"
            parser.error(f"{option} is a setting of {' and '.join(names)}, {unused}{said}")
    parser.error(f"unrecognized arguments: {' '.join(unknown)}")


def _options(fields: Iterable[str]) -> set[str]:
    return {"--" + name.replace("_", "-") for name in fields}


def config_of(args: argparse.Namespace, methods: Sequence[str]) -> TapeConfig:
    """The configuration that the options name.

    Raises:
        ConfigError: A value is out of range, or two contradict each other.
    """
    engine = {name: field for name, field in TapeConfig.model_fields.items() if name not in METHOD_FIELDS}
    settings = {**(PAPER if args.paper else {}), **_given(args, engine)}
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


def _as_options(settings: Mapping[str, Any]) -> str:
    return " ".join(f"--{name.replace('_', '-')} {_shown(value)}" for name, value in settings.items())


def _shown(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
