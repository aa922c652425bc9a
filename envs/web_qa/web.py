"""The recorded web: pages that are searched by BM25 and read by their addresses, and tasks over it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from envs.data_files import DataFileError, records_of_lines
from envs.search.retrieval import bm25, words
from tape.budget import Resources, declare
from tape.budget.prices import Fixed
from tape.protocols.search import Passage
from tape.tools.errors import ToolFailedError
from tape.tools.making import make_tool
from tape.tools.toolbox import Toolbox

DATA = Path(__file__).parent / "data"
RESULTS = 5
"""Results of a search."""

LONGEST_PAGE, LONGEST_SNIPPET = 1500, 160
"""Characters that are read of a page, and shown of it among the results of a search."""

_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")

declare("lookups", "lookup")
declare("scrapes", "scrape")


@dataclass(frozen=True)
class WebPage:
    """A recorded page.

    Attributes:
        address: Where it is.
        title: Its title.
        text: Its text, links as in Markdown.
        blocked: Whether its site lets nobody read it.
    """

    address: str
    title: str
    text: str
    blocked: bool = False


@dataclass(frozen=True)
class WebTask:
    """A task, as a line of AssistantBench's files has it.

    Attributes:
        id: Unique in its file.
        text: What is asked.
        answer: The right answer; empty where the file keeps it secret.
        difficulty: ``Easy``, ``Medium`` or ``Hard``.
        metadata: Of our own tasks the program (:class:`envs.web_qa.made.MadeQuestion`).
    """

    id: str
    text: str
    answer: str
    difficulty: str = ""
    metadata: str = ""


class Web:
    """Pages that can be searched and read.

    Raises:
        SearchError: There is none, or an address twice.
        MissingExtraError: The extra ``search`` is not installed.
    """

    def __init__(self, pages: Iterable[WebPage]) -> None:
        self.pages = {page.address: page for page in pages}
        self._index = bm25([Passage(p.address, p.title, _LINK.sub(r"\1", p.text)) for p in self.pages.values()])

    def search(self, query: str) -> list[dict[str, str]]:
        """Search the web; gives titles, addresses and snippets, the best first."""
        pages = [self.pages[passage.id] for passage in self._index.search(query, RESULTS)]
        if not pages:
            raise ToolFailedError("nothing was found")
        asked = frozenset(words(query))
        return [{"title": p.title, "address": p.address, "snippet": _snippet(p.text, asked)} for p in pages]

    def scrape(self, address: str) -> str:
        """Read the page at an address, links included."""
        page = self.pages.get(address.partition("#")[0].strip())
        if page is None:
            raise ToolFailedError("there is no such page")
        if page.blocked:
            raise ToolFailedError("the site denies access")
        return f"{page.title}\n{page.text}"[:LONGEST_PAGE]

    def tools(self) -> Toolbox:
        """``search`` and ``scrape``; each is counted."""
        costs = {name: Fixed(Resources({kind: 1})) for name, kind in (("search", "lookups"), ("scrape", "scrapes"))}
        made = (self.search, self.scrape)
        return Toolbox([make_tool(function, cost=costs[function.__name__], pure=True) for function in made])


def site(address: str) -> str:
    """The site that an address is of."""
    return urlsplit(address.strip()).netloc.lower()


def _snippet(text: str, asked: frozenset[str]) -> str:
    """The sentence that shares most words with a query."""
    sentences = _SENTENCE.split(_LINK.sub(r"\1", text))
    return max(sentences, key=lambda name: len(asked.intersection(words(name))))[:LONGEST_SNIPPET]


def load_pages(folder: Path = DATA) -> tuple[WebPage, ...]:
    """The pages of a folder: its files ``pages*.jsonl``, an object with ``address``, ``title`` and ``text`` a line.

    Raises:
        DataFileError: There is none, or a line is wrong.
    """
    pages: dict[str, WebPage] = {}
    for file in sorted(folder.glob("pages*.jsonl")):
        for record in records_of_lines(file):
            blocked = "blocked" in record.fields and record.flag("blocked")
            page = WebPage(record.text("address"), record.text("title"), record.text("text"), blocked)
            if pages.setdefault(page.address, page) is not page:
                raise record.wrong("address", f"{page.address} is the address of an earlier page; give each its own")
    if not pages:
        raise DataFileError(str(folder), "", "", "holds no pages; record them as pages.jsonl, one JSON object a line")
    return tuple(pages.values())


def load_tasks(file: Path) -> tuple[WebTask, ...]:
    """The tasks of a file in AssistantBench's format.

    Raises:
        DataFileError: It cannot be read; names line and field.
    """
    mapping: dict[str, WebTask] = {}
    for record in records_of_lines(file):
        answer, difficulty, metadata = (
            record.text(name) if record.fields.get(name) else "" for name in ("answer", "difficulty", "metadata")
        )
        task = WebTask(record.text("id"), record.text("task"), answer, difficulty, metadata)
        if mapping.setdefault(task.id, task) is not task:
            raise record.wrong("id", f"{task.id} is the id of an earlier task; give each its own")
    if not mapping:
        raise DataFileError(str(file), "", "", "holds no tasks; give one JSON object a line")
    return tuple(mapping.values())
