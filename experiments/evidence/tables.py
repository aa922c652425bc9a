"""The tables and pictures of the evidence, made from the committed rows."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from experiments.evidence.grounds import GROUNDS
from experiments.evidence.rows import OURS
from experiments.harness.places import RESULTS, ROOT
from experiments.harness.plots import Panel, Plot, Series, Value, draw
from experiments.own_tools.without import WITHOUT
from tape.statistics import Paired, paired, wilson

FOLDER = RESULTS / "evidence"
PRICE = 0.10
"""Dollars for a million tokens of prompts or answers: what genai-prices lists for Llama 3.2 1B at Amazon Bedrock, the
hosted model nearest in size; Qwen2.5-Coder-1.5B has no listed price."""

Rows = Sequence[Mapping[str, Any]]


@lru_cache(maxsize=32)
def rows(ground: str) -> Rows:
    """The committed episodes of a ground; none where it was not played."""
    file = FOLDER / f"{ground}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


def groups(ground: str) -> dict[tuple[str, str], Rows]:
    """The episodes by caps and row, in the order in which they were played."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows(ground):
        grouped.setdefault((row["caps"], row["row"]), []).append(row)
    return dict(grouped)


def outcomes(episodes: Rows) -> dict[tuple[str, int], float]:
    """Success by task and draw."""
    return {(row["task"], row["draw"]): float(row["right"]) for row in episodes}


def dollars(row: Mapping[str, Any]) -> float:
    """What an episode cost: the model at its listed price, and the tools."""
    return float(row["tokens"]) * PRICE / 1e6 + float(row["usd"]) / 1e6


def share(episodes: Rows) -> tuple[float, float, float]:
    """The share of right episodes, with Wilson's interval over tasks."""
    right = statistics.mean(row["right"] for row in episodes)
    tasks = len({row["task"] for row in episodes})
    return (right, *wilson(right * tasks, tasks))


def shown(result: Paired) -> str:
    """A paired difference with its interval."""
    return f"{result.difference:+.0%} ({result.low:+.0%} to {result.high:+.0%})"


def table(ground: str) -> str:
    """All agents of a ground under all caps."""
    lines = [
        "| caps | agent | right (95 %) | n | tokens, mean | model | tools | unasked | TAPE+ is above it by (95 %) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    grouped = groups(ground)
    for (caps, name), episodes in grouped.items():
        if name.startswith(WITHOUT):
            continue
        right, low, high = share(episodes)
        ours = grouped.get((caps, OURS), ())
        result = paired(outcomes(ours), outcomes(episodes))
        above = "" if name == OURS or not result.n else shown(result)
        tokens, usd = (statistics.mean(row[kind] for row in episodes) for kind in ("tokens", "usd"))
        unasked = sum(row.get("unasked", 0) for row in episodes)
        lines.append(
            f"| {caps} | {name} | {right:.0%} ({low:.0%} to {high:.0%}) | {len(episodes)} | {tokens:,.0f} | "
            f"${tokens * PRICE / 1e6:.5f} | ${usd / 1e6:.3f} | {unasked} | {above} |"
        )
    return "\n".join(lines) + "\n"


def compared() -> str:
    """TAPE+ beside each other agent on the same tasks, under the usual caps of a ground."""
    lines = ["| ground | n | TAPE+ | beside | | TAPE+ is above it by (95 %) | tokens, mean: TAPE+, the other |"]
    lines.append("|---|---|---|---|---|---|---|")
    for ground in GROUNDS.values():
        grouped = groups(ground.name)
        for (caps, name), other in grouped.items():
            if caps != ground.caps[0] or name == OURS or name.startswith(WITHOUT) or "legal" in other[0]:
                continue  # planning problems have a page of their own
            ours = _same(grouped[caps, OURS], other)
            shares = [f"{right:.0%}" for right, *_ in (share(ours), share(other))]
            tokens = ", ".join(f"{statistics.mean(row['tokens'] for row in side):,.0f}" for side in (ours, other))
            above = shown(paired(outcomes(ours), outcomes(other)))
            lines.append(f"| {ground.title} | {len(ours)} | {shares[0]} | {name} | {shares[1]} | {above} | {tokens} |")
    return "\n".join(lines) + "\n"


def _same(ours: Rows, other: Rows) -> Rows:
    """The episodes of TAPE+ on the tasks that another agent played."""
    common = outcomes(other)
    return [row for row in ours if (row["task"], row["draw"]) in common]


def overview() -> str:
    """TAPE+ on each ground under its usual caps, beside ReAct on the same tasks."""
    lines = ["| ground | n | TAPE+ | ReAct | TAPE+ is above it by (95 %) | tokens, mean: TAPE+, ReAct |"]
    lines.append("|---|---|---|---|---|---|")
    for ground in GROUNDS.values():
        grouped = groups(ground.name)
        ours, other = (grouped.get((ground.caps[0], name), ()) for name in (OURS, ground.react))
        if not ours:
            continue
        ours = _same(ours, other) if other else ours
        cells = [f"{low[0]:.0%} ({low[1]:.0%} to {low[2]:.0%})" for low in map(share, filter(None, (ours, other)))]
        above = shown(paired(outcomes(ours), outcomes(other))) if other else "not run"
        tokens = [f"{statistics.mean(row['tokens'] for row in side):,.0f}" for side in (ours, other) if side]
        lines.append(
            f"| {ground.title} | {len(ours)} | {' | '.join([*cells, '-'][:2])} | {above} | {', '.join(tokens)} |"
        )
    return "\n".join(lines) + "\n"


def parts() -> str:
    """What each part of TAPE+ gives: its paired difference to TAPE+ without it."""
    lines = ["| without | ground | caps | n | TAPE+ is above it by (95 %) | tokens, mean: TAPE+, without |"]
    lines.append("|---|---|---|---|---|---|")
    for name, ground, caps, ours, episodes in sorted(_arms(), key=lambda arm: arm[0]):
        result = paired(outcomes(ours), outcomes(episodes))
        mine = _same(ours, episodes)
        tokens = ", ".join(f"{statistics.mean(row['tokens'] for row in side):,.0f}" for side in (mine, episodes))
        lines.append(f"| {name} | {ground} | {caps} | {result.n} | {shown(result)} | {tokens} |")
    return "\n".join(lines) + "\n"


def _arms() -> Iterator[tuple[str, str, str, Rows, Rows]]:
    for ground in GROUNDS.values():
        grouped = groups(ground.name)
        for (caps, name), episodes in grouped.items():
            if name.startswith(WITHOUT) and (caps, OURS) in grouped:
                yield name.removeprefix(WITHOUT), ground.title, caps, grouped[caps, OURS], episodes


def planning() -> str:
    """What the model's calls and plans of planning problems were worth, by the exact rules."""
    lines = ["| ground | agent | n | right | calls that apply | plans without a wrong call | selected, in no plan |"]
    lines.append("|---|---|---|---|---|---|---|")
    for ground in GROUNDS.values():
        for (_, name), episodes in groups(ground.name).items():
            if not all("legal" in row for row in episodes):
                continue
            cells = [f"{sum(row['right'] for row in episodes)}"]
            for part, whole in (("legal", "calls"), ("whole", "plans"), ("joined", "walks")):
                count, of = (sum(row[key] for row in episodes) for key in (part, whole))
                cells.append(f"{count} of {of}" if of else "-")
            lines.append(f"| {ground.title} | {name} | {len(episodes)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def calibration() -> str:
    """What TAPE+ said before it spent anything, beside what came: success, cost, and whether it fits."""
    head = (
        "| ground | caps | n | said to succeed, mean | did | Brier | Brier of the mean | spent within what was said | "
    )
    lines = [f"{head}said to fit; over a cap | said not to fit |", "|---|---|---|---|---|---|---|---|---|---|"]
    for ground in GROUNDS.values():
        for (caps, name), episodes in groups(ground.name).items():
            if name != OURS or not any("fits" in row for row in episodes):
                continue
            said = [row for row in episodes if row.get("fits")]
            chances = [row for row in said if "worth" in row]
            success = "- | - | - | -"
            if chances:
                did = statistics.mean(row["right"] for row in chances)
                mean = statistics.mean(row["worth"] for row in chances)
                brier = statistics.mean((row["worth"] - row["right"]) ** 2 for row in chances)
                base = statistics.mean((did - row["right"]) ** 2 for row in chances)
                success = f"{mean:.2f} | {did:.2f} | {brier:.3f} | {base:.3f}"
            priced = [row for row in said if row["cost"]]
            within = f"{sum(row['usd'] <= row['cost'] for row in priced)} of {len(priced)}" if priced else "-"
            over = sum(bool(row["over"]) for row in said)
            never = sum(row.get("fits") is False for row in episodes)
            lines.append(
                f"| {ground.title} | {caps} | {len(said)} | {success} | {within} | {len(said)}; {over} | {never} |"
            )
    return "\n".join(lines) + "\n"


def frontier(ground: str) -> str:
    """Success against dollars: one row an agent and cap."""
    lines = ["| agent | caps | dollars an episode | right (95 %) |", "|---|---|---|---|"]
    for name, points in _points(ground).items():
        for caps, spent, value in points:
            lines.append(f"| {name} | {caps} | ${spent:.3f} | {value.at:.0%} ({value.low:.0%} to {value.high:.0%}) |")
    return "\n".join(lines) + "\n"


def _points(ground: str) -> dict[str, list[tuple[str, float, Value]]]:
    grouped: dict[str, list[tuple[str, float, Value]]] = {}
    for (caps, name), episodes in groups(ground).items():
        if not name.startswith(WITHOUT):
            grouped.setdefault(name, []).append(
                (caps, statistics.mean(map(dollars, episodes)), Value(*share(episodes)))
            )
    return {name: sorted(points, key=lambda point: point[1]) for name, points in grouped.items() if len(points) > 2}


def picture(ground: str) -> None:
    """Draw success against dollars."""
    series = tuple(
        Series(name, tuple(value for _, _, value in points), "strong" if name == OURS else "plain",
               tuple(round(100 * spent) for _, spent, _ in points))
        for name, points in _points(ground).items()
    )  # fmt: skip
    panel = Panel(GROUNDS[ground].title, series)
    plot = Plot(
        "lines", (panel,), "share of tasks that are right (95 %)", "cents an episode, model and tools (rounded)"
    )
    draw(plot, [ROOT / "docs" / "images" / f"evidence-{ground}.png"])
