"""README, docs and CONTRIBUTING as they are read: their fenced blocks, and the commands in their text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """How tests name a page: by its path below docs, or by its name."""
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


@dataclass(frozen=True)
class Block:
    """A fenced block of code.

    Attributes:
        page: Where it stands.
        number: From 1, among the blocks of its language on the page.
        language: As it is marked.
        text: What is between the fences.
        after: The block without a language that follows it on the page before any other block, or empty.
    """

    page: str
    number: int
    language: str
    text: str
    after: str = ""


def still(page: Path) -> str:
    """The text of a page without what it says an earlier commit has."""
    return re.sub(r"`[^`]*` of\s+commit\s+`\w+`", "", page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    matches = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    seen: dict[str, int] = {}
    for index, (language, text) in enumerate(matches):
        seen[language] = seen.get(language, 0) + 1
        following = matches[index + 1] if index + 1 < len(matches) else ("", "")
        after = following[1] if following[0] == "" else ""
        yield Block(name_of(page), seen[language], language, text, after)


def of(language: str) -> list[Block]:
    """All blocks of a language."""
    return [block for page in PAGES for block in blocks(page) if block.language == language]


def commands(text: str) -> Iterator[str]:
    """The command lines of a shell block, continued lines joined and comments taken off."""
    for line in text.replace("\\\n", " ").splitlines():
        command = re.sub(r"\s+#\s.*$", "", line).strip()
        if command and not command.startswith("#"):
            yield command


def inline(page: Path) -> Iterator[str]:
    """The commands in the text of a page: in back-ticks, and complete, that is with more than a module's name."""
    text = re.sub(r"^```.*?^```$", "", still(page), flags=re.DOTALL | re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", text):
        command = " ".join(code.split())
        if re.match(r"(tape (models$|solvers$|\w+ \S)|python -m |make )", command):
            yield command


SHELL = [(block.page, command) for block in of("sh") for command in commands(block.text)]
INLINE = [
    (name_of(page), command)
    for page in PAGES
    for command in inline(page)
    if "..." not in command and "[" not in command
]
