"""What mkdocs calls while it builds the site (``hooks:`` in ``mkdocs.yml``).

Pages link to files of the repository that lie outside docs/, as they do where the repository is read. The site takes
those files in below ``source/``: Markdown as pages, all others as they are.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # mkdocs runs this file as it stands, wherever it was started

from tools.site.llms import Text, text_of, write  # noqa: E402
from tools.site.reference import pages  # noqa: E402

OUTSIDE = "source"
LINK = re.compile(r"(?<!`)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<link>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


_TEXTS: dict[str, Text] = {}
"""The pages that have been built, by path."""
_DOORS: dict[str, list[str]] = {}
"""The paths of the pages of each door."""


def on_startup(command: str, dirty: bool) -> None:
    """No line of progress in the outputs of notebooks."""
    del command, dirty
    os.environ["TAPE_PROGRESS"] = "0"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made of the code, and the files outside docs/ that pages link to."""
    for uri, text in pages().items():
        files.append(File.generated(config, uri, content=text))
    left = [(file.src_uri, file.content_string) for file in files.documentation_pages() if file.src_uri.endswith(".md")]
    taken: set[str] = set()
    while left:
        uri, text = left.pop()
        for link in _links(text):
            path = repository_path(uri, link)
            if path is None or path in taken or path.startswith("docs/") or not (ROOT / path).is_file():
                continue
            taken.add(path)
            file = File.generated(config, f"{OUTSIDE}/{path}", abs_src_path=str(ROOT / path))
            file.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(file)
            if path.endswith(".md"):
                left.append((file.src_uri, file.content_string))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to where the site has the files; a folder of the repository has no page, so its link is its name."""
    del config
    uri = page.file.src_uri

    def relinked(match: re.Match[str]) -> str:
        path = repository_path(uri, match["link"])
        if path is None or (path.startswith("docs/") and not uri.startswith(f"{OUTSIDE}/")):
            return match[0]
        anchor = match["link"].partition("#")[2]
        target = path.removeprefix("docs/") if path.startswith("docs/") else f"{OUTSIDE}/{path}"
        if files.get_file_from_path(target) is None:
            return match["text"]
        link = posixpath.relpath(target, posixpath.dirname(uri))
        return f"[{match['text']}]({link}{'#' + anchor if anchor else ''})"

    parts, at = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(relinked, markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(relinked, markdown[at:])])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Keep what a page says."""
    del config, files
    _TEXTS[page.file.src_uri] = text_of(page.title or page.file.src_uri, page.url, html)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Keep the order of the pages, by door."""
    del config, files
    _DOORS.clear()
    for item in nav.items:
        below = [page.file.src_uri for page in _pages_of(item)]
        _DOORS.setdefault(item.title or "TAPE", []).extend(below)


def on_post_build(config: MkDocsConfig) -> None:
    """Write ``llms.txt`` and ``llms-full.txt``."""
    doors = {door: [_TEXTS[uri] for uri in below if uri in _TEXTS] for door, below in _DOORS.items()}
    write(Path(config.site_dir), config.site_name, config.site_description or "", doors)


def _pages_of(item: StructureItem) -> Iterator[Page]:
    if isinstance(item, Page):
        yield item
    for child in getattr(item, "children", None) or ():
        yield from _pages_of(child)


def repository_path(uri: str, link: str) -> str | None:
    """The path in the repository that a link of a page leads to; None where it leads to a heading or to the web."""
    file = link.partition("#")[0]
    if not file or ":" in file or file.startswith("/"):
        return None
    here = uri.removeprefix(f"{OUTSIDE}/") if uri.startswith(f"{OUTSIDE}/") else f"docs/{uri}"
    return posixpath.normpath(posixpath.join(posixpath.dirname(here), file))


def _links(text: str) -> list[str]:
    return [match["link"] for match in LINK.finditer(FENCE.sub("", text))]
