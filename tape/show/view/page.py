"""Puts the page together: one HTML file with everything inside, which loads nothing and sends nothing."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tape.budget import in_units
from tape.runner.summary import tokens
from tape.show.view.episode import Why, episode_record, result_of, words_of
from tape.show.view.results import differences, end_states, run_rows, trace_rows
from tape.show.view.shell import html_of, policy_of, script_of, template
from tape.show.view.sources import Entry, Source, read_events
from tape.trace import Event, ObservedEvent, StartedEvent, caps_of

SCRIPTS = ("dom", "data", "overview", "episode", "timeline", "details", "why", "budget", "marks", "graph",
           "theme", "main")  # fmt: skip
"""The page's own scripts, in order; they share one scope."""

_LONGEST = 240
"""Characters of a question, an answer or a detail in the list of episodes."""

_COUNTED = {"steps", "calls", "tokens"}


@dataclass
class _Book:
    """What becomes of the episodes on the way.

    Attributes:
        rows: For the list of episodes.
        blocks: Their compressed records.
        places: For the key of an episode its block.
        results: Agent, model and result of each.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    places: dict[tuple[int, str], int] = field(default_factory=dict)
    results: list[tuple[int, str, str, Mapping[str, Any]]] = field(default_factory=list)


def build_page(sources: Sequence[Source], why: Why, progress: Callable[[int, int], object] | None = None) -> str:
    """The page.

    Args:
        sources: One run, two, or single traces.
        why: Explains planning rounds.
        progress: Takes how many episodes are done, and of how many.

    Raises:
        TraceError: A file that was named as a trace holds not one event.
    """
    book = _Book()
    total = sum(len(source.entries) for source in sources)
    for place, source in enumerate(sources):
        for entry in source.entries:
            if progress is not None:
                progress(len(book.rows), total)
            _take(book, place, entry, why)
    title = " and ".join(source.name for source in sources)
    index = {
        "title": title,
        "sources": [_source(place, source, book) for place, source in enumerate(sources)],
        "differences": differences(*sources) if len(sources) == 2 else [],
        "end_states": end_states([result for *_, result in book.results]),
        "episodes": book.rows,
        "alone": len(book.rows) == 1 and not sources[0].is_run,
    }
    return _html(title, index, book.blocks)


def _take(book: _Book, place: int, entry: Entry, why: Why) -> None:
    """Read an episode, and put it into the list and into a block."""
    events, problem = read_events(entry)
    result = result_of(events, entry.line)
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    config = started.config if started else {}
    agent, model = str(config.get("agent", "")), str(config.get("model", ""))
    if entry.line is not None:
        agent, model = entry.line["agent"], entry.line["model"]
    if (place, entry.key) not in book.places and events:
        book.places[place, entry.key] = len(book.blocks)
        book.blocks.append(packed(episode_record(events, why, problem)))
    book.results.append((place, agent, model, result))
    row = _row(place, entry, events, result) | {"agent": agent, "model": model, "problem": problem}
    row["block"] = book.places.get((place, entry.key))
    book.rows.append({name: value for name, value in row.items() if value not in (None, "", [])})


def _row(place: int, entry: Entry, events: Sequence[Event], result: Mapping[str, Any]) -> dict[str, Any]:
    """An episode in the list: what it is filtered and sorted by."""
    line = entry.line or {}
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    words = words_of(result)
    used = [
        [kind, in_units(kind, count)]
        for kind, count in result["used"].items()
        if kind not in _COUNTED and count is not None
    ]
    if not result["used"]:  # cut off: what is left shows what was used
        used = _used_so_far(events)
    return {
        "source": place,
        "key": entry.key,
        "configuration": line.get("cell", ""),
        "levels": line.get("level_set", ""),
        "task": line.get("task", entry.key),
        "digest": line.get("digest", ""),
        "repeat": line.get("repeat"),
        "end": words["end_state"],
        "ok": words["success"],
        "steps": result["steps"] or sum(event.type == "acted" for event in events),
        "replans": result["replans"],
        "calls": sum(result["lm_calls"].values()),
        "tokens": tokens(result),
        "used": used,
        "detail": _short(words["detail"]),
        "question": _short(started.task if started else ""),
        "answer": _short(_text(words.get("answer"))),
    }


def _used_so_far(events: Sequence[Event]) -> list[list[str]]:
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    seen = next((event for event in reversed(events) if isinstance(event, ObservedEvent)), None)
    if started is None or seen is None:
        return []
    left = seen.remaining
    return [
        [kind, in_units(kind, cap - left[kind])]
        for kind, cap in caps_of(events).items()
        if kind in left and kind not in _COUNTED
    ]


def _text(answer: Any) -> str:
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)
    return "" if answer is None else answer if isinstance(answer, str) else json.dumps(answer)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _source(place: int, source: Source, book: _Book) -> dict[str, Any]:
    """A run for the overview."""
    own = [(agent, model, result) for where, agent, model, result in book.results if where == place]
    return {
        "name": source.name,
        "facts": [[name, value] for name, value in source.facts.items()],
        "notes": source.notes,
        "rows": run_rows(source) if source.is_run else trace_rows(own),
        "end_states": end_states([result for *_, result in own]),
    }


def packed(record: Mapping[str, Any]) -> str:
    """A record as the text of a block: JSON, deflated, in base64."""
    return base64.b64encode(zlib.compress(json.dumps(record, separators=(",", ":")).encode(), 6)).decode("ascii")


def in_script(value: Any) -> str:
    """JSON that may stand in a script element: ASCII, and nothing in it that could end the element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")


def _html(title: str, index: Mapping[str, Any], blocks: Sequence[str]) -> str:
    style = template("page.css") + template("graph.css")
    script = script_of(template(f"js/{name}.js") for name in SCRIPTS)
    # The scripts come before the episodes: the list is there while these are still being read.
    data = "".join(
        f'<script type="application/octet-stream" id="episode-{i}">{block}</script>\n' for i, block in enumerate(blocks)
    )
    listed = f'<script type="application/json" id="index">{in_script(index)}</script>\n'
    return html_of(title, style, script, policy_of(style, script), listed, data)
