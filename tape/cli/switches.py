"""The agents' switches as command-line options: one for every field of ``AgentConfig``, with its default."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from tape.budget import Budget
from tape.config import AgentConfig

_HELP = {
    "num_plans": "M, plans sampled per planning round",
    "temperature": "sampling temperature",
    "horizon": "most moves of an episode (default: the budget decides)",
    "discount": "in (0, 1], per move",
    "solver": "see `tape solvers`",
    "selector": "lm: the model picks among the sampled plans (ablation)",
    "execution": "forced: no call for a planned action; free: it is only a hint (ablation)",
    "replan": "off: no mismatch check, and the episode ends with the walk (ablation)",
    "replan_every_step": "plan again after every step",
    "no_repeat": "keep free choices from repeating an action in an identical state",
    "reselect": "select the rest of the walk anew where a step has used less than its worst case",
    "max_replans": "most replanning rounds",
    "resample": "further samplings where no walk is feasible",
    "extend": "further plans from inside the graph while no walk reaches a goal; 0: none",
    "doubt": "predict an action again that is called invalid with less probability; 0: never",
    "cautious": "prefer a walk of confident predictions to a goal",
    "on_infeasible": "then follow the best partial walk, or stop",
    "probe": "try an action predicted invalid at last",
    "score": "how nodes are scored",
    "world_model": "simulator: an upper bound only",
    "planning_reserve": "kept from the selector for later planning calls, for instance tokens=500",
    "on_limit": "at a limit stop, or spend a call kept back on an answer, where the environment takes one",
    "verify": "aec: commit only to walks that grounded evidence certifies",
    "hypotheses": "aec: how many of the best walks are considered",
    "gate": "aec: what is queried and what is simulated",
    "commit": "aec: belief: no verifier (ablation)",
    "margin": "aec: predictions nearer to 1/2 than this are ambiguous",
    "uncertainty": "aec: the most uncertainty with which a prediction is believed",
    "query_budget": "aec: most queries of an episode (default: the budget decides)",
    "ensemble": "aec: samples for one prediction",
    "calibration": "aec: a file with the calibration of predictions (default: none)",
    "learned_rules": "aec: a file with rules that override predictions (default: none)",
    "bridges": "aec: insert actions that establish a precondition where that is cheaper than asking",
    "proposer": "two_frontier: plans come from a search through declared predicates, not from the model",
    "chain": "sdp: where the predicates come from: the solver's walk, one sample of the model, or the environment",
    "attempts": "sdp: failed attempts at a predicate before it is replanned (default: the environment's)",
    "target_replans": "sdp: most replans of one predicate (default: the environment's)",
    "step_cap": "sdp: most steps of the loop (default: the environment's)",
    "strict_algorithm1": "sdp: replan after one more failure, as the paper's algorithm 1 has it",
    "cascade": "sdp: off: an action certifies one predicate at most (ablation)",
    "validation": "sdp: always: nothing is validated (ablation)",
}


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Add an option for every field of :class:`tape.config.AgentConfig`."""
    group = parser.add_argument_group("switches of the agent")
    for name, field in AgentConfig.model_fields.items():
        option, default = "--" + name.replace("_", "-"), AgentConfig().model_dump()[name]
        said = _HELP[name] if default in (None, {}, "") else f"{_HELP[name]} (default: {_shown(default)})"
        choices = get_args(field.annotation)
        if isinstance(default, bool):
            group.add_argument(option, nargs="?", const="on", choices=("on", "off"), default=_shown(default), help=said)
        elif choices and all(isinstance(choice, str) for choice in choices):
            group.add_argument(option, choices=choices, default=default, help=said)
        elif isinstance(default, dict):
            group.add_argument(option, default="", help=said)
        else:
            kind: Any = int if default is None else type(default)
            group.add_argument(option, type=kind, default=default, help=said)


def config_of(args: argparse.Namespace) -> AgentConfig:
    """The configuration that the options name.

    Raises:
        ConfigError: A value is out of range, or two contradict each other.
    """
    settings: dict[str, Any] = {}
    for name, value in AgentConfig().model_dump().items():
        given = getattr(args, name)
        if isinstance(value, bool):
            given = given == "on"
        elif isinstance(value, dict):
            given = dict(Budget.parse(given))
        settings[name] = given
    return AgentConfig.make(**settings)


def _shown(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
