"""Requests to the functions of a database, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from tape.budget.accounts import concerns
from tape.budget.claims import Claimed
from tape.budget.contract import Held, HoldRequest, Refused, State
from tape.budget.resources import in_units
from tape.budget.rules import PART_ENDED, LedgerError, Paused, UnknownHoldError
from tape.budget.stores.claims import no_claim


def asked_for(request: HoldRequest) -> dict[str, Any]:
    """A request as the database takes it."""
    return {
        "id": request.id, "scope": request.scope, "labels": dict(request.labels), "name": request.name,
        "worst": dict(request.amounts), "seconds": request.seconds, "free": request.free, "part": request.part,
    }  # fmt: skip


def reserved(request: HoldRequest, answer: Mapping[str, Any]) -> Held | Refused | Paused:
    """What became of a request to reserve."""
    if answer.get("error") == "another":
        raise LedgerError(f"the id {request.id} belongs to a hold of {answer['scope']}; make ids anew")
    if answer.get("error") == "given":
        raise LedgerError(f"the part {request.part} was given before; name another")
    if "ended part" in answer:
        return Paused(answer["ended part"], True, "ledger", PART_ENDED)
    if "paused" not in answer:
        return held_or_refused(request.id, answer)
    assert len(answer) == 1, "what is paused is not held"
    paused = Paused(*answer["paused"])
    assert concerns(paused.account, request.scope), (paused, request)
    return paused


def claimed(key: str, answer: Mapping[str, Any]) -> Claimed:
    """How a claim stands."""
    if answer.get("error") == "no claim":
        raise LedgerError(no_claim(key))
    state, attempt, outcome, seconds = answer["claim"]
    return Claimed(key, state, attempt, outcome, float(seconds))


def held_or_refused(id: str, answer: Mapping[str, Any]) -> Held | Refused:
    """What became of a hold."""
    require_known(id, answer)
    assert len(answer) == 1, "it is held, or refused"
    if "refused" not in answer:
        assert answer["held"] in get_args(State), answer
        return Held(id, answer["held"])
    refused = Refused(*answer["refused"])
    assert refused.cap_needed is None or refused.cap_needed > refused.amount, refused
    assert refused.left >= 0, refused
    assert refused.left <= refused.amount, refused
    return refused


def require_known(id: str, answer: Mapping[str, Any]) -> None:
    """Refuse what the store does not know."""
    if answer.get("error") == "none":
        raise UnknownHoldError(f"there is no hold {id}")
    assert "error" not in answer, "no error is passed over"


def note_of(what: Mapping[str, Any]) -> str:
    """A change by hand in words."""
    if what["do"] == "decide":
        return f"decide {what['effect']}"
    assert ("resource" in what) == (what["do"] not in ("rule", "pause", "resume")), what
    if "resource" not in what:
        return f"{what['do']} {what['account']}"
    amount = [in_units(what["resource"], what["amount"])] if what.get("amount") else []
    return " ".join((what["do"], what["account"], what["resource"], what["period"], *amount))
