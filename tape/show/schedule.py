"""Draws calls that run at once: a bar for each along the time, those of the critical path filled and framed.

The page's own script draws the same record in the browser, as it does with plan graphs.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.choice import Choice
from tape.errors import GraphError
from tape.files import replace_file
from tape.show.draw import style_rules, text_element
from tape.show.text import cut, one_line
from tape.trace import ScheduledCall

_ROW, _BAR, _TOP = 26.0, 17.0, 24.0
"""Heights of a row, of the bar in it, and of what is above the rows."""

_TIMES, _WHEN = 460.0, 130.0
"""Widths of the time from beginning to end, and of the words behind the last bar."""

_CHARACTER, _LONGEST, _MARGIN = 7.2, 36, 20.0
_STEPS = (1, 2, 5)


def schedule_record(calls: Sequence[ScheduledCall]) -> dict[str, Any]:
    """Where everything is: the size, the bars in rows, and lines at round times."""
    end = max((call.end for call in calls), default=0) or 1
    names = [cut(one_line(call.name), _LONGEST) for call in calls]
    left = round(10 + _CHARACTER * max(map(len, names), default=0), 1)
    scale = _TIMES / end
    bars = [
        {
            "name": name,
            "when": f"{call.start / 1000:g} to {call.end / 1000:g} s",
            "critical": call.critical,
            "x": round(left + call.start * scale, 1),
            "y": _TOP + row * _ROW,
            "width": round(max(1.5, (call.end - call.start) * scale), 1),
            "height": _BAR,
        }
        for row, (name, call) in enumerate(zip(names, calls, strict=True))
    ]
    step = next(s for power in range(17) for index in _STEPS if end / (s := index * 10**power) <= 8)
    lines = [[round(left + at * scale, 1), f"{at / 1000:g} s"] for at in range(0, end + 1, step)]
    return {"size": [left + _TIMES + _WHEN, _TOP + len(bars) * _ROW + 8], "left": left, "bars": bars, "lines": lines}


def draw_schedule(calls: Sequence[ScheduledCall] | Choice, file: Path | None = None, *, title: str = "") -> str:
    """Write a picture of a schedule.

    Args:
        calls: The calls, or what `tape.select` has chosen.
        file: Ends in ``.svg``; None writes none.
        title: A line above the picture.

    Returns:
        The picture.

    Raises:
        GraphError: The file's ending is another one, or the choice has no schedule.
    """
    if file is not None and file.suffix != ".svg":
        raise GraphError(f"{file}: pictures of schedules are SVG; name it {file.with_suffix('.svg').name}")
    if isinstance(calls, Choice):
        if not calls.schedule:
            raise GraphError("the choice has no schedule: draw what select chose of steps with after=")
        calls = [
            ScheduledCall(
                name=f"{scheduled.step}: {scheduled.variant}",
                start=int(scheduled.start * 1000),
                end=int(scheduled.end * 1000),
                critical=scheduled.critical,
            )
            for scheduled in calls.schedule
        ]
    picture = "".join(_elements(schedule_record(calls), one_line(title) or "schedule"))
    if file is not None:
        replace_file(file, picture.encode())
    return picture


def _elements(record: Mapping[str, Any], title: str) -> Iterator[str]:
    """The parts of the file, in order."""
    width, height, top = record["size"][0] + 2 * _MARGIN, record["size"][1] + 2 * _MARGIN + 44, _MARGIN + 44
    yield (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" class="drawing" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style_rules()}</style>\n"
        '<rect class="ground" width="100%" height="100%"/>\n'
    )
    yield text_element(_MARGIN, _MARGIN + 12, title, "title") + "\n"
    yield text_element(_MARGIN, _MARGIN + 34, "filled: critical path, which decides when the last one ends", "note")
    yield f'\n<g transform="translate({_MARGIN:g} {top:g})">\n'
    for x, text in record["lines"]:
        yield f'<line class="tick" x1="{x:g}" y1="16" x2="{x:g}" y2="{record["size"][1]:g}"/>'
        yield text_element(x, 11, text, "price") + "\n"
    for bar in record["bars"]:
        middle, end = bar["y"] + _BAR / 2 + 4, bar["x"] + bar["width"]
        yield f'<g class="bar{" critical" if bar["critical"] else ""}">'
        yield f'<rect x="{bar["x"]:g}" y="{bar["y"]:g}" width="{bar["width"]:g}" height="{_BAR:g}" rx="3"/>'
        yield text_element(record["left"] - 8, middle, bar["name"], "name")
        yield text_element(end + 7, middle, bar["when"], "when") + "</g>\n"
    yield "</g>\n</svg>\n"
