"""What every store of budgets has to do with parts, which sub-agents get."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tape.budget import Cap, Ended, Held, HoldRequest, LedgerError, LedgerStore, Paused, Refused
from tape.errors import ConfigError

BEGIN = datetime(2026, 3, 28, 22, 30, tzinfo=UTC)
"""23:30 in Berlin, a day before clocks change there."""


def request(id: str, scope: str = "org/team/agent", worst: int | None = 10, **more: Any) -> HoldRequest:
    """A hold of so many micro-dollars."""
    return HoldRequest(id, scope, {"usd": worst}, **more)


class PartConformance:
    """The part of the suite of stores that is about parts, and what both need."""

    @abstractmethod
    def make(self) -> LedgerStore:
        """A new store, without caps."""

    def open_again(self, store: LedgerStore) -> LedgerStore:
        """The same store, as another program opens it; itself where no other one can."""
        return store

    @abstractmethod
    def set_time(self, store: LedgerStore, at: datetime) -> None:
        """Let it be so late for a store."""

    @pytest.fixture
    def store(self) -> Any:
        """A store with a cap of 100 on the root and one of 60 on a team."""
        store = self.make()
        self.set_time(store, BEGIN)
        store.set_cap(Cap("org", "usd", 100), "anna", "the beginning")
        store.set_cap(Cap("org/team", "usd", 60), "anna", "the beginning")
        yield store
        assert list(store.check()) == []
        store.close()

    @staticmethod
    def sums(store: LedgerStore, account: str) -> Mapping[str, int]:
        """Of the one cap on money of an account."""
        [balance] = [item for item in store.balances() if (item.cap.account, item.cap.resource) == (account, "usd")]
        assert balance.left == max(0, balance.amount - balance.spent - balance.held)
        return {"spent": balance.spent, "held": balance.held, "debt": balance.debt, "left": balance.left}

    def test_within_a_part_what_it_has_counts_there_alone(self, store: LedgerStore) -> None:
        """It is held above as a whole; other kinds count above, and a pause above counts."""
        part, inner = "org/team/part:1", "org/team/part:1/sub"
        store.set_cap(Cap("org", "calls", 2), "anna", "")
        says = "is a part, made by a hold of org/team; it gets no caps by hand but lower ones"
        with pytest.raises(LedgerError, match=says):
            store.set_cap(Cap(part, "usd", 15), "anna", "nothing is held for it")
        assert isinstance(store.reserve(request("p", "org/team", 61, part=part)), Refused)
        assert store.reserve(request("a", inner, 61)) == Refused("org/team", "usd", "total", 60, 60, 61)
        for _ in range(2):
            assert store.reserve(request("p", "org/team", 15, part=part)) == Held("p")
        with pytest.raises(LedgerError, match="was given before; name another"):
            store.reserve(request("q", "org/team", 1, part=part))
        assert store.reserve(HoldRequest("a", inner, {"usd": 10, "calls": 1})) == Held("a")
        assert store.reserve(request("b", inner)) == Refused(part, "usd", "total", 15, 5, 20)
        assert self.sums(store, "org/team")["held"] == 15
        assert store.reserve(HoldRequest("c", inner, {"calls": 2})) == Refused("org", "calls", "total", 2, 1, 3)
        kinds = [(balance.cap.account, balance.cap.resource) for balance in store.read(inner, {"customer": "42"})]
        assert kinds == [(part, "usd"), ("org", "calls")]
        with pytest.raises(LedgerError, match=says):
            store.top_up(Cap(part, "usd", 5), "anna", "")
        with pytest.raises(LedgerError, match=says):
            store.set_cap(Cap(part, "usd", 20), "anna", "")
        store.set_cap(Cap(part, "usd", 10), "anna", "less")
        store.pause("org", "anna", "all")
        assert store.reserve(request("c", inner, 0)) == Paused("org", False, "anna", "all")
        for fields in ({"part": "org/part:1"}, {"part": "org/team/x"}, {"part": part, "free": True}):
            with pytest.raises(ConfigError):
                request("r", "org/team", **fields)

    def test_the_labels_of_a_part_reach_all_calls_below_it(self, store: LedgerStore) -> None:
        """Whatever labels they name themselves; what the part has is held there already."""
        part, label = "org/team/part:1", "org#customer=42"
        inner, scope = f"{part}/part:2", f"{part}/part:2/part:3/run"
        store.set_cap(Cap(label, "usd", 30), "anna", "")
        store.set_cap(Cap(label, "calls", 2), "anna", "")
        store.set_cap(Cap("org#customer=7", "usd", 3), "anna", "")
        store.reserve(request("p", "org/team", 20, part=part, labels={"customer": "42"}))
        store.reserve(request("q", part, 10, part=inner))
        store.reserve(request("r", inner, 5, part=f"{inner}/part:3"))
        assert store.reserve(HoldRequest("a", scope, {"usd": 2, "calls": 2})) == Held("a")
        assert store.reserve(HoldRequest("b", scope, {"calls": 1})) == Refused(label, "calls", "total", 2, 0, 3)
        seven = {"customer": "7"}  # no part has it, so it counts here
        assert store.reserve(request("c", scope, 4, labels=seven)) == Refused("org#customer=7", "usd", "total", 3, 3, 4)
        assert store.reserve(request("c", scope, 3, labels=seven)) == Held("c")
        assert self.sums(store, "org#customer=7")["held"] == 3
        assert [(balance.held, balance.left) for balance in store.balances() if balance.cap.account == label] == [
            (2, 0),
            (20, 10),
        ]
        kinds = [(balance.cap.account, balance.cap.resource) for balance in store.read(scope)]
        assert kinds == [(label, "calls"), (f"{inner}/part:3", "usd")]
        store.pause(label, "anna", "enough", stopped=True)
        assert store.reserve(request("d", scope, 0)) == Paused(label, True, "anna", "enough")

    @pytest.mark.parametrize("how", ["settled", "voided", "expired"])
    def test_a_part_ends_whole_and_what_is_paid_later_is_booked_above(self, store: LedgerStore, how: str) -> None:
        """In the accounts of its scope and of its labels, also where parts are nested."""
        part, inner, label = "org/team/part:1", "org/team/part:1/part:2", "org#customer=42"
        store.set_cap(Cap(label, "usd", 40), "anna", "")
        store.reserve(request("p", "org/team", 30, part=part, labels={"customer": "42"}, seconds=60))
        store.reserve(request("q", part, 20, part=inner, seconds=60))
        for id, worst in (("a", 5), ("b", 6), ("c", 1)):
            store.reserve(request(id, f"{inner}/run", worst))
        store.settle("a", {"usd": 3})
        if how == "expired":
            self.set_time(store, BEGIN + timedelta(seconds=61))
        ends = {id: store.void(id) if how == "voided" else store.settle(id, {}) for id in ("q", "p")}
        assert ends == {id: Ended(id, "settled", {"usd": 10}) for id in ("q", "p")}
        for id, scope, kind in (("d", part, "usd"), ("e", f"{inner}/run", "calls")):
            answer = store.reserve(HoldRequest(id, scope, {kind: 0}))
            assert isinstance(answer, Paused)
            assert (answer.stopped, answer.why) == (True, "the part has ended")
        with pytest.raises(LedgerError, match="grows no more, since org/team/part:1/part:2 has ended"):
            store.grow("b", {"usd": 7})
        store.void("c")
        assert [balance.left for balance in store.balances() if balance.cap.account in (part, inner)] == [0, 0]
        store.reserve(request("f", "org/team", 20))
        store.settle("b", {"usd": 50})  # for a worst case of 6
        for account, debt in ((label, 14), ("org/team", 14), ("org", 0)):
            sums = self.sums(store, account)
            assert (sums["spent"], sums["debt"]) == (54, debt), account
        assert self.sums(store, inner)["spent"] == 53
        assert store.settle("p", {"usd": 1}) == Ended("p", "settled", {"usd": 54})
