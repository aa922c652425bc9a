"""The four panels on certified trajectories (SDP figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from tape.analysis.measures import MOST, Share, Trajectories, agreement, cascades, goals, progress, score_by_replans
from tape.plugins import require_extra
from tape.show.figures import save_figure
from tape.show.plots import DASHES, MARKERS, STRONG

HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")
SHADES = (STRONG, "#c9c9c9", "#7f9bc4", "white", "#999999", "#e3e3e3", "#5b5b5b")


def draw_figure(found: Mapping[str, Trajectories], files: Sequence[Path]) -> None:
    """Draw the panels into files, their format by their suffix; the same bytes every time.

    Args:
        found: Trajectories by configuration.
        files: Where to.
    """
    require_extra("plots", "matplotlib", what="drawing")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(
        {"svg.hashsalt": "experiments", "svg.fonttype": "none", "hatch.linewidth": 0.6, "text.parse_math": False}
    ):
        calibration = _calibrated(found)
        tall = (3.4, max(3.2, 0.9 + 0.21 * len(calibration)))
        figure, grid = plt.subplots(2, 2, figsize=(10.6, sum(tall)), height_ratios=tall, layout="constrained")
        _cascades(grid[0][0], found)
        _replans(grid[0][1], found)
        _progress(grid[1][0], found)
        _bars(grid[1][1], calibration, "not measured")
        grid[1][1].set_title("d  verdicts beside the truth", fontsize=9, loc="left")
        grid[1][1].set_xlabel("share", fontsize=8)
        for axes in grid.flat:
            axes.tick_params(labelsize=7.5)
            axes.set_axisbelow(True)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        named = "" if len(found) == 1 else ";  " + ";  ".join(f"{_letter(i)}: {name}" for i, name in enumerate(found))
        text = wrap(f"95 % intervals; n in brackets{named}", 150)
        figure.text(0.5, -0.01, "\n".join(text), ha="center", va="top", fontsize=7.5)
        for file in files:
            metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
            save_figure(figure, file, dpi=110, metadata=metadata, bbox_inches="tight")
        plt.close(figure)


def _cascades(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """Bars for every depth, one configuration after the other."""
    wide = 0.8 / len(found)
    for number, (name, own) in enumerate(zip(_labels(found), found.values(), strict=True)):
        for depth, one in enumerate(cascades(own).depths):
            if one.value is None:
                continue
            at = depth + (number - (len(found) - 1) / 2) * wide
            label = f"{name} [{one.n}]" if depth == 0 else None
            axes.bar(
                at, one.value, 0.92 * wide, color=SHADES[number % len(SHADES)], edgecolor="black", linewidth=0.7,
                hatch=HATCHES[number % len(HATCHES)], label=label,
            )  # fmt: skip
            axes.vlines(at, one.low, one.high, color="white", linewidth=3, zorder=3)  # seen on dark bars too
            axes.vlines(at, one.low, one.high, color="black", linewidth=1.1, zorder=4)
    names = [f"k = {k}" for k in range(1, MOST)] + [f"k >= {MOST}"]
    axes.set_xticks(range(MOST), names)
    axes.set_ylim(0, 1.04)
    axes.set_title("a  cascade depth: predicates certified by one action", fontsize=9, loc="left")
    axes.set_ylabel("share of certifying actions", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    axes.grid(axis="y", linewidth=0.3)


def _replans(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """A line for every configuration; the number of episodes beside every point."""
    for number, (name, own) in enumerate(zip(_labels(found), found.values(), strict=True)):
        shown = [(i, one) for i, one in enumerate(score_by_replans(own)) if one.value is not None]
        xs = [i + (number - (len(found) - 1) / 2) * 0.05 for i, _ in shown]
        strong = number == 0
        axes.plot(
            xs, [one.value for _, one in shown], label=name, color=STRONG if strong else "#555555",
            marker="o" if strong else MARKERS[number % len(MARKERS)], markersize=5,
            markerfacecolor=STRONG if strong else "white", linewidth=1.8 if strong else 1.0,
            linestyle="-" if strong else DASHES[number % len(DASHES)],
        )  # fmt: skip
        for x, (_, one) in zip(xs, shown, strict=True):
            axes.vlines(x, one.low, one.high, color="#777777", linewidth=0.8)
            axes.annotate(
                f"[{one.n}]", (x, one.value), xytext=(5, 4 if strong else -9), textcoords="offset points", fontsize=6.5,
            )  # fmt: skip
    axes.set_xticks(range(MOST + 1), [*map(str, range(MOST)), f"{MOST} or more"])
    axes.set_xlim(-0.3, MOST + 0.4)
    axes.set_ylim(-0.03, 1.06)
    axes.set_title("b  score by the number of replans", fontsize=9, loc="left")
    axes.set_xlabel("replans of the episode", fontsize=8)
    axes.set_ylabel("mean score", fontsize=8)
    axes.legend(fontsize=7, loc="best")
    axes.grid(axis="y", linewidth=0.3)


def _progress(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """A bar for every configuration."""
    rows = {label: progress(own) for label, own in zip(_labels(found), found.values(), strict=True)}
    _bars(axes, rows, "no run failed")
    axes.set_title("c  how far failed runs get", fontsize=9, loc="left")
    axes.set_xlabel("share of the planned predicates that is certified", fontsize=8)


def _calibrated(found: Mapping[str, Trajectories]) -> dict[str, Share]:
    """For every configuration the verdicts by what they rest on, and the goal."""
    rows: dict[str, Share] = {}
    for number, own in enumerate(found.values()):
        before = f"{_letter(number)}: " if len(found) > 1 else ""
        for how, one in agreement(own).items():
            if one.precision.n:
                rows[f"{before}precision, {how}"] = one.precision
        goal = goals(own)
        rows[f"{before}goal certified = success"] = goal.agree
        if goal.forced.n:
            rows[f"{before}success of forced answers"] = goal.forced
    return rows


def _letter(number: int) -> str:
    """A short name of a configuration."""
    return chr(ord("A") + number % 26) * (1 + number // 26)


def _labels(found: Mapping[str, Trajectories]) -> list[str]:
    """The names in the figure: the only one's own, else letters."""
    return [*found] if len(found) == 1 else [_letter(number) for number in range(len(found))]


def _bars(axes: Any, rows: Mapping[str, Share], none: str) -> None:
    for number, one in enumerate(rows.values()):
        if one.value is None:
            axes.text(0.01, number, none, va="center", fontsize=7)
            continue
        axes.barh(number, one.value, 0.7, color="#c9c9c9", edgecolor="black", linewidth=0.7)
        axes.hlines(number, one.low, one.high, color="black", linewidth=1.1, zorder=3)
        axes.text(max(one.value, one.high) + 0.015, number, f"{one.value:.2f} [{one.n}]", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.22)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(axis="x", linewidth=0.3)
