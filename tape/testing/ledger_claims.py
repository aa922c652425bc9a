"""What every store of budgets has to do with claims of effects (:mod:`tape.budget.claims`)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tape.budget import Claimed, ClaimRequest, HoldRequest, LedgerError, LedgerStore, Paused, Refused
from tape.errors import ConfigError
from tape.testing.ledger_parts import BEGIN, PartConformance, request


def asked(worker: str, *, again: bool = False, key: str = "k") -> ClaimRequest:
    """A claim for a minute."""
    return ClaimRequest(key, worker, 60, again)


class ClaimConformance(PartConformance):
    """The part of the suite of stores that is about claims."""

    def claim(self, store: LedgerStore, worker: str, id: str, *, again: bool = False) -> Claimed | Refused | Paused:
        """ClaimRequest the effect ``k`` for 10 micro-dollars."""
        return store.claim(request(id), asked(worker, again=again))

    def state(self, store: LedgerStore, worker: str, id: str, *, again: bool = False) -> str:
        """How the claim stands then."""
        claimed = self.claim(store, worker, id, again=again)
        assert isinstance(claimed, Claimed), claimed
        return claimed.state

    def test_an_effect_is_held_and_done_once(self, store: LedgerStore) -> None:
        """Who asks again is told so, whoever it is; nothing more is held."""
        assert self.claim(store, "a", "1") == Claimed("k", "claimed")
        assert self.claim(store, "a", "1") == Claimed("k", "claimed")
        busy = self.claim(store, "b", "2")
        assert busy == Claimed("k", "busy", seconds=60.0)
        assert self.sums(store, "org")["held"] == 10
        assert store.finish("k", 1, "done", {"usd": 4}, '{"n": 1}') == Claimed("k", "done", 1, '{"n": 1}')
        assert store.finish("k", 1, "failed", {}) == Claimed("k", "done", 1, '{"n": 1}')
        for worker in ("a", "b"):
            assert self.claim(store, worker, worker) == Claimed("k", "done", 1, '{"n": 1}')
        assert self.sums(store, "org") == {"spent": 4, "held": 0, "debt": 0, "left": 96}

    def test_what_does_not_fit_is_not_claimed(self, store: LedgerStore) -> None:
        """A later claim that fits is the first."""
        assert isinstance(store.claim(request("1", worst=61), asked("a")), Refused)
        store.pause("org", "anna", "")
        assert isinstance(self.claim(store, "a", "2"), Paused)
        store.resume("org", "anna", "")
        assert self.claim(store, "b", "3") == Claimed("k", "claimed")
        assert [claim.attempt for claim in store.claims()] == [1]

    def test_what_has_failed_is_claimed_anew(self, store: LedgerStore) -> None:
        """With a hold of its own."""
        assert self.state(store, "a", "1") == "claimed"
        assert store.finish("k", 1, "failed", {"usd": 1}).state == "failed"
        assert self.claim(store, "b", "2") == Claimed("k", "claimed", 2)
        assert store.finish("k", 2, "done", {"usd": 2}).state == "done"
        assert self.sums(store, "org")["spent"] == 3

    def test_after_the_lease_it_is_taken_where_it_may_be_made_again(self, store: LedgerStore) -> None:
        """Its hold goes on; what the first worker still says counts where it says that it is done."""
        assert self.state(store, "a", "1") == "claimed"
        self.set_time(store, BEGIN + timedelta(seconds=60))
        for _ in range(2):
            assert self.claim(store, "b", "2", again=True) == Claimed("k", "taken", 2)
        assert self.state(store, "c", "3", again=True) == "busy"
        assert store.finish("k", 1, "failed", {}).attempt == 2, "who has lost it does not say so"
        assert self.sums(store, "org")["held"] == 10
        assert store.finish("k", 1, "done", {"usd": 5}, "1").outcome == "1"
        assert store.finish("k", 2, "done", {"usd": 6}, "2").outcome == "1", "it is done once"
        assert self.sums(store, "org") == {"spent": 5, "held": 0, "debt": 0, "left": 95}

    @pytest.mark.parametrize("end", ["late", "done", "failed"])
    def test_an_unknown_effect_is_spent_until_it_is_decided(self, store: LedgerStore, end: str) -> None:
        """By the worker that comes late, or by a person; once."""
        assert self.state(store, "a", "1") == "claimed"
        self.set_time(store, BEGIN + timedelta(seconds=60))
        for worker in ("b", "c"):
            assert self.state(store, worker, worker) == "unknown"
        assert self.sums(store, "org") == {"spent": 10, "held": 0, "debt": 0, "left": 90}
        if end == "late":
            assert store.finish("k", 1, "done", {"usd": 4}, "1").state == "done"
        else:
            store.decide("k", "anna", "looked it up", done=end == "done", outcome="1")
            assert any("decide" in note.what for note in store.notes())
        with pytest.raises(LedgerError):
            store.decide("k", "anna", "again", done=True)
        assert self.sums(store, "org")["spent"] == {"late": 4, "done": 10, "failed": 0}[end]
        assert self.state(store, "d", "d") == ("claimed" if end == "failed" else "done")

    def test_a_worker_says_itself_that_it_does_not_know(self, store: LedgerStore) -> None:
        """The hold that has expired before is no hindrance."""
        assert isinstance(store.claim(HoldRequest("1", "org", {"usd": 10}, seconds=1), asked("a")), Claimed)
        self.set_time(store, BEGIN + timedelta(seconds=2))
        assert store.finish("k", 1, "unknown", {}).state == "unknown"
        assert store.finish("k", 1, "unknown", {}).state == "unknown"
        assert self.sums(store, "org")["spent"] == 10
        assert store.finish("k", 1, "done", {"usd": 3}).state == "done"
        assert self.sums(store, "org")["spent"] == 3

    @pytest.mark.parametrize("by_hand", [False, True])
    def test_what_was_made_although_it_was_given_up_is_booked(self, store: LedgerStore, by_hand: bool) -> None:
        """An attempt that comes late is paid for beside the one that has failed since."""
        assert self.state(store, "a", "1", again=True) == "claimed"
        self.set_time(store, BEGIN + timedelta(seconds=60))
        if by_hand:
            store.decide("k", "anna", "was mistaken", done=False)
        else:
            assert self.state(store, "b", "2", again=True) == "taken"
            assert store.finish("k", 2, "failed", {"usd": 1}).state == "failed"
        for _ in range(2):
            assert store.finish("k", 1, "done", {"usd": 5}).state == "done"
            assert self.sums(store, "org")["spent"] == (5 if by_hand else 6)

    def test_an_unknown_effect_is_taken_where_it_may_be_made_again(self, store: LedgerStore) -> None:
        """After the lease, in which the call may still be under way; its hold is corrected then."""
        assert self.state(store, "a", "1", again=True) == "claimed"
        assert store.finish("k", 1, "unknown", {}).state == "unknown"
        assert self.state(store, "b", "2", again=True) == "busy"
        self.set_time(store, BEGIN + timedelta(seconds=60))
        assert self.claim(store, "b", "2", again=True) == Claimed("k", "taken", 2)
        assert self.sums(store, "org")["spent"] == 10
        assert store.finish("k", 2, "done", {"usd": 3}).state == "done"
        assert self.sums(store, "org") == {"spent": 3, "held": 0, "debt": 0, "left": 97}

    @pytest.mark.parametrize("done", [True, False])
    def test_an_effect_is_decided_once_its_lease_is_over(self, store: LedgerStore, done: bool) -> None:
        """As where nobody can be asked whether it was made."""
        assert self.state(store, "a", "1", again=True) == "claimed"
        self.set_time(store, BEGIN + timedelta(seconds=60))
        store.decide("k", "anna", "looked it up", done=done)
        assert self.sums(store, "org") == {"spent": 10 * done, "held": 0, "debt": 0, "left": 100 - 10 * done}
        assert self.state(store, "b", "2", again=True) == ("done" if done else "claimed")

    def test_claims_are_read_and_kept(self, store: LedgerStore) -> None:
        """The latest first, also by another program."""
        self.claim(store, "a", "1")
        store.finish("k", 1, "done", {"usd": 1}, '"sent"')
        store.claim(request("2", "org/other"), asked("a", key="other"))
        again = self.open_again(store)
        assert [(claim.key, claim.scope, claim.state) for claim in again.claims()] == [
            ("other", "org/other", "claimed"), ("k", "org/team/agent", "done"),
        ]  # fmt: skip
        assert [claim.outcome for claim in again.claims("org/team")] == ['"sent"']
        assert not again.claims(most=0)

    def test_what_is_no_claim_is_refused(self, store: LedgerStore) -> None:
        """In one sentence."""
        with pytest.raises(LedgerError, match="no claim of the effect k"):
            store.finish("k", 1, "done", {})
        with pytest.raises(LedgerError, match="no claim of the effect k"):
            store.decide("k", "anna", "", done=True)
        self.claim(store, "a", "1")
        with pytest.raises(LedgerError, match="belongs to org/team/agent"):
            store.claim(request("2", "org/other"), asked("a"))
        store.reserve(request("3"))
        with pytest.raises(LedgerError, match="without this claim"):
            store.claim(request("3"), asked("a", key="new"))
        with pytest.raises(ConfigError):
            ClaimRequest("k", "a", 0)
        with pytest.raises(ConfigError):
            store.finish("k", 1, "done", {}, "ä")
        with pytest.raises(LedgerError, match="is claimed"):
            store.decide("k", "anna", "", done=True)
