"""Plots as data, and one function that draws them: readable in print, without colour, the same file every time.

A plot is a row of panels of one kind. Bars carry their names on the axis and their values at their ends; lines are
named beside their right ends, and differ by marker, dashes and shade.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tape.files import replace_file
from tape.plugins import require_extra

OURS = "o"
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "d")
DASHES: tuple[Any, ...] = ("--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (2, 4)))
STRONG, PLAIN, BOUND = "#1f3b63", "#c9c9c9", "white"
_WRAP = 26


@dataclass(frozen=True)
class Value:
    """A measured value with its 95 % interval, on the plot's vertical scale (bars: their length)."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One method.

    Attributes:
        label: Its name.
        values: One value per position; None where it was not measured.
        role: ``strong`` for ours, ``bound`` for what is no competitor but an upper bound, else ``plain``.
        xs: Horizontal positions; for bars unused.
    """

    label: str
    values: tuple[Value | None, ...]
    role: str = "plain"
    xs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One frame of a plot."""

    title: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Plot:
    """A row of panels.

    Attributes:
        kind: ``bars`` (one value per series) or ``lines``.
        panels: The frames; they share their scales.
        value: What the values are.
        across: What the horizontal positions of lines are.
        top: Highest value on the scale; None fits the data.
    """

    kind: str
    panels: tuple[Panel, ...]
    value: str
    across: str = ""
    top: float | None = 1.0


def draw(plot: Plot, files: Sequence[Path]) -> None:
    """Draw a plot into files, their format by their suffix.

    Raises:
        ValueError: The plot is of no known kind.
    """
    require_extra("plots", "matplotlib", what="drawing")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    kinds = {"bars": _bars, "lines": _lines}
    if plot.kind not in kinds:
        raise ValueError(f"a plot is one of {', '.join(kinds)}, not {plot.kind!r}")
    with mpl.rc_context(
        {"svg.hashsalt": "experiments", "svg.fonttype": "none", "hatch.linewidth": 0.6, "text.parse_math": False}
    ):
        figure = kinds[plot.kind](plot, plt)
        for file in files:
            metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
            picture = io.BytesIO()
            figure.savefig(picture, format=file.suffix.removeprefix("."), dpi=110, metadata=metadata)
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, picture.getvalue())  # there as a whole or not at all, and never through a link
        plt.close(figure)


def _frames(plt: Any, count: int, size: tuple[float, float], columns: int, **shared: Any) -> tuple[Any, list[Any]]:
    """A figure with a grid of frames; frames that are not needed are taken away."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, layout="constrained", **shared
    )
    frames = list(grid.flat)
    for spare in frames[count:]:
        spare.remove()
    return figure, frames[:count]


def _bars(plot: Plot, plt: Any) -> Any:
    """Horizontal bars, the first series on top, each value written beside its interval."""
    most = max(len(panel.series) for panel in plot.panels)
    figure, frames = _frames(plt, len(plot.panels), (4.6, 0.9 + 0.34 * most), 3)
    top = plot.top or max((v.high for p in plot.panels for s in p.series for v in s.values if v), default=1.0)
    for axes, panel in zip(frames, plot.panels, strict=True):
        for row, series in enumerate(panel.series):
            value = series.values[0]
            if value is None:
                axes.text(0.01 * top, row, "not measured", va="center", fontsize=7)
                continue
            fill = {"strong": STRONG, "bound": BOUND}.get(series.role, PLAIN)
            hatch = "///" if series.role == "bound" else None
            axes.barh(row, value.at, 0.72, color=fill, hatch=hatch, edgecolor="black", linewidth=0.7)
            axes.hlines(row, value.low, value.high, color="black", linewidth=1.1, zorder=3)
            axes.vlines([value.low, value.high], row - 0.16, row + 0.16, color="black", linewidth=1.1, zorder=3)
            if series.role == "strong" and value.at > 0:  # black on dark cannot be seen
                axes.hlines(row, value.low, min(value.at, value.high), color="white", linewidth=1.1, zorder=4)
                axes.vlines(value.low, row - 0.16, row + 0.16, color="white", linewidth=1.1, zorder=4)
            end = max(value.at, value.high) + 0.015 * top
            axes.text(end, row, f"{value.at:.2f}", va="center", ha="left", fontsize=7.5)
        axes.set_yticks(range(len(panel.series)), [wrapped(s.label) for s in panel.series], fontsize=7.5)
        axes.set_ylim(most - 0.4, -0.6)
        axes.set_xlim(0, 1.13 * top)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(plot.value, fontsize=8)
        _finish(axes, "x")
    return figure


def _lines(plot: Plot, plt: Any) -> Any:
    """One line per series with intervals, named at its right end."""
    figure, frames = _frames(plt, len(plot.panels), (5.6, 3.6), 2)
    top = plot.top or max((v.high for p in plot.panels for s in p.series for v in s.values if v), default=1.0)
    for axes, panel in zip(frames, plot.panels, strict=True):
        spots = [x for series in panel.series for x in series.xs] or [0.0]
        low, wide = min(spots), (max(spots) - min(spots)) or 1.0
        shift = 0.011 * wide
        ends = []
        for number, series in enumerate(panel.series):
            pairs = [(x, v) for x, v in zip(series.xs, series.values, strict=True) if v is not None]
            if not pairs:
                continue
            # Shifted a little, so that intervals at the same position can be distinguished.
            xs = [x + (number - (len(panel.series) - 1) / 2) * shift for x, _ in pairs]
            strong = series.role == "strong"
            style = {"color": STRONG if strong else "#555555", "linewidth": 2.0 if strong else 1.0}
            axes.plot(
                xs, [v.at for _, v in pairs], marker=_marker(series, number), markersize=5,
                markerfacecolor=STRONG if strong else "white", zorder=4 if strong else 3,
                linestyle="-" if strong else DASHES[number % len(DASHES)], **style,
            )  # fmt: skip
            axes.vlines(xs, [v.low for _, v in pairs], [v.high for _, v in pairs], color=style["color"], linewidth=0.8)
            ends.append((xs[-1], pairs[-1][1].at, series, _marker(series, number)))
        axes.set_xlim(low - 0.06 * wide, low + 1.7 * wide)
        axes.set_ylim(-0.02 * top, 1.04 * top)
        _name(axes, ends, low + 1.1 * wide, top)
        at = sorted(set(spots))
        axes.set_xticks(at, [f"{x:g}" for x in at], fontsize=7.5)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(plot.across, fontsize=8, loc="left")
        axes.set_ylabel(plot.value, fontsize=8)
        _finish(axes, "y")
    return figure


def _marker(series: Series, number: int) -> str:
    return OURS if series.role == "strong" else MARKERS[number % len(MARKERS)]


def _name(axes: Any, ends: Sequence[tuple[float, float, Series, str]], at: float, top: float) -> None:
    """Write the names in a column at ``at``, in the order of their points, without overlaps, joined by thin lines."""
    order = sorted(ends, key=lambda end: end[1])
    for (x, y, series, marker), height in zip(order, spread([end[1] for end in order], 0.062 * top, top), strict=True):
        fill = STRONG if series.role == "strong" else "white"
        axes.plot([x, at], [y, height], color="#999999", linewidth=0.5, zorder=1)
        axes.plot(at, height, marker=marker, color=fill, markeredgecolor="black", markersize=4.5, zorder=5)
        axes.annotate(series.label, (at, height), xytext=(6, 0), textcoords="offset points", va="center", fontsize=7.5)


def spread(heights: Sequence[float], least: float, top: float) -> list[float]:
    """Move sorted heights apart, as little as needed, to at least ``least`` between them, below ``top`` if they fit."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + least) if placed else height)
    ceiling = top
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - least
    lift = max(0.0, -placed[0]) if placed else 0.0
    return [height + lift for height in placed]


def wrapped(label: str) -> str:
    """A label on several short lines."""
    return "\n".join(textwrap.wrap(label, _WRAP, break_long_words=False))


def _finish(axes: Any, grid: str) -> None:
    axes.tick_params(labelsize=7.5)
    axes.grid(axis=grid, linewidth=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
