"""The hashes that chain the lines of a trace: they show what was changed, left out or cut off after the writing.

A line names the hash of the line before it, and the episode's record keeps the hash of the last one. Hashes do not
protect against a forger who writes the whole file and the record anew: only playing the actions again in the
environment shows that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tape.errors import TraceError
from tape.reading import parse_json, read_text, short

FIRST = ""
"""What the first line names in place of a hash."""
DIGITS = 32
"""Hexadecimal digits of a hash: SHA-256, cut to 128 bits, so that short lines do not grow by half."""


def hash_of(line: str) -> str:
    """The hash of a line, without its end, as the next one names it."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Links:
    """Whether the lines of a trace are those that were written.

    Attributes:
        state: ``whole`` or ``broken``.
        last: The hash of the last line.
        episode: The episode's key, as the first line names it.
        what: Where and how it is broken, in words.
    """

    state: Literal["whole", "broken"]
    last: str
    episode: str
    what: str = ""


def links_of(path: Path) -> Links:
    """Follow the hashes through a trace."""
    before, episode, what = FIRST, "", ""
    for number, line in enumerate(read_text(path, error=TraceError).removesuffix("\n").split("\n"), 1):
        record = parse_json(line, f"{path}:{number}", surrogates=True, error=TraceError)
        if not isinstance(record, dict):
            raise TraceError(f"{path}:{number}: not a trace event: expected an object")
        episode = str(record.get("episode")) if number == 1 else episode
        if record.get("seq") != number - 1:
            what = what or f"line {number} has the number {record.get('seq')!r}"
        if record.get("episode") != episode:
            what = what or f"line {number} is of another episode, {short(record.get('episode'))}"
        if record.get("prev") != before:
            what = what or f"line {number} does not follow from the one before it as that stands there"
        before = hash_of(line)
    return Links("broken" if what else "whole", before, episode, what)


def chained_anew(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a changed trace with their new hashes, for instance after a key was taken out."""
    before = FIRST
    for line in lines:
        record = json.loads(line)
        text = json.dumps(record | {"prev": before}) if "prev" in record else line
        before = hash_of(text)
        yield text
