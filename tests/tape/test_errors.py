"""Errors travel between processes, as records of steps and pools of workers need it."""

from __future__ import annotations

import pickle

from tape.errors import BudgetExceededError, UnfinishedCallError
from tape.lm.base import EndpointError, Usage


def test_an_error_is_pickled_whatever_it_is_made_with() -> None:
    refused = BudgetExceededError("usd", 50, 10, 60, "org", "60 do not fit")
    refused.wanted_for("pay()")
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.kind, again.requested) == ("pay(): 60 do not fit", "usd", 60)
    unfinished = pickle.loads(pickle.dumps(UnfinishedCallError("it may be done", "pay()")))
    assert (str(unfinished), unfinished.action) == ("it may be done", "pay()")
    failed = pickle.loads(pickle.dumps(EndpointError("no answer", Usage(3, 0), passing=True)))
    assert (str(failed), failed.usage, failed.passing) == ("no answer", Usage(3, 0), True)
