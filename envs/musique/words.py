"""Queries of our own questions: a relation and an entity."""

from __future__ import annotations

import re

from envs.musique import wordings

RELATIONS: tuple[str, ...] = tuple(wordings.RELATIONS)
"""The relations that queries name."""

_QUERY = re.compile(r"\s*(\w+)\s+of\s+(\S.*?)\s*\Z", re.DOTALL)


def query_text(relation: str, entity: str) -> str:
    """A query as retrievers get it, for instance ``founder of Aldera``."""
    return f"{relation} of {entity}"


def parse_query(text: str) -> tuple[str, str] | None:
    """Relation and entity of a query made by :func:`query_text`; None where it is none."""
    match = _QUERY.match(text)
    return (match[1], match[2]) if match is not None and match[1] in RELATIONS else None
