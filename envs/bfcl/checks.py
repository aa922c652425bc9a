"""Success by the official rules: after each turn the state is that of the gold calls, and their results were all seen.

The rules are those of ``multi_turn_checker`` (BFCL v4): a turn with gold calls has calls; public attributes are equal;
and every result of the turn's gold calls is among the results so far, as often as it comes. A turn without gold calls
may have calls; what they change shows in the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from envs.bfcl.backend import ApiWorld
from envs.bfcl.calls import ApiCall


class CheckedConversation:
    """One conversation that is checked turn by turn, beside a world in which the gold calls are made.

    Args:
        gold: That world.
    """

    def __init__(self, gold: ApiWorld) -> None:
        self._gold = gold
        self._seen = Counter[str]()
        self.failure = ""
        """The first rule that was not met; empty while all are."""

    def turn(self, world: ApiWorld, results: Sequence[str], gold: Sequence[ApiCall]) -> None:
        """Check a turn.

        Args:
            world: The agent's world after it.
            results: What its calls in this turn returned.
            gold: The gold calls.
        """
        wanted = Counter(self._gold.call(call.name, call.arguments) for call in gold)
        self._seen += Counter(results)
        if self.failure or not gold:
            return
        if not results:
            self.failure = "no call was made"
        elif different := world.differs(self._gold):
            self.failure = f"another state: {', '.join(different)}"
        elif missing := wanted - self._seen:
            self.failure = f"results were not seen: {next(iter(missing))[:200]}"
