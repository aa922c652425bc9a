"""What the page for people shows of served runs, and what they decide there; the page itself is the gateway's."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tape.budget import StorePayer, in_units
from tape.errors import ConfigError
from tape.gateway.page import LEDGER_SECONDS, accounts, change
from tape.serve.keys import Key
from tape.serve.records import RunRecord
from tape.serve.runs import BUSY, Runs

MOST_RUNS = 30


class ServePage:
    """Watches runs, for keys that approve.

    Args:
        runs: The runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._plans: dict[str, list[dict[str, Any]]] = {}
        """Of runs that have ended."""
        self._acts: list[dict[str, Any]] = []

    async def state(self, key: Key) -> dict[str, Any]:
        """All that is shown now, as the page draws it."""
        records = self._runs.listed(key, MOST_RUNS)
        waiting = [_waiting(record) for record in records if record.question is not None and record.key != key.name]
        return {
            "now": datetime.now(UTC).isoformat(),
            "name": f"tape serve: {', '.join(self._runs.agents)}",
            "problem": "",
            "waiting": {"rows": waiting, "count": len(waiting)},
            "runs": [self._shown(record, key) for record in records],
            "shared": await self._shared(),
            "acts": self._acts[:20],
        }

    def _shown(self, record: RunRecord, key: Key) -> dict[str, Any]:
        plan = self._plans.get(record.id) or plan_of(self._runs.lines(record.id))
        if record.state not in (*BUSY, "waiting"):
            self._plans[record.id] = plan
        spent: Counter[str] = Counter()
        for line in plan:
            spent.update({kind: count for kind, count in line["cost"].items() if kind != "steps" and count})
        return {
            "id": record.id, "agent": record.agent, "client": record.key, "task": record.task[:400],
            "state": record.state, "at": datetime.fromtimestamp(record.created, UTC).isoformat(), "plan": plan,
            "spent": " · ".join(in_units(kind, count) for kind, count in sorted(spent.items())),
            "answer": "" if record.answer is None else json.dumps(record.answer, ensure_ascii=False)[:400],
            "end": " · ".join(text for text in (record.end_state, record.detail[:400]) if text),
            "unknown": record.state == "unknown" and record.key != key.name,
        }  # fmt: skip

    async def _shared(self) -> dict[str, Any]:
        """The accounts of all keys, asked in a thread: the ledger may be far away."""
        payers = [StorePayer(self._runs.store, key.scope) for key in self._runs.keys.all.values()]
        try:
            async with asyncio.timeout(LEDGER_SECONDS):
                told = [await asyncio.to_thread(accounts, payer) for payer in payers]
        except TimeoutError:
            return {"problem": "the ledger has not answered yet"}
        if problem := next((item["problem"] for item in told if "problem" in item), ""):
            return {"problem": problem}
        caps = {json.dumps(cap, sort_keys=True): cap for item in told for cap in item["caps"]}
        pauses = {pause["account"]: pause for item in told for pause in item["pauses"]}
        return {"caps": [*caps.values()], "pauses": [*pauses.values()]}

    def question(self, key: Key, id: str) -> dict[str, Any] | None:
        """A question with all that is shown of it; None where it does not wait any more."""
        record = self._asking(key, id)
        return None if record is None or record.question is None else {
            **_waiting(record), "origin": record.agent, "shown": record.question.shown,
        }  # fmt: skip

    def _asking(self, key: Key, id: str) -> RunRecord | None:
        return next((run for run in self._runs.listed(key) if run.question is not None and run.question.id == id), None)

    async def act(self, key: Key, what: Mapping[str, str]) -> str:
        """Do what a person asks for; returns what was done.

        Args:
            key: Approves.
            what: ``act`` is ``approve`` or ``refuse`` for the ``id`` of a question, ``made`` or ``not_made`` for the
                ``id`` of a run whose call is unknown; or one of the gateway's for an ``account``.

        Raises:
            ConfigError, LedgerError, RunRefusedError: It cannot be done.
        """
        act, id, why = what.get("act", ""), what.get("id", ""), what.get("why", "").strip()[:500]
        if act in ("approve", "refuse"):
            if (record := self._asking(key, id)) is None:
                raise ConfigError("this run does not wait any more")
            self._runs.decide(key, record.id, id, allow=act == "approve")
            done = f"{'approved' if act == 'approve' else 'refused'} a call of {record.agent} for {record.key}"
        elif act in ("made", "not_made"):
            record = self._runs.resolve(key, id, done=act == "made")
            done = f"a call of {record.agent} for {record.key} was {'made' if act == 'made' else 'not made'}"
        elif act in ("raise", "resume", "once", "stop"):
            scopes = [item.scope for item in self._runs.keys.all.values()]
            account = what.get("account", "")
            scope = next((item for item in scopes if f"{item}/".startswith(f"{account}/")), scopes[0])
            done = await asyncio.to_thread(change, StorePayer(self._runs.store, scope), act, what, why)
        else:
            raise ConfigError("an act is one of approve, refuse, made, not_made, raise, resume, once, stop")
        self._acts.insert(0, {"at": datetime.now(UTC).isoformat(), "what": done, "why": why})
        return done


def plan_of(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The calls that a run has made, and those that its plan makes next.

    Args:
        lines: Of its trace.
    """
    made: list[dict[str, Any]] = []
    rest: list[str] = []
    for line in lines:
        event = json.loads(line)
        if event["type"] == "walk_selected":
            rest = list(event["actions"])
        elif event["type"] == "acted":
            made.append({"text": event["action"], "done": True, "cost": event["cost"]})
            rest = rest[1:]
        elif event["type"] == "finished":
            rest = []
    return [*made, *({"text": action, "done": False, "cost": {}} for action in rest)]


def _waiting(record: RunRecord) -> dict[str, Any]:
    assert record.question is not None
    begun = datetime.fromtimestamp(record.created, UTC).isoformat()
    tool = record.question.action.partition("(")[0]
    return {"id": record.question.id, "tool": tool, "client": record.key, "at": begun}
