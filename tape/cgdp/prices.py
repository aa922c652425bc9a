"""What a further search takes, what it may find, and what that is worth: for the solver and for the gate ``voi``."""

from __future__ import annotations

from dataclasses import replace

from tape.budget import Resources
from tape.cgdp.context import SMALL, PassageSizes
from tape.cgdp.remembered import Remembered
from tape.cgdp.worth import Prospects
from tape.errors import ConfigError
from tape.lm.base import Request, cost_of, most_completion_tokens
from tape.protocols.search import SearchOption


class Prices:
    """Prices searches in one episode.

    Args:
        search: What the search remembers.
    """

    def __init__(self, search: Remembered) -> None:
        self._search = search
        lm, belief = search.episode.roles.lm, search.belief
        form = None if belief is None else belief.form
        prompts = search.prompts
        self._sizes = PassageSizes(lm.identity, prompts.version, form, search.window, prompts, search.domain.question)
        self._prospects: dict[str, Prospects] = {}

    def prospects(self, target: str = "") -> Prospects:
        """What searches for an open predicate may find; without one, searches at all."""
        return self._prospects.setdefault(target, Prospects())

    def brings(self, depth: int) -> int:
        """The most tokens that a search of this depth brings."""
        return self._search.domain.most(depth, self._sizes)

    def fits(self, option: SearchOption) -> bool:
        """Whether what a search brings at most fits into the window, beside the rules and a full belief."""
        search = self._search
        limit = search.window.limit
        believed = 0 if search.belief is None else search.caps.tokens or 0
        return limit is None or search.rules + believed + self.brings(option.depth) <= limit

    def require_one(self) -> None:
        """Refuse a window in which no option fits.

        Raises:
            ConfigError: Says what would do.
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
        """What a search for a predicate is worth, in tokens: its chance times the predicate's worth, less its price.

        A predicate is worth its share of what a right answer is.

        Args:
            target: The predicate.
            option: How it is searched for.
            among: Over how many predicates a right answer is shared; None: those that are open.
        """
        search = self._search
        open_ones = 1 if search.belief is None else max(1, len(search.belief.questions))
        gain = self.prospects(target).success(option) * search.settings.answer_worth / (among or open_ones)
        return gain - (self.expected(option)["tokens"] or 0)

    def expected(self, option: SearchOption) -> Resources:
        """What one more round is expected to take: to write a query, to search, and to read passages of mean size.

        Where a role has not written yet, it is taken to write a quarter of the most that it may.
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
        """What a round is expected to take more, so many rounds ahead: the belief has grown, and both prompts show it.

        Each round is taken to bring a fact, as long as the mean of those held; before any, as long as a passage.
        """
        search = self._search
        belief, most = search.belief, search.caps.tokens
        assert belief is not None
        held = search.belief_tokens(replace(belief, questions=(), resolved=()))
        fact = held // len(belief.facts) if belief.facts else search.domain.typical(1, self._sizes)
        more = rounds * fact if most is None else min(rounds * fact, max(0, most - held))
        return cost_of(search.episode.roles.lm.price, 2 * more, 0, calls=0)

    def kept_free(self) -> Resources:
        """What a round must find free beyond what it is expected to take.

        To read what a search brought reserves the most that the reader may write, and gives back what it does not; the
        last round of a plan needs that much, or it finds passages and can't read them.
        """
        lm, read = self._search.episode.roles.lm, self._reading()
        return cost_of(lm.price, 0, most_completion_tokens(lm, read) - self._usual(read), calls=0)

    def _reading(self) -> Request:
        """What reads a small passage."""
        prompts, view = self._search.prompts, self._search.view()
        return prompts.answer_request(view) if view.belief is None else prompts.extract_request(view, (SMALL,))

    def _usual(self, request: Request) -> int:
        """Tokens that a role writes on average."""
        lm, role = self._search.episode.roles.lm, request.role
        most = most_completion_tokens(lm, request)
        return min(most, round(lm.completions[role] / lm.calls[role])) if lm.calls[role] else most // 4
