"""Files that are there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path


def partial_file(path: Path) -> Path:
    """Where a file is while it is being written."""
    return path.with_name(path.name + ".partial")


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there as a whole or not at all."""
    partial = partial_file(path)
    partial.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    partial.replace(path)
