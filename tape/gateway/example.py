"""Tools to try the gateway with, for `[python.NAME]` in its configuration: two ways to search, and one to forget."""

from __future__ import annotations

NOTES = {
    "bern": "Bern has 134,506 inhabitants and lies on the river Aare.",
    "rome": "Rome has 2,755,309 inhabitants and lies on the river Tiber.",
}


def quick_search(query: str) -> str:
    """Search the titles of the notes."""
    return NOTES.get(query.lower(), "nothing found")


def thorough_search(query: str, results: int = 1) -> list[str]:
    """Search the whole text of the notes.

    Args:
        query: What to look for.
        results: How many notes to give at most.
    """
    return [note for note in NOTES.values() if query.lower() in note.lower()][:results]


def forget(title: str) -> str:
    """Delete a note for good."""
    return "gone" if NOTES.pop(title.lower(), None) else "there was none"
