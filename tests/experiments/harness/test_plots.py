"""Plots: the same bytes every time, nothing but ink that also prints in grey, names that do not overlap."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.harness.plots import Panel, Plot, Series, Value, draw, spread

METHODS = ("ReAct", "TAPE (LM world model)", "TAPE (simulator): upper bound")
ROLES = ("plain", "strong", "bound")


def plot(kind: str) -> Plot:
    count = {"bars": 1, "lines": 3}[kind]
    series = tuple(
        Series(
            method,
            (*(Value(0.2 * i, 0.1 * i, 0.3 * i) for i in range(1, count + 1)),),
            role,
            tuple(map(float, range(count))),
        )
        for method, role in zip(METHODS, ROLES, strict=True)
    )
    lacking = Series("not there", (None,) * count, xs=tuple(map(float, range(count))))
    return Plot(kind, (Panel("one", series), Panel("two", (*series, lacking))), "success", "place")


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_a_plot_is_the_same_file_every_time_and_names_everything(kind: str, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.png", "a.svg", "b.png", "b.svg")]
    draw(plot(kind), files[:2])
    draw(plot(kind), files[2:])
    assert files[0].read_bytes() == files[2].read_bytes()
    assert files[1].read_bytes() == files[3].read_bytes()
    text = files[1].read_text(encoding="utf-8")
    assert "<dc:date>" not in text
    assert text.count("ReAct") == 2
    for part in ("one", "two", "success", "LM world model"):
        assert part in text
    assert ("not measured" in text) == (kind == "bars")


@given(st.lists(st.floats(0, 1), max_size=9))
def test_names_are_moved_apart_and_stay_in_order(heights: list[float]) -> None:
    placed = spread(sorted(heights), 0.06, 1.0)
    assert len(placed) == len(heights)
    assert all(b - a >= 0.06 - 1e-9 for a, b in pairwise(placed))
    assert all(-1e-9 <= height <= 1 + 1e-9 for height in placed)
