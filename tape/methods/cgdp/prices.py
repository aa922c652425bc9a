"""What a further search costs and is worth, for the solver and the gate ``voi``, and what its window has to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tape.budget import Resources
from tape.errors import ConfigError
from tape.lm.base import Request, most_completion_tokens, window_of
from tape.lm.price import cost_of
from tape.methods.cgdp.context import SMALL, PassageSizes
from tape.methods.cgdp.curation import curated, values_of
from tape.methods.cgdp.prompts import MoveKind
from tape.methods.cgdp.remembered import Remembered
from tape.methods.cgdp.view import Belief, Fact, SearchRound
from tape.protocols.search import SearchOption


class SuccessChance:
    """The chance that a search finds its target, given the searches for it that found nothing new.

    It is the larger of two estimates (ours; the paper has none). A new query is another try with a smaller chance:
    success / (1 + failed tries). A deeper search also holds what shallower ones missed:
    (success - tried) / (1 - tried), where ``tried`` is the largest success of a failed try.
    """

    def __init__(self) -> None:
        self._failed: list[SearchOption] = []

    def after(self, option: SearchOption, *, productive: bool) -> None:
        """Record a search; a productive one resets the failed tries."""
        self._failed = [] if productive else [*self._failed, option]

    def of(self, option: SearchOption) -> float:
        """The chance of an option now, in [0, 1]."""
        tried = max((search_option.success for search_option in self._failed), default=0.0)
        again = option.success / (1 + len(self._failed))
        deeper = (option.success - tried) / (1 - tried) if option.success > tried else 0.0
        return max(again, deeper)


class SearchPrices:
    """Prices searches in one episode."""

    def __init__(self, search: Remembered) -> None:
        self._search = search
        lm, belief = search.episode.roles.lm, search.belief
        form = None if belief is None else belief.form
        prompts = search.prompts
        self._sizes = PassageSizes(lm.identity, prompts.version, form, search.window, prompts, search.domain.question)
        self._chances: dict[str, SuccessChance] = {}

    def chance(self, target: str = "") -> SuccessChance:
        """The chance of searches for an open predicate; without a target, of any search."""
        return self._chances.setdefault(target, SuccessChance())

    def brings(self, depth: int) -> int:
        """The most tokens that a search of this depth returns."""
        return self._search.domain.most(depth, self._sizes)

    def fits(self, option: SearchOption) -> bool:
        """Whether the longest result of a search fits into the window beside the rules and a full belief."""
        search = self._search
        limit = search.window.limit
        believed = 0 if search.belief is None else search.caps.tokens or 0
        return limit is None or search.rules + believed + self.brings(option.depth) <= limit

    def require_one(self) -> None:
        """Refuse a window in which no option fits.

        Raises:
            ConfigError: Names a sufficient one.
        """
        search = self._search
        if any(map(self.fits, search.options)):
            return
        assert search.belief is not None
        brings = min(self.brings(option.depth) for option in search.options)
        least = max(brings, self.brings(1) + search.belief_tokens(search.belief))
        wanted = search.settings.belief_tokens or least
        raise ConfigError(
            f"select='solver' may not break the window of {search.window.limit} tokens, and the shallowest search "
            f"may bring {brings} tokens beside {search.rules} of rules and {search.caps.tokens} of belief: give "
            f"context_tokens={search.rules + brings + wanted}, smaller depths, or select='lm', which reads what fits"
        )

    def expected_value(self, target: str, option: SearchOption, among: int | None = None) -> float:
        """The expected value of a search in tokens: chance of success times value of the predicate, less its price.

        The value of a right answer is shared equally among the predicates.

        Args:
            target: The predicate.
            option: How to search for it.
            among: Number of predicates that share the value of a right answer; None: the open ones.
        """
        search = self._search
        open_ones = 1 if search.belief is None else max(1, len(search.belief.questions))
        gain = self.chance(target).of(option) * search.settings.answer_worth / (among or open_ones)
        return gain - (self.expected(option)["tokens"] or 0)

    def expected(self, option: SearchOption) -> Resources:
        """The expected cost of one more round: to write a query, to search, and to read passages of mean size.

        A role that has not written yet is expected to write a quarter of its maximum.
        """
        search = self._search
        limit, read = search.window.limit, self._reading()
        query = search.prompts.query_request(search.view(), ("search",))
        brought = search.domain.typical(option.depth, self._sizes)
        read_tokens = [search.window.count(query), search.window.count(read) + brought]
        prompt = sum(tokens if limit is None else min(tokens, limit) for tokens in read_tokens)
        price = search.episode.roles.lm.price
        return cost_of(price, prompt, self._usual(query) + self._usual(read), calls=2) + option.cost

    def grown(self, rounds: int) -> Resources:
        """The additional expected cost of a later round: the belief has grown by then, and both prompts show it.

        Each round is expected to add a fact of mean length; without facts, of the length of a passage.

        Args:
            rounds: Number of rounds until then.
        """
        search = self._search
        belief, most = search.belief, search.caps.tokens
        assert belief is not None
        held = search.belief_tokens(replace(belief, questions=(), resolved=()))
        fact = held // len(belief.facts) if belief.facts else search.domain.typical(1, self._sizes)
        more = rounds * fact if most is None else min(rounds * fact, max(0, most - held))
        return cost_of(search.episode.roles.lm.price, 2 * more, 0, calls=0)

    def kept_free(self) -> Resources:
        """The budget that must be left beyond the expected cost of a round.

        Reading reserves the most that the reader may write and returns the rest afterwards. The last round of a plan
        needs that much, or its passages cannot be read.
        """
        lm, read = self._search.episode.roles.lm, self._reading()
        return cost_of(lm.price, 0, most_completion_tokens(lm, read) - self._usual(read), calls=0)

    def _reading(self) -> Request:
        """The request that reads a small passage."""
        prompts, view = self._search.prompts, self._search.view()
        return prompts.answer_request(view) if view.belief is None else prompts.extract_request(view, (SMALL,))

    def _usual(self, request: Request) -> int:
        """Tokens that a role writes on average."""
        lm, role = self._search.episode.roles.lm, request.role
        most = most_completion_tokens(lm, request)
        return min(most, round(lm.completions[role] / lm.calls[role])) if lm.calls[role] else most // 4


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
