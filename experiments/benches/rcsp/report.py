"""The tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.benches.rcsp.registry import BOOST, COMPETITORS, CSPY, OURS, ROAD
from experiments.benches.rcsp.summary import SEARCH, WHOLE, Row, by_instance, ratio
from experiments.benches.solvers.report import figure, table

_OTHERS = tuple(name for name in COMPETITORS if name not in (CSPY, BOOST))


def markdown(record: Mapping[str, Any]) -> str:
    """The whole report of a results record."""
    rows = record["rows"]
    parts = ["# Resource-constrained shortest paths side by side", "", "## Targets", "", _targets(record["targets"])]
    parts += ["", "## Times of others over ours", "", comparison_table(record["comparisons"])]
    for part in dict.fromkeys(row["part"] for row in rows):
        parts += ["", f"## Instances: {part}", "", instance_table(rows, part)]
    if record["disagreements"]:
        parts += ["", "## WRONG", "", *[f"- {line}" for line in record["disagreements"]]]
    parts += ["", "## Competitors", "", competitor_table(record["versions"], record["missing"])]
    return "\n".join(parts) + "\n"


def _targets(targets: Sequence[Mapping[str, Any]]) -> str:
    word = {True: "hit", False: "MISS", None: "not measured"}
    return table(
        ["target", "needs", "found", "n", "", "beside it"],
        [
            [one["target"], one["needs"], figure(one["got"]), str(one["n"]), word[one["hit"]], one["note"]]
            for one in targets
        ],
    )


def comparison_table(found: Sequence[Mapping[str, Any]]) -> str:
    """A row for each part and competitor: the whole call, and the search only."""
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for one in found:
        pairs.setdefault((one["part"], one["against"]), {})[one["measure"]] = one
    head = ["instances", "beside", "whole call: median, least", "search only: median, least", "n", "slower than theirs"]
    body = []
    for (part, against), both in pairs.items():
        whole, search = both[WHOLE], both[SEARCH]
        left = [("gave_up", "given up"), ("unfit", "left out"), ("failed", "failed")]
        n = "; ".join([str(whole["n"]), *(f"{whole[key]} {word}" for key, word in left if whole[key])])
        slower = f"{len(whole['slower'])} (search: {len(search['slower'])})"
        body.append([part, f"`{against}`", _pair(whole), _pair(search), n, slower])
    return table(head, body)


def _pair(one: Mapping[str, Any]) -> str:
    if not one["n"]:
        return "-" if one["at_least"] is None else f">= {figure(one['at_least'])} x"
    return f"{figure(one['median'])} x, {figure(one['least'])} x"


def instance_table(rows: Sequence[Row], part: str) -> str:
    """Milliseconds, instance by instance; `run` and `whole` of cspy and Boost, and the ratios of whole calls."""
    mine = [row for row in rows if row["part"] == part]
    others = [name for name in _OTHERS if any(row["competitor"] == name for row in mine)]
    head = ["instance", "n, m, K", "cost", "ours: search", "problem", "graph"]
    head += ["cspy: run", "whole", "ratio", "Boost: run", "whole", "ratio", *[f"`{name}`" for name in others]]
    body = []
    for name, answers in by_instance(mine).items():
        alone = answers.get(OURS)
        if alone is None or "ours" not in alone:
            continue
        ours = alone["ours"]
        cost = ours["status"] if ours["cost"] is None else f"{ours['cost']:g}"
        size = f"{alone['nodes']:,}, {alone['arcs']:,}, {alone['resources']}"
        cells = [name, size, cost, *(_ms(ours.get(way)) for way in ("search", "problem", "graph"))]
        for competitor in (CSPY, BOOST):
            cells += _theirs(answers.get(competitor))
        cells += [_theirs(answers.get(competitor))[2] for competitor in others]
        body.append(cells)
    return table(head, body)


def _theirs(row: Row | None) -> list[str]:
    if row is None:
        return ["", "", ""]
    if row["status"] in ("UNFIT", "ERROR"):
        return ["", "", "fails" if row["status"] == "ERROR" else "left out"]
    value = ratio(row, WHOLE)
    gave_up = row["status"] == "TIMEOUT"
    whole = f"> {figure(row['seconds'] * 1e3)}" if gave_up else _ms(row["seconds"])
    if value is None:
        return [_ms(row.get("run_seconds")), whole, "> limit" if gave_up else "-"]
    return [_ms(row.get("run_seconds")), whole, f"{'> ' if gave_up else ''}{figure(value)} x"]


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else figure(seconds * 1e3)


def memory_table(rows: Sequence[Row]) -> str:
    """Where ours alone took most time: the split of the call, and memory."""
    alone = [row for row in rows if row["competitor"] == OURS and "ours" in row]
    worst = sorted((row for row in alone if row["part"] != ROAD), key=lambda row: -row["ours"]["problem"])[:3]
    worst += [row for row in alone if row["part"] == ROAD]
    head = [
        "instance",
        "status",
        "whole call, ms",
        "its CPU",
        "folding",
        "search",
        "the rest",
        "labels",
        "MB at the peak",
    ]
    return table(
        [*head, "of which the call"],
        [
            [row["instance"], row["ours"]["status"], *map(_ms, _split(row)), f"{row['labels']:,}",
             figure(row["peak_mb"]), figure(row["growth_mb"])]
            for row in worst
        ],
    )  # fmt: skip


def _split(row: Row) -> list[float]:
    """Of a call with a problem the seconds: the whole, its CPU time, folding, the search, and the rest."""
    whole, search = row["ours"]["problem"], row["ours"]["search"]
    return [whole, row["ours"]["cpu"], row["fold"], search, max(0.0, whole - search - row["fold"])]


def competitor_table(versions: Mapping[str, str], missing: Mapping[str, str]) -> str:
    """What each competitor is, and which version ran."""
    return table(
        ["", "version", "what it does", "whole call"],
        [
            [f"`{name}`", versions.get(name) or f"not run: {missing.get(name, 'not asked for')}", one[0].method,
             "from a networkx graph" if one[0].beside == "graph" else "from arrays"]
            for name, one in COMPETITORS.items()
        ],
    )  # fmt: skip
