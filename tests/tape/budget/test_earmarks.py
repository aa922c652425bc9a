"""Earmarks: parts of a budget that siblings cannot take, and whose users cannot take more."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tape.budget import Budget, Earmark, Ledger, Reservation, Resources
from tape.budget.locks import CLIENT
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tests.profiles import examples

KINDS = ("steps", "usd")


def spend(ledger: Ledger, **counts: int) -> None:
    ledger.settle(ledger.reserve(Resources(counts)), Resources(counts))


def test_unknown_costs_are_refused_and_unknown_usage_is_booked_as_declared() -> None:
    root = Ledger()
    with root.earmark(usd="0.5") as part:
        with pytest.raises(UnknownCostError, match="usd"):
            part.reserve(Resources({"usd": None}))
        part.reserve(Resources({"usd": 200_000})).settle(Resources({"usd": None}))
        assert part.remaining("usd") == 300_000
    assert root.used == Resources({"usd": 200_000})


def test_what_was_booked_without_proof_goes_back_to_all_ledgers_above_but_once() -> None:
    payer = Recorded()
    root = Ledger(Budget.of(usd="1"), payer=payer)
    with root.earmark(usd="0.5", name="part") as part:
        episode = Ledger(Budget.of(usd="0.3"), part)
        episode.reserve(Resources({"usd": 200_000, "steps": 1})).settle(Resources({"usd": None, "steps": None}))
        part.reserve(Resources({"usd": 100_000})).settle(
            Resources({"usd": 40_000}), unproven=Resources({"usd": 30_000})
        )
        lost = Resources({"usd": 200_000})
        assert (episode.unproven, part.unproven) == (lost, Resources({"usd": 230_000}))
        episode.settle_unproven(lost, Resources({"usd": 50_000}))
        assert (episode.used["usd"], part.used["usd"], root.used["usd"]) == (50_000, 90_000, 90_000)
        assert (episode.remaining("usd"), part.remaining("usd"), root.remaining("usd")) == (250_000, 410_000, 500_000)
        for ledger, more, taken in (
            (episode, {"usd": 1}, {}),
            (part, {"usd": 30_001}, {}),
            (part, {}, {"usd": 1}),
            (part, {"usd": 3}, {"tokens": 3}),
            (part, {"usd": None}, {}),
            (part, {"usd": 3}, {"usd": None}),
        ):
            with pytest.raises(ConfigError, match="is booked without proof"):
                ledger.settle_unproven(Resources(more), Resources(taken))
        assert root.used["usd"] == 90_000
    assert payer.paid == Resources({"usd": 90_000, "steps": 1})
    root.settle_unproven(Resources({"usd": 30_000}), Resources({"usd": 2_000_000}))
    assert root.overspent() == ("usd",), "a bill above the cap is booked all the same"
    with pytest.raises(ConfigError, match="of the episode ledger"):
        part.settle_unproven(Resources({"usd": 30_000}), Resources())
    assert payer.paid == Resources({"usd": 90_000, "steps": 1}), "a payer keeps what it was told"


class Recorded:
    """A payer that keeps what it was asked for and what it paid."""

    rank = CLIENT

    def __init__(self) -> None:
        self.open: dict[int, Resources] = {}
        self.paid = Resources()

    def reserve(self, worst_case: Resources) -> int:
        self.open[len(self.open)] = worst_case
        return len(self.open) - 1

    def settle(self, reservation: int, actual: Resources) -> None:
        self.paid += actual
        del self.open[reservation]

    def release(self, reservation: int) -> None:
        del self.open[reservation]


def test_a_payer_is_asked_once_for_all_of_it_and_learns_at_the_end_what_was_paid() -> None:
    payer = Recorded()
    root = Ledger(Budget.of(usd="1"), payer=payer)
    with root.earmark(usd="0.5") as part:
        assert payer.open == {0: Resources({"usd": 500_000})}
        part.reserve(Resources({"usd": 300_000, "steps": 2})).settle(
            Resources({"usd": 200_000, "steps": 1}), paid=Resources({"usd": 50_000, "steps": 1})
        )
        part.reserve(Resources({"usd": 100})).release()
        assert payer.paid == Resources({"steps": 1})
    assert (payer.open, payer.paid) == ({}, Resources({"steps": 1, "usd": 50_000}))
    payer = Recorded()
    with Ledger(payer=payer).earmark(usd="0.5") as part:  # what was used without being declared
        part.reserve(Resources({"usd": 3})).settle(Resources({"usd": 3, "tokens": 16}))
        assert payer.paid == Resources({"tokens": 16})
    assert payer.paid == Resources({"tokens": 16, "usd": 3})


@pytest.mark.parametrize(
    ("caps", "amounts", "message"),
    [
        ([], {}, "takes amounts"),
        ([], {"usd": -1}, "usd"),
        ([], {"gold": 1}, "gold"),
        ([], {"wall_seconds": 1}, "real time"),
        ([Budget.of(usd=1)], {"usd": 1}, "or one Budget"),
        ([Budget()], {}, "at least one cap"),
    ],
)
def test_malformed_earmarks_are_refused(caps: list[Budget], amounts: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Ledger().earmark(*caps, **amounts)


def test_it_is_used_within_its_block_and_once() -> None:
    root = Ledger(Budget.of(usd="1"))
    part = root.earmark(usd="0.5")
    assert root.remaining("usd") == 1_000_000
    for use in (lambda: part.reserve(Resources({"usd": 1})), lambda: Ledger(parent=part)):
        with pytest.raises(ConfigError, match="has not begun"):
            use()
    with part:
        below = Ledger(parent=part)
    for use in (lambda: below.reserve(Resources({"usd": 1})), lambda: Ledger(parent=part)):
        with pytest.raises(ConfigError, match="has ended"):
            use()
    with pytest.raises(ConfigError, match="make a new one"), part:
        pytest.fail("the block must not begin")
    assert root.remaining("usd") == 1_000_000


# --- against a model --------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A ledger as the model knows it: what was reserved and used in it, and what is below it. Nothing is kept up."""

    ledger: Ledger
    caps: dict[str, int]
    above: Node | None = None
    earmark: bool = False
    ended: bool = False
    open: list[Reservation] = field(default_factory=list)
    spent: list[dict[str, int]] = field(default_factory=list)
    below: list[Node] = field(default_factory=list)

    def used(self, kind: str) -> int:
        return sum(numbers.get(kind, 0) for numbers in self.spent) + sum(node.used(kind) for node in self.below)

    def pending(self, kind: str) -> int:
        return sum(reservation.worst_case[kind] or 0 for reservation in self.open) + sum(
            node.claims(kind) for node in self.below
        )

    def claims(self, kind: str) -> int:
        """What the ledger above has set aside for this one."""
        if not self.earmark or kind not in self.caps:
            return self.pending(kind)
        left = max(0, self.caps[kind] - self.used(kind))
        return min(left, self.pending(kind)) if self.ended else left

    def limiting(self, kind: str) -> list[Node]:
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = None if node.earmark and kind in node.caps else node.above
        return [node for node in nodes if kind in node.caps]

    def remaining(self, kind: str) -> int | None:
        left = [max(0, node.caps[kind] - node.used(kind) - node.pending(kind)) for node in self.limiting(kind)]
        return min(left) if left else None

    def usable(self) -> bool:
        return not self.ended and (self.above is None or self.above.usable())


AMOUNTS = st.dictionaries(st.sampled_from(KINDS), st.integers(0, 12), min_size=1)
MOST = 6
"""Ledgers of one tree."""


class Earmarks(RuleBasedStateMachine):
    """Ledgers, earmarks, reservations and settlements in any order, in step with the model."""

    @initialize(caps=AMOUNTS)
    def begin(self, caps: dict[str, int]) -> None:
        scaled = {kind: 4 * cap for kind, cap in caps.items()}
        self.nodes = [Node(Ledger(Budget(scaled)), scaled)]

    def usable(self) -> list[Node]:
        return [node for node in self.nodes if node.usable()]

    def fits(self, node: Node, wanted: dict[str, int]) -> bool:
        return all((left := node.remaining(kind)) is None or count <= left for kind, count in wanted.items())

    @precondition(lambda self: len(self.nodes) < MOST)
    @rule(data=st.data(), amounts=AMOUNTS)
    def earmark(self, data: st.DataObject, amounts: dict[str, int]) -> None:
        above = data.draw(st.sampled_from(self.usable()))
        part = above.ledger.earmark(Budget(amounts))
        if not self.fits(above, amounts):
            with pytest.raises(BudgetExceededError):
                part.__enter__()
            return
        part.__enter__()
        self.nodes.append(Node(part, amounts, above, earmark=True))
        above.below.append(self.nodes[-1])

    @precondition(lambda self: len(self.nodes) < MOST)
    @rule(data=st.data(), caps=AMOUNTS)
    def child(self, data: st.DataObject, caps: dict[str, int]) -> None:
        above = data.draw(st.sampled_from(self.usable()))
        self.nodes.append(Node(Ledger(Budget(caps), above.ledger), caps, above))
        above.below.append(self.nodes[-1])

    @rule(data=st.data(), amounts=AMOUNTS)
    def reserve(self, data: st.DataObject, amounts: dict[str, int]) -> None:
        node = data.draw(st.sampled_from(self.nodes))
        if node.usable() and self.fits(node, amounts):
            node.open.append(node.ledger.reserve(Resources(amounts)))
            return
        with pytest.raises(BudgetExceededError if node.usable() else ConfigError):
            node.ledger.reserve(Resources(amounts))

    @precondition(lambda self: any(node.open for node in self.nodes))
    @rule(data=st.data(), used=AMOUNTS, broken=st.integers(0, 9))
    def settle(self, data: st.DataObject, used: dict[str, int], broken: int) -> None:
        """Mostly at most what was reserved, at times more."""
        node = data.draw(st.sampled_from([node for node in self.nodes if node.open]))
        reservation = node.open.pop()
        most = {kind: reservation.worst_case[kind] or 0 for kind in KINDS}
        reported = used if broken == 0 else {kind: min(count, most[kind]) for kind, count in used.items()}
        node.ledger.settle(reservation, Resources(reported))
        node.spent.append(reported)

    @precondition(lambda self: any(node.open for node in self.nodes))
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from([node for node in self.nodes if node.open]))
        node.open.pop().release()

    @precondition(lambda self: any(node.earmark and not node.ended for node in self.nodes))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        """In any order, also the outer one first."""
        node = data.draw(st.sampled_from([node for node in self.nodes if node.earmark and not node.ended]))
        assert isinstance(node.ledger, Earmark)
        node.ledger.__exit__(None, None, None)
        node.ended = True

    @invariant()
    def agrees(self) -> None:
        for node in getattr(self, "nodes", []):
            for kind in KINDS:
                assert node.ledger.remaining(kind) == node.remaining(kind)
                assert (node.ledger.used[kind] or 0) == node.used(kind)
                assert (node.ledger.reserved[kind] or 0) == node.pending(kind)

    def teardown(self) -> None:
        """When all has ended nothing is set aside any more."""
        for node in getattr(self, "nodes", []):
            while node.open:
                node.open.pop().release()
            if isinstance(node.ledger, Earmark) and not node.ended:
                node.ledger.__exit__(None, None, None)
        for node in getattr(self, "nodes", []):
            assert node.ledger.reserved == Resources()


TestEarmarks = Earmarks.TestCase
TestEarmarks.settings = settings(examples(100), stateful_step_count=25)
