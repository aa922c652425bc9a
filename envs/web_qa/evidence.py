"""What an episode has gathered, and how it is shown to models: searches, pages, findings and what failed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envs.web_qa.web import site
from tape.protocols import State
from tape.tools.calls import Call
from tape.tools.domain import as_state
from tape.tools.results import cut

SEARCH, SCRAPE, NOTE = "search", "scrape", "note"
"""The tools; the last one is for SDP's findings alone, and no model is offered it."""

SHORTEST_PAGE = 100
"""Characters: a page that is shorter brought nothing, and its site is not tried again (SDP appendix A.4)."""

LONGEST_PAGES, LONGEST_RESULTS, MOST_SEARCHES, MOST_FAILURES = 6000, 1000, 3, 12
"""Bytes that are shown of all pages and of the results of a search, the latest first; searches and failures shown."""

_SPACE = re.compile(r"[\s#]+")


@dataclass(frozen=True)
class StepNote:
    """The finding of a step.

    Attributes:
        step: The step, from 1.
        attempt: Which attempt at it, from 1.
        finding: What was found.
        quotes: Address and sentence of what supports it.
        complete: False where something is uncertain or missing.
    """

    step: int
    attempt: int
    finding: str
    quotes: tuple[tuple[str, str], ...]
    complete: bool

    @property
    def marked(self) -> str:
        """The finding, with a marker where it is uncertain."""
        return self.finding if self.complete else f"{self.finding} (uncertain or incomplete)"


@dataclass(frozen=True)
class WebEvidence:
    """What calls brought.

    Attributes:
        searches: Queries with their results, oldest first.
        pages: Addresses and texts, oldest first.
        notes: Findings, oldest first.
        failed: Calls that brought nothing.
        blacklist: Sites of which a page could not be read, or was too short, in the whole episode.
    """

    searches: tuple[tuple[str, Sequence[Mapping[str, str]]], ...]
    pages: tuple[tuple[str, str], ...]
    notes: tuple[StepNote, ...]
    failed: tuple[str, ...]
    blacklist: frozenset[str]

    def says(self, address: str, quote: str) -> bool:
        """Whether a quote stands in a page that was read."""
        wanted = plain(quote)
        return bool(wanted) and any(at == address and wanted in plain(text) for at, text in self.pages)


def plain(text: str) -> str:
    """A text with single spaces and without number signs, which would refer to results in a call."""
    return _SPACE.sub(" ", text).strip()


def gathered(state: State, after: int = 0) -> WebEvidence:
    """What calls have brought since so many results had been obtained."""
    here = as_state(state)
    made: dict[str, list[tuple[Mapping[str, Any], Any]]] = {SEARCH: [], SCRAPE: [], NOTE: []}
    for number, obtained in enumerate(here.got):
        if number >= after and obtained.value is not None:
            made.setdefault(obtained.call.kind, []).append(
                (obtained.call.values(here.values()), json.loads(obtained.value))
            )
    notes = [
        StepNote(
            a["step"],
            a["attempt"],
            a["finding"],
            tuple((q.get("address", ""), q.get("quote", "")) for q in a["quotes"]),
            a["complete"],
        )
        for a, _ in made[NOTE]
    ]
    read = [
        (result.call, json.loads(result.value)) for result in here.got if result.call.kind == SCRAPE and result.value
    ]
    unread = [call for call, text in read if len(text) < SHORTEST_PAGE]
    unread += [failure.call for failure in here.failures if failure.call.kind == SCRAPE]
    return WebEvidence(
        tuple((a["query"], results) for a, results in made[SEARCH]),
        tuple((a["address"], text) for a, text in made[SCRAPE]),
        tuple(notes),
        tuple(failure.call.text for failure in here.failures if failure.after >= after),
        frozenset(site(_first(call)) for call in unread),
    )


def _first(call: Call) -> str:
    value = json.loads(call.args[0][1]) if call.args and not call.references else ""
    return value if isinstance(value, str) else ""


def last_note(state: State) -> int:
    """How many results there were when the last finding was noted; 0 before the first."""
    got = as_state(state).got
    return next((number for number in range(len(got), 0, -1) if got[number - 1].call.kind == NOTE), 0)


def shown(evidence: WebEvidence) -> str:
    """Evidence for models, the latest first as far as it fits; of pages that do not fit the addresses."""
    lines = []
    for query, results in evidence.searches[-MOST_SEARCHES:]:
        listed = "\n".join(f"- {texts['title']} <{texts['address']}> {texts['snippet']}" for texts in results)
        lines.append(f"Results for {cut(plain(query), 200)!r}:\n{cut(listed, LONGEST_RESULTS)}")
    left, pages = LONGEST_PAGES, []
    for address, text in reversed(evidence.pages):
        whole = f"Page <{cut(address, 200)}>:\n{text}"
        left -= len(whole.encode())
        pages.append(whole if left >= 0 else f"Read before <{cut(address, 200)}>")
    lines += pages[::-1][-2 * MOST_FAILURES :]
    lines += [f"Failed: {cut(call, 200)}" for call in evidence.failed[-MOST_FAILURES:]]
    return "\n\n".join(lines) or "Nothing has been read yet."
