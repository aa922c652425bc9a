"""A scripted reader: finds answers by the very wordings of our own passages. No model, and no result of one.

It stands in for a model's reading where everything else is to be compared, and is called scripted wherever
its results are shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from envs.musique.wordings import RELATIONS, parse_query
from tape.protocols.search import Passage

_NAME = r"(?:[A-Z][a-z]+ ?)+"
_SENTENCE = re.compile(r"[^.]+\.")


@cache
def _patterns(relation: str) -> tuple[re.Pattern[str], ...]:
    """What states a relation, with the groups ``s`` and ``o``."""
    patterns = []
    for sentence in RELATIONS[relation].sentences:
        pattern = re.escape(sentence)
        for letter, names in (("s", rf"{_NAME}|[Tt]he \w+"), ("o", _NAME)):
            gap = re.escape(f"{{{letter}}}")
            # Where a name stands twice it is the same.
            pattern = pattern.replace(gap, f"(?P<{letter}>{names})", 1).replace(gap, f"(?P={letter})")
        first = sentence[0]
        patterns.append(re.compile(f"[{first.upper()}{first}]{pattern[1:]}" if first.isalpha() else pattern))
    return tuple(patterns)


def read(query: str, passages: Sequence[Passage]) -> str | None:
    """The answer to a query such as ``founder of Aldera``; None where the passages do not state it, or it is none."""
    parsed = parse_query(query)
    if parsed is None:
        return None
    relation, subject = parsed
    for passage in passages:
        for sentence in _SENTENCE.findall(passage.text):
            for pattern in _patterns(relation):
                match = pattern.fullmatch(sentence.strip())
                if match is None:
                    continue
                # "The firm" is what the passage is about.
                about = passage.title if match["s"].lower().startswith("the ") else match["s"].strip()
                answer = match["o"].strip()
                if about == subject:
                    return answer
                if RELATIONS[relation].symmetric and answer == subject:
                    return about
    return None
