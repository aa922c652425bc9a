"""What every store of budgets has to do; see :class:`tape.budget.LedgerStore`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tape.budget import (
    Cap,
    Ended,
    Held,
    HoldRequest,
    LedgerError,
    LedgerStore,
    Pause,
    Paused,
    Period,
    Refused,
    Rule,
    Wanted,
    Warned,
)
from tape.errors import ConfigError
from tape.testing.ledger_claims import ClaimConformance
from tape.testing.ledger_parts import BEGIN, request

DAY, ROLLING = Period.parse("day@Europe/Berlin"), Period.parse("rolling:3600")


class LedgerStoreConformance(ClaimConformance):
    """The suite, to inherit from: how a store is made, opened again and given the time is yours to say.

    Examples:
        >>> from tape.budget.stores.memory import MemoryStore
        >>> from tape.testing import LedgerStoreConformance
        >>> class TestMine(LedgerStoreConformance):
        ...     def make(self):
        ...         return MemoryStore(lambda: self.at)
        ...     def set_time(self, store, at):
        ...         self.at = at
        >>> TestMine().test_a_closed_store_pays_for_nothing()  # pytest calls this and all the others
    """

    def test_a_hold_counts_in_all_accounts_and_ends_once(self, store: LedgerStore) -> None:
        """At what was used; asking again changes nothing."""
        for _ in range(2):
            assert store.reserve(request("a")) == Held("a")
            assert self.sums(store, "org") == {"spent": 0, "held": 10, "debt": 0, "left": 90}
        for used in (4, 9):
            assert store.settle("a", {"usd": used}) == Ended("a", "settled", {"usd": 4})
        assert store.void("a") == Ended("a", "settled", {"usd": 4})
        assert store.reserve(request("a")) == Held("a", "settled")
        for account, left in (("org", 96), ("org/team", 56)):
            assert self.sums(store, account) == {"spent": 4, "held": 0, "debt": 0, "left": left}

    def test_what_does_not_fit_is_held_nowhere(self, store: LedgerStore) -> None:
        """The refusal names the cap and the least that would do; the leaf is asked first."""
        assert store.reserve(request("a", worst=50)) == Held("a")
        assert store.reserve(request("b", worst=11)) == Refused("org/team", "usd", "total", 60, 10, 61)
        assert store.reserve(request("c", "org/other", 50)) == Held("c")
        assert store.reserve(request("d", "org/other", 1)) == Refused("org", "usd", "total", 100, 0, 101)
        assert store.reserve(request("e", "org/other", 0)) == Held("e")
        assert self.sums(store, "org/team")["held"] == 50

    def test_an_unknown_worst_case_is_refused_where_it_is_capped(self, store: LedgerStore) -> None:
        """And let through where it is not."""
        held = store.reserve(request("a", worst=None))
        assert isinstance(held, Refused)
        assert (held.account, held.cap_needed) == ("org/team", None)
        assert store.reserve(request("b", "elsewhere", None)) == Held("b")
        assert store.reserve(HoldRequest("c", "org", {"tokens": None})) == Held("c")
        assert store.settle("c", {"tokens": None}) == Ended("c", "settled", {"tokens": 0})

    def test_an_unknown_use_is_booked_at_its_worst_case_and_more_is_a_debt(self, store: LedgerStore) -> None:
        """What a settlement takes beyond is not lost."""
        store.reserve(request("a"))
        assert store.settle("a", {"usd": None}).spent == {"usd": 10}
        store.reserve(request("b", worst=50))
        assert store.settle("b", {"usd": 75}).spent == {"usd": 75}
        assert self.sums(store, "org/team") == {"spent": 85, "held": 0, "debt": 25, "left": 0}
        assert self.sums(store, "org") == {"spent": 85, "held": 0, "debt": 25, "left": 15}

    def test_a_call_that_was_not_made_costs_nothing(self, store: LedgerStore) -> None:
        """Voided."""
        store.reserve(request("a"))
        assert store.void("a") == Ended("a", "voided", {})
        assert self.sums(store, "org")["left"] == 100

    def test_a_hold_grows_as_far_as_it_fits(self, store: LedgerStore) -> None:
        """While an answer streams."""
        store.reserve(request("a"))
        assert store.grow("a", {"usd": 5}) == Held("a")
        assert store.grow("a", {"usd": 60}) == Held("a")
        assert store.grow("a", {"usd": 61}) == Refused("org/team", "usd", "total", 60, 0, 61)
        assert self.sums(store, "org")["held"] == 60
        store.settle("a", {"usd": 30})
        with pytest.raises(LedgerError, match=r"the hold a has ended \(settled\)"):
            store.grow("a", {"usd": 61})

    def test_what_expires_is_booked_and_returned_only_where_that_is_declared(self, store: LedgerStore) -> None:
        """A late end replaces that once; what is more is spent where caps have room, and debt for the rest."""
        store.set_cap(Cap("org/team", "usd", 60, DAY), "anna", "the beginning")
        for id, free in (("a", False), ("b", True), ("c", False), ("d", False)):
            store.reserve(request(id, seconds=60, free=free))
        self.set_time(store, BEGIN + timedelta(hours=1))  # another day
        assert self.sums(store, "org") == {"spent": 30, "held": 0, "debt": 0, "left": 70}
        for used in (4, 9):
            assert store.settle("a", {"usd": used}) == Ended("a", "settled", {"usd": 4})
        for _ in range(2):
            assert store.void("c") == Ended("c", "voided", {})
        assert store.settle("b", {"usd": 50}) == Ended("b", "settled", {"usd": 50})
        assert store.settle("d", {"usd": None}) == Ended("d", "settled", {"usd": 10})
        assert self.sums(store, "org") == {"spent": 64, "held": 0, "debt": 0, "left": 36}
        total, today = [balance for balance in store.balances() if balance.cap.account == "org/team"][::-1]
        assert (total.spent, total.debt, today.spent) == (64, 4, 0)

    def test_labels_have_caps_of_their_own(self, store: LedgerStore) -> None:
        """A call has to fit into all."""
        store.set_cap(Cap("org#customer=42", "usd", 15), "anna", "a contract")
        mine = {"customer": "42", "job": "night"}
        assert store.reserve(request("a", labels=mine)) == Held("a")
        assert store.reserve(request("b", labels=mine)) == Refused("org#customer=42", "usd", "total", 15, 5, 20)
        assert store.reserve(request("c", labels={"customer": "7"})) == Held("c")
        assert [balance.cap.account for balance in store.read("org/team/agent", mine)] == [
            "org#customer=42",
            "org/team",
            "org",
        ]

    def test_a_hold_belongs_to_the_period_of_its_beginning(self, store: LedgerStore) -> None:
        """Of the time zone."""
        store.set_cap(Cap("org/daily", "usd", 20, DAY), "anna", "a day")
        store.reserve(request("a", "org/daily", 15))
        self.set_time(store, BEGIN + timedelta(hours=1))
        [*_, today] = [balance for balance in store.balances() if balance.cap.account == "org/daily"]
        assert (today.begun, today.left) == (datetime(2026, 3, 28, 23, tzinfo=UTC), 20)
        assert store.reserve(request("b", "org/daily", 15)) == Held("b")
        store.settle("a", {"usd": 15})
        assert store.reserve(request("c", "org/daily", 6)) == Refused("org/daily", "usd", str(DAY), 20, 5, 21)
        # On the next day, an hour shorter: clocks were changed.
        self.set_time(store, datetime(2026, 3, 29, 22, tzinfo=UTC))
        assert store.reserve(request("d", "org/daily", 6)) == Held("d")

    def test_what_is_spent_leaves_a_rolling_period_late_and_never_early(self, store: LedgerStore) -> None:
        """With its part."""
        store.set_cap(Cap("org/hourly", "usd", 20, ROLLING), "anna", "an hour")
        store.reserve(request("a", "org/hourly", 20))
        store.settle("a", {"usd": 20})
        self.set_time(store, BEGIN + timedelta(seconds=3600))
        assert isinstance(store.reserve(request("b", "org/hourly", 1)), Refused)
        self.set_time(store, BEGIN + timedelta(seconds=3720))
        assert store.reserve(request("c", "org/hourly", 20)) == Held("c")

    def test_what_is_held_counts_in_a_rolling_period_however_long_ago(self, store: LedgerStore) -> None:
        """It may still be paid; also where the hold grows."""
        store.set_cap(Cap("org/hourly", "usd", 50, ROLLING), "anna", "an hour")
        store.reserve(request("a", "org/hourly", 10, seconds=86_400))
        self.set_time(store, BEGIN + timedelta(hours=2))
        assert isinstance(store.reserve(request("b", "org/hourly", 41)), Refused)
        assert store.reserve(request("c", "org/hourly", 30)) == Held("c")
        assert store.grow("a", {"usd": 20}) == Held("a")
        assert store.grow("a", {"usd": 21}) == Refused("org/hourly", "usd", str(ROLLING), 50, 0, 51)
        assert self.sums(store, "org/hourly") == {"spent": 0, "held": 50, "debt": 0, "left": 0}
        store.set_cap(Cap("org/hourly", "usd", 60, ROLLING), "anna", "more")
        assert store.grow("a", {"usd": 30}) == Held("a")

    def test_a_day_that_begins_twice_begins_at_the_first(self, store: LedgerStore) -> None:
        """Where clocks are set back at midnight."""
        day = Period.parse("day@America/Havana")
        store.set_cap(Cap("org/havana", "usd", 50, day), "anna", "a day")
        self.set_time(store, datetime(2026, 11, 1, 4, 30, tzinfo=UTC))
        [balance] = store.read("org/havana")[:1]
        assert balance.begun == datetime(2026, 11, 1, 4, tzinfo=UTC)

    def test_amounts_are_counts(self, store: LedgerStore) -> None:
        """Nothing else is let in, so that nothing is given back, and nothing is written that cannot be read."""
        store.reserve(request("a"))
        for odd in (-1, True, 1.5, float("nan"), "7", 2**63):
            with pytest.raises(ConfigError, match=r"of usd is no whole number from 0 to 1000000000000000"):
                store.settle("a", {"usd": odd})  # type: ignore[dict-item]
            with pytest.raises(ConfigError, match="is no whole number"):
                store.grow("a", {"usd": odd})  # type: ignore[dict-item]
            with pytest.raises(ConfigError, match="is no whole number"):
                store.reserve(HoldRequest("b", "org", {"usd": odd}))  # type: ignore[dict-item]
        with pytest.raises(ConfigError, match="is no whole number"):
            store.grow("a", {"usd": None})  # type: ignore[dict-item]
        for fields in ({"name": "\ud800"}, {"name": "\0"}, {"seconds": 1.5}, {"labels": None}):
            with pytest.raises(ConfigError):
                HoldRequest("b", "org", {"usd": 1}, **fields)
        with pytest.raises(ConfigError, match="why a change is made is a text"):
            store.set_cap(Cap("org", "usd", 200), "anna", "\ud800")
        with pytest.raises(ConfigError, match="no name of a resource"):
            Cap("org", None, 1)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="less than a billion"):
            Period("rolling", seconds=10**9)
        assert self.sums(store, "org") == {"spent": 0, "held": 10, "debt": 0, "left": 90}
        assert self.open_again(store).history()[0].id == "a"

    def test_a_cap_is_set_again_whatever_does_not_matter_to_its_period(self, store: LedgerStore) -> None:
        """An hour has no zone."""
        for amount in (10, 20):
            store.set_cap(Cap("org/hours", "usd", amount, Period.parse("hour@Europe/Berlin")), "anna", "")
        assert self.sums(store, "org/hours")["left"] == 20

    def test_caps_are_changed_by_hand_with_who_and_why(self, store: LedgerStore) -> None:
        """Not below what is spent and held."""
        store.reserve(request("a", worst=50))
        with pytest.raises(LedgerError, match=r"below the \$0.00005 that are spent and held"):
            store.set_cap(Cap("org/team", "usd", 49), "ben", "too much")
        store.set_cap(Cap("org/team", "usd", 50), "ben", "enough")
        store.top_up(Cap("org/team", "usd", 5), "anna", "a busy day")
        assert self.sums(store, "org/team")["left"] == 5
        store.settle("a", {"usd": 50})
        store.reset("org/team", "usd", Period(), "anna", "a mistake")
        assert self.sums(store, "org/team") == {"spent": 0, "held": 0, "debt": 0, "left": 55}
        assert [(note.who, note.why) for note in store.notes()][:2] == [("anna", "a mistake"), ("anna", "a busy day")]

    def test_a_top_up_is_for_one_period_and_a_cap_for_all(self, store: LedgerStore) -> None:
        """The next day begins with the cap."""
        store.set_cap(Cap("org/daily", "usd", 20, DAY), "anna", "a day")
        store.top_up(Cap("org/daily", "usd", 20, DAY), "anna", "today")
        assert self.sums(store, "org/daily")["left"] == 40
        self.set_time(store, BEGIN + timedelta(days=1))
        assert self.sums(store, "org/daily")["left"] == 20

    def test_what_cannot_be_is_refused_in_one_sentence(self, store: LedgerStore) -> None:
        """Unknown holds and caps, an id twice, two beginnings of a day."""
        store.set_cap(Cap("org/daily", "usd", 20, DAY), "anna", "a day")
        with pytest.raises(LedgerError, match="would have two beginnings of a day with day@UTC"):
            store.set_cap(Cap("org/daily", "usd", 20, Period("day")), "anna", "a day")
        store.reserve(request("a"))
        with pytest.raises(LedgerError, match="the id a belongs to a hold of org/team/agent"):
            store.reserve(request("a", "org/other"))
        for ask in (store.void, lambda id: store.settle(id, {}), lambda id: store.grow(id, {})):
            with pytest.raises(LedgerError, match="there is no hold nobody"):
                ask("nobody")
        with pytest.raises(LedgerError, match="there is no cap org tokens total; there is: org usd total"):
            store.top_up(Cap("org", "tokens", 1), "anna", "more")
        store.set_cap(Cap("org/hourly", "usd", 20, ROLLING), "anna", "an hour")
        with pytest.raises(LedgerError, match="a rolling cap is not reset"):
            store.reset("org/hourly", "usd", ROLLING, "anna", "again")
        for scope in ("", "a//b", "a b", "/".join("abcdefghi")):
            with pytest.raises(ConfigError, match="a scope is 1 to 8 names"):
                store.reserve(request("b", scope))

    def test_levels_are_warned_of_once_in_a_period(self, store: LedgerStore) -> None:
        """At what is spent and held; the last one also where a call is refused; again after a cap was raised."""
        told: list[Warned] = []
        store.warned = told.append
        store.set_rule(Rule("org/team", warn=(50, 80, 100), webhook="http://127.0.0.1:1/"), "anna", "")
        store.reserve(request("a", worst=29))
        assert told == []
        store.reserve(request("b", worst=20))
        assert told == [Warned("org/team", "usd", "total", 80, 49, 60, "http://127.0.0.1:1/")]
        store.void("b")
        store.reserve(request("b2", worst=20))
        assert isinstance(store.reserve(request("c", worst=20)), Refused)
        assert isinstance(store.reserve(request("d", worst=20)), Refused)
        assert [item.percent for item in told] == [80, 100]
        assert [note.why for note in store.notes() if note.who == "ledger"] == ["a call was refused", "80 % are taken"]
        store.reserve(request("c2", worst=11))
        assert [item.percent for item in told] == [80, 100]  # it was told when a call was refused
        store.settle("c2", {"usd": 0})
        store.set_cap(Cap("org/team", "usd", 80), "anna", "more")
        assert store.reserve(request("e", worst=20)) == Held("e")
        assert [item.percent for item in told] == [80, 100, 80]
        assert list(store.rules()) == [Rule("org/team", warn=(50, 80, 100), webhook="http://127.0.0.1:1/")]

    def test_what_is_paused_begins_no_call(self, store: LedgerStore) -> None:
        """Neither do scopes below; what is in flight ends, and goes on growing."""
        store.reserve(request("a"))
        store.pause("org/team", "anna", "too fast")
        for _ in range(2):
            assert store.reserve(request("b")) == Paused("org/team", False, "anna", "too fast")
        assert store.reserve(request("c", "org/other")) == Held("c")
        assert (store.reserve(request("a")), store.grow("a", {"usd": 20})) == (Held("a"), Held("a"))
        store.pause("org/team", "ben", "no more", stopped=True)
        store.pause("org/team", "carl", "not heard")
        [pause] = store.pauses()
        assert pause == Pause("org/team", True, BEGIN, "ben", "no more", None)
        with pytest.raises(LedgerError, match="paused for another reason than a cap; resume it without --once"):
            store.resume("org/team", "anna", "", once=True)
        store.resume("org/team", "anna", "")
        assert (store.reserve(request("b")), list(store.pauses())) == (Held("b"), [])
        with pytest.raises(LedgerError, match="org/team is not paused; there is: none"):
            store.resume("org/team", "anna", "")

    def test_a_refused_call_is_let_through_once(self, store: LedgerStore) -> None:
        """By exactly what it lacks now."""
        store.reserve(request("a", worst=50))
        refused = store.reserve(request("b", worst=20))
        assert isinstance(refused, Refused)
        store.pause("org/team/agent", "ledger", "does not fit", wanted=refused.wanted(20))
        assert store.pauses()[0].wanted == Wanted("org/team", "usd", "total", 20)
        store.settle("a", {"usd": 45})
        store.resume("org/team/agent", "anna", "fine", once=True)
        assert self.sums(store, "org/team")["left"] == 20
        assert store.reserve(request("b", worst=20)) == Held("b")

    def test_another_program_sees_all_of_it(self, store: LedgerStore) -> None:
        """And goes on."""
        store.reserve(request("a", worst=50, name="a call", labels={"customer": "42"}))
        again = self.open_again(store)
        self.set_time(again, BEGIN)
        assert isinstance(again.reserve(request("b", worst=11)), Refused)
        assert again.settle("a", {"usd": 1}).spent == {"usd": 1}
        assert store.settle("a", {"usd": 2}).spent == {"usd": 1}
        [hold] = store.history("org")
        assert (hold.id, hold.name, hold.labels, hold.state) == ("a", "a call", {"customer": "42"}, "settled")
        assert (hold.worst, hold.spent, hold.begun) == ({"usd": 50}, {"usd": 1}, BEGIN)
        assert store.history("or") == [] == store.history("org/team/agent/run")
        if again is not store:
            again.close()

    def test_a_closed_store_pays_for_nothing(self) -> None:
        """It is opened anew."""
        store = self.make()
        store.close()
        store.close()
        with pytest.raises(LedgerError, match="was closed; open it anew"):
            store.reserve(request("a"))
