"""The tables of results: every configuration with its interval, and the difference of two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tape.budget import in_units
from tape.runner.summary import NOTES, tokens
from tape.show.view.episode import UNFINISHED
from tape.show.view.sources import Source
from tape.statistics import ALPHA, paired, success_interval

Value = Callable[[Mapping[str, Any]], float]
"""A number of an episode's result."""

_COUNTED = {"steps", "calls", "tokens"}
"""Resources that have columns of their own, or mean the same as one."""


def run_rows(source: Source) -> list[dict[str, Any]]:
    """The rows of a run's table, one per configuration and level set, from the groups of its summary."""
    return [_row(group) for group in source.groups]


def _row(group: Mapping[str, Any]) -> dict[str, Any]:
    n = group["episodes"]
    used = group.get("mean_used", {})
    return {
        "configuration": group["cell"],
        "levels": group["level_set"],
        "agent": group["agent"],
        "model": group["model"],
        "n": n,
        "tasks": group["levels"],
        "successes": group["successes"],
        "rate": group["success_rate"],
        "interval": list(group["ci95"]),
        "interval_is": NOTES[group["ci95_method"]],
        "means": [
            ["steps", f"{group['mean_steps']:.1f}"],
            ["replans", f"{group['replans'] / n:.2f}"],
            ["LM calls", f"{group['lm_calls'] / n:,.1f}"],
            ["tokens", f"{group['lm_tokens'] / n:,.0f}"],
            *([kind, in_units(kind, round(mean))] for kind, mean in used.items() if kind not in _COUNTED),
            ["solver", "-" if group["solver_seconds"] is None else f"{1000 * (group['solver_seconds'] / n):.2f} ms"],
        ],
        "over_budget": group["budget_violations"],
    }


def trace_rows(episodes: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of single traces, one per agent and model; episodes that are cut off do not count.

    Args:
        episodes: Agent, model and result of each.
    """
    members: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for agent, model, result in episodes:
        if result["end_state"] == UNFINISHED:
            continue
        members.setdefault((agent, model), []).append(result)
    rows = []
    for (agent, model), results in members.items():
        n, successes = len(results), [bool(result["success"]) for result in results]
        low, high, method = success_interval(successes, range(n))
        kinds = sorted({kind for result in results for kind in result["used"]} - _COUNTED)
        rows.append(
            {
                "configuration": agent,
                "levels": "",
                "agent": agent,
                "model": model,
                "n": n,
                "tasks": n,
                "successes": sum(successes),
                "rate": sum(successes) / n,
                "interval": [low, high],
                "interval_is": f"{NOTES[method]}; every trace counts as a task of its own",
                "means": [
                    ["steps", f"{sum(result['steps'] for result in results) / n:.1f}"],
                    ["replans", f"{sum(result['replans'] for result in results) / n:.2f}"],
                    ["LM calls", f"{sum(sum(result['lm_calls'].values()) for result in results) / n:,.1f}"],
                    ["tokens", f"{sum(map(tokens, results)) / n:,.0f}"],
                    *([kind, _mean(kind, results)] for kind in kinds),
                ],
                "over_budget": sum(bool(result["budget_violations"]) for result in results),
            }
        )
    return rows


def _mean(kind: str, results: Sequence[Mapping[str, Any]]) -> str:
    counts = [result["used"].get(kind, 0) for result in results]
    return "unknown" if None in counts else in_units(kind, round(sum(counts) / len(counts)))


def end_states(results: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """End states and how many episodes each has, success first, then the most frequent."""
    counts = Counter(result["end_state"] for result in results)
    return [[state, counts[state]] for state in sorted(counts, key=lambda s: (s != "success", -counts[s], s))]


def differences(first: Source, second: Source) -> list[dict[str, Any]]:
    """The difference of two runs on the tasks that both have, by configuration.

    Configurations are compared with those of the same name; where each run has only one, these two.

    Returns:
        For each pair of configurations its measures, each with the mean of the first minus that of the second, the
        95 % interval and the number of pairs.
    """
    a, b = _by_configuration(first), _by_configuration(second)
    pairs = [(name, name) for name in a if name in b]
    if not pairs and len(a) == len(b) == 1:
        pairs = [(next(iter(a)), next(iter(b)))]
    return [_difference(text, other, a[text], b[other]) for text, other in pairs]


def _by_configuration(source: Source) -> dict[str, list[Mapping[str, Any]]]:
    members: dict[str, list[Mapping[str, Any]]] = {}
    for entry in source.entries:
        if entry.line is not None:
            members.setdefault(entry.line["cell"], []).append(entry.line)
    return members


def _difference(
    text: str, other: str, a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    def compared(
        name: str, value: Callable[[Mapping[str, Any]], float], write: Callable[[float], str]
    ) -> dict[str, Any]:
        values = [{(line["digest"], line["repeat"]): value(line["result"]) for line in lines} for lines in (a, b)]
        outcome = paired(*values)
        if not outcome.n:
            return {"name": name, "n": 0}
        verdict = (
            "first is higher" if outcome.above else "first is lower" if outcome.below else "no significant difference"
        )
        return {
            "name": name,
            "n": outcome.n,
            "tasks": outcome.levels,
            "difference": write(outcome.difference),
            "low": write(outcome.low),
            "high": write(outcome.high),
            "range": [outcome.difference, outcome.low, outcome.high],
            "wins": outcome.wins,
            "losses": outcome.losses,
            "verdict": verdict,
            "sign_p": f"{outcome.sign_p:.2g}",
        }

    kinds = set.intersection(*({k for line in lines for k in line["result"]["used"]} for lines in (a, b))) - _COUNTED
    known = [k for k in sorted(kinds) if all(line["result"]["used"].get(k, 0) is not None for line in (*a, *b))]
    measures = [
        compared("success", lambda result: float(result["success"]), lambda x: _sign(f"{x:+.2f}")),
        compared("steps", lambda result: result["steps"], lambda x: _sign(f"{x:+.1f}")),
        compared("tokens", tokens, lambda x: _sign(f"{x:+,.0f}")),
        *(compared(kind, _used(kind), _signed(kind)) for kind in known),
    ]
    return {"first": text, "second": other, "measures": measures, "alpha": ALPHA}


def _used(kind: str) -> Value:
    return lambda result: float(result["used"].get(kind, 0))


def _signed(kind: str) -> Callable[[float], str]:
    return lambda x: ("+" if x > 0 else "−" if x < 0 else "") + in_units(kind, round(abs(x)))


def _sign(text: str) -> str:
    """A number with a sign, none before 0."""
    plain = text.removeprefix("+").removeprefix("-")
    return plain if not plain.strip("0.,") else text.replace("-", "−")
