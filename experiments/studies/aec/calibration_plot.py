"""The reliability diagram of predictors: how often what they predicted was true, by what they predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.studies.aec.fitting import Reliability
from tape.show.plots import STRONG


def draw_reliability(measured: Mapping[str, Reliability], files: Sequence[Path]) -> None:
    """Draw one frame for each predictor into files, their format by their suffix; the same bytes every time.

    Args:
        measured: By the predictor's name.
        files: Where to.

    Raises:
        ValueError: There is no predictor.
    """
    if not measured:
        raise ValueError("a reliability diagram needs at least one predictor")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "experiments", "svg.fonttype": "none"}):
        figure, grid = plt.subplots(
            1, len(measured), figsize=(3.6 * len(measured), 3.8), squeeze=False, layout="constrained"
        )
        for axes, (name, found) in zip(grid[0], measured.items(), strict=True):
            _frame(axes, name, found)
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(file, dpi=110, metadata={"Date": None} if file.suffix == ".svg" else {"Software": None})
        plt.close(figure)


def _frame(axes: Any, name: str, found: Reliability) -> None:
    """Points with intervals, the number of predictions beside them; the diagonal is perfect calibration."""
    filled = [b for b in found.bins if b.n]
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--", zorder=1)
    axes.annotate("perfect", (0.9, 0.93), ha="center", va="center", rotation=45, fontsize=7, color="#555555")
    means = [b.mean for b in filled]
    axes.vlines(means, [b.frequency_low for b in filled], [b.frequency_high for b in filled], color="black", lw=0.9)
    axes.plot(means, [b.frequency for b in filled], color=STRONG, marker="o", markersize=5, linewidth=1.2, zorder=3)
    for b in filled:
        axes.annotate(str(b.n), (b.mean, b.frequency), xytext=(5, -8), textcoords="offset points", fontsize=6.5)
    said = f"n = {found.n}, ECE {found.ece:.3f}, Brier {found.brier:.3f}" if found.n else "not measured"
    axes.set_title(f"{name}\n{said}", fontsize=8.5)
    axes.set_xlabel("mean prediction of a bin (number: predictions in it)", fontsize=7.5)
    axes.set_ylabel("share that was true, 95 % interval", fontsize=7.5)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_aspect("equal")
    axes.tick_params(labelsize=7.5)
    axes.grid(linewidth=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
