"""The groups of ``summary.json`` and their table."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tape.runner.spec import RunSpec
from tape.screen import printable
from tape.statistics import success_interval

HEAD = (
    "cell",
    "levels",
    "agent",
    "model",
    "n",
    "success",
    "95 % interval",
    "steps",
    "replans",
    "LM calls",
    "LM tokens",
    "solver ms",
    "over budget",
    "ended",
)
FAULTS = ("model_error", "env_error", "solver_error")
"""End states by a fault of model, environment or solver; they are no verdict on the agent."""
NOTES = {
    "wilson": "Wilson's, where no level is repeated",
    "clustered": "the bootstrap by level, where levels are repeated",
    "wilson-levels": "Wilson's with as many trials as there are levels, where all of them have one and the same rate",
}


ENDED = {
    "no_plan": " no_plan: no sampled plan could be read, or none had an action.",
    "model_error": " model_error: the model was not reached, failed, or cannot write what it is asked for.",
}
"""Explanations below the table, for end states that occur."""


def summarise(configurations: Mapping[str, RunSpec], episodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One group per configuration and level set, in the order of their first lines."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in episodes:
        grouped.setdefault((line["cell"], line["level_set"]), []).append(line)
    return [_group(name, levels, configurations[name], lines) for (name, levels), lines in grouped.items()]


def _group(name: str, level_set: str, spec: RunSpec, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    results, digests = [line["result"] for line in lines], [line["digest"] for line in lines]
    n, successes = len(results), sum(r["success"] for r in results)
    low, high, method = success_interval([r["success"] for r in results], digests)
    return {
        "cell": name,
        "environment": spec.environment,
        "level_set": level_set,
        "agent": spec.label(),
        "model": spec.model,
        "solver": spec.config.solver,
        "configuration": spec.config.model_dump(mode="json"),
        "episodes": n,
        "levels": len(set(digests)),
        "successes": successes,
        "success_rate": successes / n,
        "ci95": [low, high],
        "ci95_method": method,
        "end_states": dict(sorted(Counter(r["end_state"] for r in results).items())),
        "mean_steps": sum(r["steps"] for r in results) / n,
        "replans": sum(r["replans"] for r in results),
        "mismatches": sum(r["mismatches"] for r in results),
        "malformed": sum(r["malformed"] for r in results),
        "method": {name: sum(counted(r).get(name, 0) for r in results) for name in counters(results)},
        "partial_walks": sum(r["partial_walk"] for r in results),
        "lm_calls": sum(sum(r["lm_calls"].values()) for r in results),
        "lm_tokens": sum(tokens(r) for r in results),
        "solver_seconds": _total([r["solver_seconds"] for r in results]),
        "budget_violations": sum(bool(r["budget_violations"]) for r in results),
        "broken_declarations": sum(sum(r["broken_declarations"].values()) for r in results),
        "under_deadline": sum("wall_seconds" in r["budget"] for r in results),
        "wall_overruns": sum(r["wall_overrun_seconds"] > 0 for r in results),
        "measures": _means(r["measures"] for r in results),
        "mean_used": _means(r["used"] for r in results),
        "longest_wall_overrun_seconds": max(r["wall_overrun_seconds"] for r in results),
    }


def _means(numbers: Iterable[Mapping[str, float | None]]) -> dict[str, float]:
    """The mean of each, with 0 for episodes without it; left out if a value is unknown."""
    rows = list(numbers)
    names = sorted({name for row in rows for name in row})
    known = [name for name in names if all(row.get(name, 0) is not None for row in rows)]
    return {name: _mean([row.get(name) or 0 for row in rows]) for name in known}


def _total(values: Sequence[float]) -> float | None:
    """The sum; None if a float cannot hold it."""
    try:
        return math.fsum(values)
    except OverflowError:
        return None


def _mean(values: Sequence[float]) -> float:
    """The mean, also if a float cannot hold the sum."""
    total = _total(values)
    return math.fsum(value / len(values) for value in values) if total is None else total / len(values)


def counters(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of the methods' counters in episodes, each once."""
    return [*dict.fromkeys(name for result in results for name in counted(result))]


def counted(result: Mapping[str, Any]) -> dict[str, int]:
    """The counters of the methods in use in an episode: numbers, and flags as 0 and 1."""
    return {name: int(value) for name, value in result["method"].items() if isinstance(value, int)}


def tokens(result: Mapping[str, Any]) -> int:
    """Prompt and completion tokens of an episode's result."""
    return sum(map(int, result["prompt_tokens"].values())) + sum(map(int, result["completion_tokens"].values()))


def table(groups: Sequence[Mapping[str, Any]]) -> str:
    """The groups as a markdown table, with the remark below it."""
    head, *rows = cells(groups)
    lines = ["| " + " | ".join(escaped(text) for text in row) + " |" for row in (head, ("---",) * len(head), *rows)]
    return harmless("\n".join([*lines, "", remark(groups), ""]))


def faults(ends: Mapping[str, int]) -> str:
    """The faults among end states, for instance ``2 model_error``; empty if there are none."""
    return _counts({state: ends[state] for state in FAULTS if ends.get(state)})


def score(successes: int, ends: Mapping[str, int]) -> str:
    """The solved episodes and the faults of some episodes by end state, in words; no score if all are faults."""
    seen, faulty = sum(ends.values()), faults(ends)
    if seen and seen == sum(ends.get(state, 0) for state in FAULTS):
        return f"no result: {faulty}"
    return f"{successes}/{seen} solved" + (f", {faulty}" if faulty else "")


def fault_note(groups: Sequence[Mapping[str, Any]], episodes: Iterable[Mapping[str, Any]]) -> str:
    """The message about episodes that ended by a fault, with the first of them; empty if there are none."""
    ends: Counter[str] = sum((Counter(g["end_states"]) for g in groups), Counter())
    if not (faulty := faults(ends)):
        return ""
    whole = score(0, ends).startswith("no result")
    what = "every episode ended by a fault" if whole else f"of {ends.total()} episodes some ended by a fault"
    first = next((e["result"] for e in episodes if e["result"]["end_state"] in FAULTS), {"detail": ""})
    detail = " ".join(str(first["detail"]).split())
    return f"{what} ({faulty}), which says nothing about the agent" + (f"; the first: {detail}" if detail else "")


def _counts(ends: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(ends.items(), key=lambda item: (-item[1], item[0])))


def cells(groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The table of the groups, its head first, without the configurations' names if they equal the agents' names.

    A group of faults only has no rate of success.
    """
    rows: list[tuple[str, ...]] = [HEAD]
    for g in groups:
        n = g["episodes"]
        low, high = g["ci95"]
        ends = g["end_states"]
        tried = any(state not in FAULTS for state in ends)
        rows.append(
            (
                str(g["cell"]),
                str(g["level_set"]),
                str(g["agent"]),
                str(g["model"]),
                str(n),
                f"{g['success_rate']:.2f}" if tried else "-",
                f"{low:.2f} to {high:.2f}" if tried else "-",
                f"{g['mean_steps']:.1f}",
                f"{g['replans'] / n:.2f}",
                f"{g['lm_calls'] / n:.1f}",
                f"{g['lm_tokens'] / n:.0f}",
                "-" if g["solver_seconds"] is None else f"{1000 * (g['solver_seconds'] / n):.2f}",
                str(g["budget_violations"]),
                _counts(ends),
            )
        )
    if all(g["cell"] == g["agent"] for g in groups):
        rows = [row[1:] for row in rows]
    return rows


def remark(groups: Sequence[Mapping[str, Any]]) -> str:
    """The explanation below the table of the groups."""
    methods = [text for method, text in NOTES.items() if any(g["ci95_method"] == method for g in groups)]
    ends = "".join(text for state, text in ENDED.items() if any(state in g["end_states"] for g in groups))
    interval = f" The interval is {'; '.join(methods)}." if methods else ""
    return (
        f"Steps, replans, calls, tokens and solver time are means per episode.{interval}{ends}"
        f"{_about_limits(groups)}{''.join(map(_about_methods, groups))}"
    )


def _about_methods(group: Mapping[str, Any]) -> str:
    """The counters of the methods in use, in words."""
    counts = [f"{total / group['episodes']:.2f} {name.replace('_', ' ')}" for name, total in group["method"].items()]
    return f" {group['cell']}, {group['level_set']}, per episode: {', '.join(counts)}." if counts else ""


def _about_limits(groups: Sequence[Mapping[str, Any]]) -> str:
    """The warnings about results that depend on the clock, and about costs above their declared bound."""
    timed = sum(g["under_deadline"] for g in groups)
    over = sum(g["wall_overruns"] for g in groups)
    longest = max((g["longest_wall_overrun_seconds"] for g in groups), default=0.0)
    broken = sum(g["broken_declarations"] for g in groups)
    text = ""
    if timed:
        text += f" {timed} episodes had a deadline on the real clock, so that their results depend on the machine"
        text += f"; {over} ran over it, by {longest:.2f} s at most." if over else "; none ran over it."
    if broken:
        text += f" A cost was above its declared worst case {broken} times."
    return text


def escaped(text: str) -> str:
    """An untrusted text in Markdown: one line within its column, with neither HTML nor links."""
    return " ".join(harmless(text).replace("|", r"\|").split())


_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=(?:\(|:)\s*(?!https?://)[^\s)]*[:&])")
"""The end of a link's text, before an address with a scheme, even a disguised one."""


def harmless(markdown: str) -> str:
    """Markdown without HTML, without control characters, and with links to files and web pages only."""
    return _TAG.sub("&lt;", _LINK.sub(r"\]", printable(markdown)))
