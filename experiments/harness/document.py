"""A report as data, written as Markdown and as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.harness.plots import Plot, draw
from tape.files import replace_file
from tape.runner.summary import harmless
from tape.screen import printable

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76em; margin: 2em auto; padding: 0 1em; color: #111; }
h2 { margin-top: 2.2em; border-bottom: 1px solid #999; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { border: 1px solid #bbb; padding: .25em .6em; text-align: left; vertical-align: top; }
th { background: #eee; }
td:nth-child(n+3) { font-variant-numeric: tabular-nums; }
figure { margin: 1.2em 0; } img { max-width: 100%; } figcaption, .note { font-size: 13px; color: #333; }
.wide { overflow-x: auto; }
"""


@dataclass(frozen=True)
class Bullets:
    """A list of sentences; ``code`` and **bold** are the only marks read, as in every text of a report."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table and the note below it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A plot: drawn from data, or a PNG that exists already.

    Attributes:
        name: Its file name without suffix, unique in a report.
        caption: What it shows.
        plot: What to draw.
        file: A finished PNG instead.
    """

    name: str
    caption: str
    plot: Plot | None = None
    file: Path | None = None


Block = str | Bullets | Table | Figure


@dataclass(frozen=True)
class Section:
    """A titled part of a report; ``level`` 2 is a chapter."""

    title: str
    blocks: tuple[Block, ...]
    level: int = 2


def write_report(folder: Path, title: str, sections: Sequence[Section], *, html_too: bool = True) -> list[Path]:
    """Draw the figures into ``plots/`` and write ``report.md`` and ``report.html``.

    Args:
        folder: Where to.
        title: Heading of the report.
        sections: Its parts.
        html_too: False for ``report.md`` and PNG files alone.

    Returns:
        The files written, reports first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    images: dict[str, Path] = {}
    files: list[Path] = []
    for figure in (block for section in sections for block in section.blocks if isinstance(block, Figure)):
        png = folder / "plots" / f"{figure.name}.png"
        drawn = [png, png.with_suffix(".svg")] if html_too else [png]
        if figure.plot is not None:
            draw(figure.plot, drawn)
        elif figure.file is not None:
            drawn = [png]
            png.parent.mkdir(parents=True, exist_ok=True)
            replace_file(png, figure.file.read_bytes())
        images[figure.name] = png
        files += drawn
    report = folder / "report.md"
    replace_file(report, markdown(title, sections))
    reports = [report]
    if html_too:
        page = folder / "report.html"
        replace_file(page, printable(to_html(title, sections, images)))
        reports.append(page)
    return reports + files


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The report as Markdown, with no HTML in it; figures are named by their place in ``plots/``."""
    parts = [f"# {title}"]
    for section in sections:
        parts.append("#" * section.level + f" {section.title}")
        parts += [_markdown(block) for block in section.blocks]
    return harmless("\n\n".join(parts)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case str():
            return block
        case Bullets():
            return "\n".join(f"- {item}" for item in block.items)
        case Table():
            return table(block.head, block.rows) + (f"\n\n{block.note}" if block.note else "")
        case Figure():
            return f"![{_plain(block.caption)}](plots/{block.name}.png)\n\n*{_plain(block.caption)}*"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def to_html(title: str, sections: Sequence[Section], images: Mapping[str, Path]) -> str:
    """The report as one HTML file: style and images are inside, nothing is loaded from anywhere."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for section in sections:
        body.append(f"<h{section.level}>{_inline(section.title)}</h{section.level}>")
        body += [_html(block, lambda name: images[name]) for block in section.blocks]
    text = "\n".join(body)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{text}\n</body>\n</html>\n"
    )


def _html(block: Block, image: Callable[[str], Path]) -> str:
    match block:
        case str():
            return f"<p>{_inline(block)}</p>"
        case Bullets():
            return "<ul>\n" + "\n".join(f"<li>{_inline(item)}</li>" for item in block.items) + "\n</ul>"
        case Table():
            head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.head)
            rows = "\n".join("<tr>" + "".join(f"<td>{_inline(c)}</td>" for c in row) + "</tr>" for row in block.rows)
            note = f'\n<p class="note">{_inline(block.note)}</p>' if block.note else ""
            return f'<div class="wide"><table>\n<tr>{head}</tr>\n{rows}\n</table></div>{note}'
        case Figure():
            data = base64.b64encode(image(block.name).read_bytes()).decode("ascii")
            caption = _inline(block.caption)
            alt = html.escape(_plain(block.caption), quote=True)
            return (
                f'<figure><img alt="{alt}" src="data:image/png;base64,{data}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )


def _inline(text: str) -> str:
    """HTML of a text with ``code`` and **bold**."""
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escaped)


def _plain(text: str) -> str:
    return text.replace("`", "").replace("**", "")
