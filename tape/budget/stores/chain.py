"""Lines of a ledger that are linked: each has the hash of the one before it and of itself."""

from __future__ import annotations

import re
from hashlib import sha256

_HASH = re.compile(r', "hash": "([0-9a-f]{64})"\}\s*\Z')


def linked(line: str, before: str) -> tuple[str, str]:
    """A JSON object on one line with its hash, and the hash; ``before`` is the hash of the line before it, or empty."""
    made = sha256(f"{before}{line}".encode()).hexdigest()
    return f'{line[:-1]}, "hash": "{made}"}}', made


def unlinked(line: str) -> tuple[str, str]:
    """A line as it was before it was linked, and its hash; the hash is empty where it has none."""
    match = _HASH.search(line)
    return (line.rstrip(), "") if match is None else (f"{line[: match.start()]}}}", match[1])
