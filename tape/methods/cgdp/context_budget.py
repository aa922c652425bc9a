"""The context budget of a search: the least sufficient window and the cap of its belief."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tape.errors import ConfigError
from tape.lm.base import Request, window_of
from tape.methods.cgdp.context import SMALL
from tape.methods.cgdp.curation import curated, values_of
from tape.methods.cgdp.prices import SearchPrices
from tape.methods.cgdp.prompts import MoveKind
from tape.methods.cgdp.remembered import Remembered
from tape.methods.cgdp.view import Belief, Fact, SearchRound


class ContextBudget:
    """Decides window and belief cap before the first round of a search."""

    def __init__(self, search: Remembered, prices: SearchPrices) -> None:
        self._search, self._prices = search, prices

    def least(self, moves: Sequence[MoveKind]) -> int:
        """The least sufficient window, in tokens; the model's own window applies from here on.

        Raises:
            ConfigError: The window is too large for the model.
        """
        search = self._search
        bare = self._bare_requests(moves)
        search.window.keep_within(window_of(search.episode.roles.lm), max(request.max_tokens for request in bare))
        search.rules = max(map(search.window.count, bare))
        # A belief holds at least one fact as long as the longest passage.
        return search.rules + self._prices.brings(1) * (1 if search.belief is None else 2)

    def make(self) -> None:
        """Decide the cap of a belief in a sufficient window, and curate the first belief to it.

        Raises:
            ConfigError: The window fits no belief, or no search of the solver; names a sufficient one.
        """
        search = self._search
        limit = search.window.limit
        if limit is not None and search.caps.tokens is None and search.belief is not None:
            left = limit - search.rules - (passage := self._prices.brings(1))
            first = search.belief_tokens(search.belief)
            search.caps = replace(search.caps, tokens=max(left // 2, min(left, passage + first)))
        if search.settings.select == "solver":
            self._prices.require_one()
        if search.belief is not None:
            self._require(search.belief)
            asked = len(search.belief.questions)
            search.belief = curated(search.belief, values_of(search.belief, ()), search.caps, search.belief_tokens)
            search.gave_up = len(search.belief.questions) < asked

    def _require(self, belief: Belief) -> None:
        """Refuse a cap under which a belief can hold nothing."""
        search = self._search
        most = search.settings.belief_tokens
        shortest = Fact(SMALL.text, SMALL.id, SMALL.title, SMALL.text, "deterministic")
        least = search.belief_tokens(replace(belief, facts=(shortest,), questions=belief.questions[:1]))
        if most is not None and most < least:
            raise ConfigError(f"belief_tokens={most} can't hold the question and one short fact: give at least {least}")

    def longest_answer(self, moves: Sequence[MoveKind]) -> int:
        """The tokens reserved for the answer's prompt: the rules and a full belief, or else all that fits."""
        search = self._search
        limit, rules = search.window.limit, search.rules
        if search.belief is not None and search.caps.tokens is not None and "note" not in moves:
            return rules + search.caps.tokens if limit is None else min(limit, rules + search.caps.tokens)
        return rules + self._prices.brings(search.options[0].depth) if limit is None else limit

    def _bare_requests(self, moves: Sequence[MoveKind]) -> list[Request]:
        """The request of every role with an empty memory and a small passage."""
        search = self._search
        prompts, bare = search.prompts, search.bare()
        requests = [
            prompts.answer_request(replace(bare, rounds=() if bare.belief else (SearchRound(1, "", (SMALL,)),)))
        ]
        first = replace(bare, belief=search.belief)
        if moves:
            target = "" if search.belief is None else max((search.domain.question, *search.belief.questions), key=len)
            requests.append(prompts.query_request(replace(first, target=target), moves))
        else:
            requests.append(prompts.think_request(first))
        if search.belief is not None:
            requests.append(prompts.extract_request(first, (SMALL,)))
        return requests
