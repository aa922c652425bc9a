"""The frontier of a choice: a table with bars for the terminal, and a page with the curve."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from tape.choice import Choice
from tape.choice.amounts import written
from tape.screen import printable
from tape.show.text import cut, one_line

_BAR, _PLAN = 24, 60
"""Characters of the longest bar, and of a plan."""

_WIDTH, _HEIGHT, _LEFT, _BELOW = 860, 420, 90, 60
"""The picture in pixels, and what is left of the curve and below it."""

_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; color: #1b1d20; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { padding: .2em 1em; text-align: left; }
tr.now { font-weight: 650; } tr.over { color: #8a5300; } tr + tr { border-top: 1px solid #e4e4e0; }"""
_CURVE = """svg text { font: 12px system-ui, sans-serif; fill: #5c636b; } svg .plan { fill: #1b1d20; }
.curve { fill: none; stroke: #1f55c4; stroke-width: 2.5; } .axis { stroke: #8a9098; } .grid { stroke: #e4e4e0; }
.point { fill: #fff; stroke: #1f55c4; stroke-width: 2; } .point.now { fill: #1f55c4; } .point.over { stroke: #8a5300; }
.cap { stroke: #8a5300; stroke-dasharray: 5 4; }"""


def table(choice: Choice, names: Sequence[str], caps: Mapping[str, Decimal]) -> str:
    """The frontier as lines of text: what each plan has of the criteria, a bar, and the plan.

    The line of the plan that was chosen, or of one as good that takes less, begins with ``>``.

    Args:
        choice: With a frontier.
        names: Its criteria.
        caps: The budgets, in units.
    """
    measure = "value" if "value" in names else names[-1]
    sizes = [_number(entry, measure) for entry in choice.frontier]
    low, high = min(0.0, *sizes, 0.0), max(0.0, *sizes, 0.0)
    rows = [["", *names, "", ""]]
    for item, size in zip(choice.frontier, sizes, strict=True):
        bar = "█" * round(_BAR * (size - low) / ((high - low) or 1))
        mark = ">" if is_chosen(item, choice, names) else ""
        rows.append([mark, *(_amount(item, name) for name in names), bar, _plan(item) + _over(item, caps)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def page(choice: Choice, names: Sequence[str], caps: Mapping[str, Decimal], title: str) -> str:
    """The frontier as an HTML page of its own: the curve over the first and the last criterion, and the table.

    Args:
        choice: With a frontier.
        names: Its criteria.
        caps: The budgets, in units.
        title: Above it.
    """
    head = "".join(f"<th>{_text(name)}</th>" for name in [*names, "plan"])
    rows = []
    for item in choice.frontier:
        cells = [*(_amount(item, name) for name in names), _plan(item) + _over(item, caps)]
        row = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
        rows.append(f'<tr class="{_class(item, choice, names, caps)}">{row}</tr>')
    why = "".join(f"<p>{_text(line)}</p>" for line in str(choice.why).splitlines())
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{_text(title)}</title><style>{_STYLE}</style>\n'
        f"<h1>{_text(title)}</h1>\n{picture(choice, names, caps)}\n{why}\n"
        f"<table><tr>{head}</tr>{''.join(rows)}</table>\n{_proofs(choice)}</html>\n"
    )


def _proofs(choice: Choice) -> str:
    """What proves the choice and the frontier, to download: files for ``python check_proof.py PROBLEM PROOF``."""
    links = []
    for proof, of in ((choice.proof, ""), (choice.frontier_proof, "frontier-")):
        for text, name in ((proof.problem, "problem"), (proof.text, "proof")) if proof is not None else ():
            data = b64encode(text.encode()).decode()
            file = f"{of}{name}.json"
            links.append(f'<a download="{file}" href="data:application/json;base64,{data}">{file}</a>')
    return f"<p>Proven: {', '.join(links)}</p>" if links else ""


def picture(choice: Choice, names: Sequence[str], caps: Mapping[str, Decimal]) -> str:
    """The curve as SVG with its style. With three criteria or more it has points alone: others differ between."""
    across, up = names[0], names[-1]
    spots = [(_number(item, across), _number(item, up)) for item in choice.frontier]
    if not spots:
        return ""
    cap = caps.get(across)
    far = max([x for x, _ in spots] + ([float(cap)] if cap is not None else [])) or 1.0
    low, high = min(0.0, *(y for _, y in spots), 0.0), max(0.0, *(y for _, y in spots), 0.0)
    near = min(0.0, *(x for x, _ in spots), 0.0)

    def at(x: float, y: float) -> tuple[float, float]:
        wide, tall = _WIDTH - _LEFT - 200, _HEIGHT - _BELOW - 30
        return _LEFT + wide * (x - near) / ((far - near) or 1), 30 + tall * (high - y) / ((high - low) or 1)

    def parts() -> Iterator[str]:
        for share in range(5):
            x, y = near + (far - near) * share / 4, low + (high - low) * share / 4
            (left, base), (right, line) = at(x, low), at(far, y)
            yield f'<path class="grid" d="M{_LEFT} {line:.1f}H{right:.1f}M{left:.1f} 30V{base:.1f}"/>'
            yield f'<text x="{left:.1f}" y="{base + 18:.1f}" text-anchor="middle">{_text(_scale(across, x))}</text>'
            yield f'<text x="{_LEFT - 8}" y="{line + 4:.1f}" text-anchor="end">{_text(_scale(up, y))}</text>'
        end = at(far, low)
        yield f'<text x="{end[0]:.1f}" y="{end[1] + 40:.1f}" text-anchor="end">{_text(across)} →</text>'
        yield f'<text x="{_LEFT - 8}" y="16" text-anchor="end">↑ {_text(up)}</text>'
        if cap is not None:
            x, y = at(float(cap), low)
            yield f'<path class="cap" d="M{x:.1f} 22V{y:.1f}"/>'
            yield f'<text x="{x + 5:.1f}" y="20">budget {_text(_scale(across, float(cap)))}</text>'
        if len(names) == 2:
            first, *rest = [at(*spot) for spot in spots]
            steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
            yield f'<path class="curve" d="M{first[0]:.1f} {first[1]:.1f}{steps}"/>'
        for item, spot in zip(choice.frontier, spots, strict=True):
            x, y = at(*spot)
            yield f'<circle class="point {_class(item, choice, names, caps)}" cx="{x:.1f}" cy="{y:.1f}" r="6">'
            yield f"<title>{_text(_plan(item))}</title></circle>"
            if len(spots) <= 12:
                yield f'<text class="plan" x="{x + 10:.1f}" y="{y + 16:.1f}">{_text(cut(_plan(item), 34))}</text>'

    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
    return f"{head}<style>{_CURVE}</style>{''.join(parts())}</svg>"


def is_chosen(item: Choice, choice: Choice, names: Sequence[str]) -> bool:
    """Whether a plan of the frontier is the chosen one, or is as good and takes no more of the criteria."""
    if choice.value is None or ("value" in names and item.value != choice.value):
        return False
    return all(item.spent[name] <= choice.spent[name] for name in names if name != "value")


def _class(item: Choice, choice: Choice, names: Sequence[str], caps: Mapping[str, Decimal]) -> str:
    return "now" if is_chosen(item, choice, names) else "over" if _over(item, caps) else ""


def _number(choice: Choice, name: str) -> float:
    return choice.value or 0.0 if name == "value" else float(choice.spent[name])


def _amount(choice: Choice, name: str) -> str:
    return f"{choice.value:.12g}" if name == "value" else written(name, choice.spent[name])


def _scale(name: str, number: float) -> str:
    """A number at an axis, in three digits."""
    return f"{number:.3g}" if name == "value" else written(name, Decimal(f"{number:.3g}"))


def _plan(choice: Choice) -> str:
    return cut(one_line(printable(", ".join(map(str, choice.plan or [])))), _PLAN) or "(no step)"


def _over(choice: Choice, caps: Mapping[str, Decimal]) -> str:
    over = [f"{written(name, -choice.left[name])} over" for name in caps if choice.left[name] < 0]
    return f" ({', '.join(over)})" if over else ""


def _text(text: str) -> str:
    return html.escape(printable(text))
