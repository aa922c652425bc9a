"""``llms.txt``, a list of the pages, and ``llms-full.txt``, their text: for readers that are language models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from markdownify import markdownify

LIST, WHOLE = "llms.txt", "llms-full.txt"


@dataclass(frozen=True)
class Text:
    """A page as text.

    Attributes:
        title: Its title.
        url: Where the site has it, from its root.
        text: What it says, in Markdown.
    """

    title: str
    url: str
    text: str


def text_of(title: str, url: str, html: str) -> Text:
    """A page as text, from the HTML of its content."""
    bare = re.sub(r'<a class="headerlink".*?</a>', "", html)
    return Text(title, url, re.sub(r"\n{3,}", "\n\n", markdownify(bare, heading_style="ATX")).strip())


def write(folder: Path, name: str, about: str, doors: Mapping[str, Iterable[Text]]) -> None:
    """Write both files.

    Args:
        folder: Of the site.
        name: Of the project.
        about: What it is, in a sentence.
        doors: The pages by the section that they belong to, in order.
    """
    lines, whole = [f"# {name}", "", f"> {about}", ""], [f"# {name}", "", f"> {about}", ""]
    for door, pages in doors.items():
        lines += [f"## {door}", ""]
        for page in pages:
            lines.append(f"- [{page.title}]({page.url}): {_first_sentence(page.text)}")
            whole += [f"<!-- {page.url} -->", "", page.text, ""]
        lines.append("")
    (folder / LIST).write_text("\n".join(lines), encoding="utf-8")
    (folder / WHOLE).write_text("\n".join(whole), encoding="utf-8")


def _first_sentence(text: str) -> str:
    """The first sentence of the first paragraph, on one line and without links."""
    paragraphs = (part.strip() for part in text.split("\n\n"))
    plain = next((part for part in paragraphs if part[:1] not in ("", "#", "!", "`", "|", "-", "<")), "")
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain).replace("\n", " ")
    return re.split(r"(?<=[.:])\s", plain, maxsplit=1)[0]
