"""The four panels on certified trajectories (SDP figure 3): a row for every configuration, under its own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.analysis.measures import MOST, Share, Trajectories, agreement, cascades, goals, progress, score_by_replans
from tape.plugins import require_extra
from tape.show.figures import STYLE, save_figure
from tape.show.plots import STRONG

_ROW, _SMALL = 0.46, 7.5
"""Inches a configuration, and the size of small type in points."""

_KINDS = (("o", STRONG), ("D", "#b3541e"), ("s", "#5b7f3b"), ("^", "#7a4b94"), ("v", "#777777"))
"""Markers and colours of what a verdict rests on; one of each never stands for two things."""

Rows = Sequence[tuple[str, Share]]


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

    with mpl.rc_context(STYLE):
        tall = 1.5 + _ROW * max(2, len(found))
        figure, grid = plt.subplots(
            1, 4, figsize=(13.5, tall), sharey=True, width_ratios=(1, 1.25, 1, 1.15), layout="constrained"
        )
        _cascades(grid[0], found)
        _replans(grid[1], found)
        _progress(grid[2], found)
        _verdicts(grid[3], found)
        grid[0].set_yticks(range(len(found)), list(found), fontsize=_SMALL)
        grid[0].set_ylim(len(found) - 0.45, -0.55)
        for axes in grid:
            axes.tick_params(axis="x", labelsize=_SMALL)
            axes.tick_params(axis="y", length=0)
            axes.set_axisbelow(True)
            for row in range(1, len(found)):
                axes.axhline(row - 0.5, color="#dddddd", linewidth=0.6, zorder=0)
            for side in ("top", "right", "left"):
                axes.spines[side].set_visible(False)
        handles, labels = grid[3].get_legend_handles_labels()
        figure.legend(handles, labels, fontsize=_SMALL, loc="outside lower right", ncols=len(labels), frameon=False)
        for file in files:
            metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
            save_figure(figure, file, dpi=120, metadata=metadata, bbox_inches="tight")
        plt.close(figure)


def _share_axis(axes: Any, title: str, below: str) -> None:
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    axes.grid(axis="x", linewidth=0.3)
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel(below, fontsize=8)


def _dot(axes: Any, row: float, one: Share, marker: str, colour: str) -> None:
    """A share with its interval."""
    axes.hlines(row, one.low, one.high, color=colour, linewidth=1.1, zorder=2)
    axes.plot([one.value], [row], marker, color=colour, markersize=4.5, clip_on=False, zorder=3)


def _labelled(axes: Any, row: float, one: Share) -> None:
    """A share with its interval, and its value and n where there is space beside them."""
    if one.value is None:
        axes.text(0.0, row, "none", va="center", fontsize=_SMALL, color="#777777")
        return
    _dot(axes, row, one, "o", STRONG)
    left = one.high > 0.7 and one.low > 0.25
    at, side = (one.low - 0.03, "right") if left else (one.high + 0.03, "left")
    axes.text(at, row, f"{one.value:.2f} [{one.n}]", va="center", ha=side, fontsize=_SMALL)


def _cascades(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """The share of certifying actions that certify two predicates or more."""
    _share_axis(axes, "a  cascades: k >= 2", "certifying actions with k >= 2 [n]")
    for row, own in enumerate(found.values()):
        _labelled(axes, row, cascades(own).deep)


def _replans(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """A table: the mean score of the episodes with so many replans, the darker the higher; n below."""
    axes.set_title("b  mean score by the number of replans", fontsize=9, loc="left")
    axes.set_xlabel("replans of the episode [n]", fontsize=8)
    axes.set_xticks(range(MOST + 1), [*map(str, range(MOST)), f"{MOST} or more"])
    axes.set_xlim(-0.5, MOST + 0.5)
    for row, own in enumerate(found.values()):
        for column, one in enumerate(score_by_replans(own)):
            if one.value is None:
                continue
            shade = 1 - 0.45 * one.value
            axes.barh(row, 0.94, 0.86, column - 0.47, color=(shade, shade, 1 - 0.2 * one.value), linewidth=0, zorder=1)
            axes.text(column, row, f"{one.value:.2f} [{one.n}]", ha="center", va="center", fontsize=_SMALL, zorder=2)


def _progress(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """How much of their chain failed runs certify."""
    _share_axis(axes, "c  how far failed runs get", "share of the chain that is certified [n]")
    for row, own in enumerate(found.values()):
        _labelled(axes, row, progress(own))


def _verdicts(axes: Any, found: Mapping[str, Trajectories]) -> None:
    """Precision of the certificates by what they rest on, and the goal beside the environment's verdict."""
    _share_axis(axes, "d  verdicts beside the truth", "share")
    rows = [_calibrated(own) for own in found.values()]
    kinds = list(dict.fromkeys(name for own in rows for name, _ in own))
    for place, kind in enumerate(kinds):
        marker, colour = _KINDS[place % len(_KINDS)]
        shift = (place - (len(kinds) - 1) / 2) * 0.7 / max(1, len(kinds))
        axes.plot([], [], marker, color=colour, markersize=4.5, label=kind)
        for row, own in enumerate(rows):
            for one in (share for name, share in own if name == kind):
                _dot(axes, row + shift, one, marker, colour)


def _calibrated(own: Trajectories) -> Rows:
    """The verdicts of a configuration by what they rest on, and the goal."""
    rows = [(f"precision, {how}", one.precision) for how, one in agreement(own).items() if one.precision.n]
    goal = goals(own)
    rows += [("goal certified = success", goal.agree)] if goal.agree.n else []
    return rows + ([("success of forced answers", goal.forced)] if goal.forced.n else [])
