"""Journals of guards and gateways as earlier versions wrote them; what is appended to them is as in all others."""

from __future__ import annotations

from tape.ledger.accounts import named
from tape.ledger.records import Record

HEADS = [{"schema": 1, "what": what} for what in ("guard", "gateway")]
"""Their first lines."""


def of_earlier(record: Record) -> Record:
    """What a line says today. Lines had no times: what is open counts as spent."""
    assert "do" not in record, "it is a line of today"
    at, scope = "1970-01-01T00:00:00+00:00", "guard"
    if "close" in record:
        state = "voided" if record.get("outcome") == "released" else "settled"
        return {"do": "end", "at": at, "id": f"earlier-{record['close']}", "state": state, "spent": record["spent"]}
    if "client" in record:
        scope = f"gateway/{named(record['client'])}/{named(record['session'].removeprefix(record['client'] + ':'))}"
    hold = {"do": "hold", "at": at, "expires": at, "scope": scope, "labels": {}, "free": False}
    if "checkpoint" in record:
        return {**hold, "id": record["checkpoint"], "name": "checkpoint", "worst": {}}
    assert ("reserve" in record) != ("checkpoint" in record), "one of three sorts of lines"
    name = record["tool"] if "client" in record else record["name"]
    return {**hold, "id": f"earlier-{record['reserve']}", "name": name, "worst": record["worst"]}
