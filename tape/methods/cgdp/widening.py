"""Queries that do not repeat (an addition to CGDP, after the escalating search of SDP's appendix A.6).

A belief shows no queries, so a model that finds nothing asks the same again. Here the queries that were tried are
remembered, by predicate. A predicate is first searched for as it stands, uncut; then the model writes queries. Where
its query was tried, or the last search brought no passage that is new, the next one widens: to the whole question, to
the predicate's key words, to its names, and then to deeper searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from tape.methods.cgdp.entailment import content
from tape.methods.cgdp.remembered import Remembered
from tape.protocols.search import SearchOption

_NAMES = re.compile(r"(?<!^)\b(?:[A-Z][\w'’-]*|\d[\w.,:]*)(?: (?:[A-Z]|\d)[\w'’-]*)*")


class Widening:
    """The queries of one search."""

    def __init__(self, search: Remembered) -> None:
        self._search = search
        self._tried: set[tuple[str, str, frozenset[str]]] = set()
        self._stagnates: dict[str, bool] = {}

    def asks_model(self, target: str) -> bool:
        """Whether the model writes the next query for a predicate: the last one brought new passages."""
        return not self._stagnates.get(target, True)

    def next(self, target: str, option: SearchOption, written: str = "") -> tuple[str, SearchOption] | None:
        """The next search for a predicate; None where every one was made.

        Args:
            target: The predicate.
            option: How to search, unless deeper.
            written: The model's query, if it was asked for one.
        """
        for query, how in chain([(written, option)] if written else [], self._wider(target, option)):
            key = (target, how.name, frozenset(query.lower().split()))
            if query and key not in self._tried:
                self._tried.add(key)
                return query, how
        return None

    def after(self, target: str) -> None:
        """Record whether the last search brought a passage that none before it did."""
        *before, last = self._search.rounds
        seen = {passage.id for round_ in before for passage in round_.passages}
        self._stagnates[target] = all(passage.id in seen for passage in last.passages)

    def _wider(self, target: str, option: SearchOption) -> Iterator[tuple[str, SearchOption]]:
        question = self._search.domain.question
        aim = target or question
        names = " ".join(_NAMES.findall(aim))
        # One name alone, a speaker for one, is in too many passages to say anything.
        for query in (aim, question, " ".join(content(aim)), names if " " in names else ""):
            yield query, option
        for deeper in sorted(self._search.options, key=lambda search_option: search_option.depth):
            if deeper.depth > option.depth:
                yield aim, deeper
                yield question, deeper
