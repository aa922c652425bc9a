"""The runs of a server: begun, watched, asked about, ended, and gone on with after a stop."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from tape.agents.base import Agent
from tape.budget import LedgerError, LedgerStore
from tape.budget.claims import decided
from tape.serve.deps import Asked, Deps
from tape.serve.keys import Key, Keys
from tape.serve.player import SHOWN, RunPlayer, RunRefusedError, logger
from tape.serve.records import FINAL, RunRecord, RunStore, new_id

BUSY = ("queued", "running")
"""The states in which a run goes on by itself."""
FOLLOW_SECONDS = 0.5
"""Between two looks at what other servers do."""
CANCEL_TRIES = 10
"""Looks at a run that another server is to end; after them it is ended here."""
LINKS = ("schema", "episode", "prev")
"""Of a line of a trace, what is for the file alone."""
LONGEST_TASK = 100_000
"""Characters."""


class Runs(RunPlayer):
    """All runs: see :class:`RunPlayer`; ``queue`` says how many may wait beside those that are played."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        keys: Keys,
        kept: RunStore,
        store: LedgerStore,
        deps: Deps,
        *,
        at_once: int = 16,
        queue: int = 64,
    ) -> None:
        super().__init__(agents, keys, kept, store, deps, at_once)
        self._most = at_once + queue
        self._following: asyncio.Task[None] | None = None
        self._stopping = False

    # --- beginning and stopping -----------------------------------------------------------------

    def start(self) -> int:
        """Go on with what a stop has parked, and follow what other servers do; returns how many runs go on."""
        going_on = self._take_free()
        if self._kept.shared:
            self._following = asyncio.get_running_loop().create_task(self._follow())
        return going_on

    def _take_free(self) -> int:
        """Play the runs that no server plays, as far as there is room here; returns how many."""
        going_on = 0
        for record in self._kept.free():
            ours = record.agent in self.agents and record.key in self.keys.all
            if self._kept.shared and (not ours or len(self._live) >= self._most or not self._kept.take(record.id)):
                continue
            self._change(record.id, state="parked" if not ours else "queued", question=None)  # a kill has not said so
            if ours:
                self._play(self._of_id(record.id))
                going_on += 1
        return going_on

    async def _follow(self) -> None:
        """Keep the runs that are played here, do what other servers were asked of them, and take what is free."""
        while True:
            try:
                beat = await asyncio.to_thread(self._kept.beat, [*self._live])
                for id in beat.lost:
                    if id in self._live:
                        self._live[id].task_ends(lost=True)
                for id, asked in beat.asked.items():
                    self._heard(id, asked)
                if not self._stopping:
                    self._take_free()
            except LedgerError as error:  # the next time will do
                logger.warning("the runs cannot be followed: %s", error)
            await asyncio.sleep(FOLLOW_SECONDS)

    def _heard(self, id: str, asked: Mapping[str, Any]) -> None:
        live = self._live.get(id)
        if live is None:
            return
        if asked.get("cancel"):
            self._change(id, state="cancelled")
            live.task_ends()
        elif live.record.question is not None and live.record.question.id == asked.get("question"):
            live.decide(allow=bool(asked.get("allow")))

    async def stop(self, grace: float, urged: asyncio.Future[None] | None = None) -> int:
        """Let runs end for some seconds, or until it is urged, then park the others; returns how many are parked."""
        self._stopping = True
        if self._following is not None and not self._live:
            self._following.cancel()
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if not tasks:
            return 0
        ended: asyncio.Future[Any] = asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait([ended, *([urged] if urged else [])], timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        late = [task for task in tasks if not task.done()]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        if self._following is not None:
            self._following.cancel()
        return len(late)

    def keep(self, days: float) -> int:
        """Delete runs that have ended so many days ago; returns how many."""
        old = [
            record.id for record in self._kept.listed()
            if record.state in FINAL and record.ended < time.time() - 86_400 * days
        ]  # fmt: skip
        for id in old:
            self._kept.remove(id)
        return len(old)

    # --- what clients ask -------------------------------------------------------------------------

    def begin(self, key: Key, asked: Asked, *, idempotency_key: str = "", continues: str = "") -> RunRecord:
        """Begin a run, or find the one that this request has begun before.

        Raises:
            RunRefusedError: There is no such agent, or no such run to go on with; the task is empty or too long; the
                key was used for another request; or too many runs wait.
        """
        digest = hashlib.sha256(
            json.dumps([asked.agent, asked.task, asked.metadata, continues], sort_keys=True).encode()
        ).hexdigest()[:32]
        if asked.agent not in self.agents:
            raise RunRefusedError(
                404, "model_not_found", f"there is no agent {asked.agent!r:.80}; there is {', '.join(self.agents)}"
            )
        if not asked.task.strip() or len(asked.task) > LONGEST_TASK:
            raise RunRefusedError(400, "task", f"a task has 1 to {LONGEST_TASK} characters")
        if continues and self._of(key, continues).history is None:
            raise RunRefusedError(409, "not_ended", f"{continues} has not ended, so nothing goes on from it")
        record = RunRecord(
            id=new_id(), key=key.name, agent=asked.agent, task=asked.task, metadata=dict(asked.metadata),
            idempotency_key=idempotency_key, request=digest, continues=continues, traceparent=asked.traceparent,
        )  # fmt: skip
        if self._stopping or len(self._live) >= self._most:
            known = self._kept.find(record)
            if known is None:
                raise RunRefusedError(429, "queue_full", "too many runs wait; ask again in a while")
        else:
            known = self._kept.add(record)
        if known.request != digest:
            raise RunRefusedError(409, "idempotency", "this Idempotency-Key was sent with another request")
        if known.id == record.id:
            self._play(record)
        return known

    def _of(self, key: Key, id: str) -> RunRecord:
        record = self._of_id(id)
        if not (record.key == key.name or key.approves):
            raise RunRefusedError(404, "not_found", f"there is no run {id!r:.80}")
        return record

    def read(self, key: Key, id: str) -> RunRecord:
        """A run of this key; a key that approves sees all.

        Raises:
            RunRefusedError: There is none.
        """
        return self._of(key, id)

    def listed(self, key: Key, most: int = 100) -> list[RunRecord]:
        """The latest runs that this key may see, the newest first."""
        return self._kept.listed(None if key.approves else key.name, most)

    def lines(self, id: str) -> list[str]:
        """The trace of a run, as far as it is known here."""
        return self._kept.lines(id)

    def open(self) -> Counter[str]:
        """How many runs there are in each state that is not final."""
        return Counter(record.state for record in self._kept.listed() if record.state not in FINAL)

    async def ended(self, id: str, seconds: float | None = None) -> RunRecord:
        """A run when it has ended or waits for a person; or after some seconds, as it is then."""
        live = self._live.get(id)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while live is not None and live.record.state in BUSY and id in self._live:
                    await live.news.wait()
                while live is None and self._kept.shared and self._of_id(id).state in BUSY:
                    await asyncio.sleep(FOLLOW_SECONDS)
        return self._of_id(id)

    async def events(self, key: Key, id: str, after: int = -1) -> AsyncIterator[dict[str, Any]]:
        """The events of a run from any point, and further ones as they come, until it ends.

        Args:
            key: Who watches.
            id: Of the run.
            after: The number of the last event that is known.
        """
        record = self._of(key, id)
        live = self._live.get(id)
        if live is None:
            place, more = 0, True
            while more:
                record = self._of_id(id)
                more = self._kept.shared and record.state in (*BUSY, "waiting")
                for line in self._kept.lines(id, place):
                    event = json.loads(line)
                    if event["type"] in SHOWN and place > after:
                        yield {name: value for name, value in event.items() if name not in LINKS} | {"seq": place}
                    place += 1
                if more:
                    await asyncio.sleep(FOLLOW_SECONDS)
        else:
            place = 0
            while True:
                news = live.news
                while place < len(live.events):
                    if live.events[place]["seq"] > after:
                        yield live.events[place]
                    place += 1
                if live.task is None or live.task.done():
                    break
                await news.wait()
        record = self._of_id(id)
        yield {"seq": 10**9, "type": "run", "run": record.told()}

    def decide(self, key: Key, id: str, question: str, *, allow: bool) -> RunRecord:
        """Answer what a run asks.

        Raises:
            RunRefusedError: The key may not approve, or the run is its own; or the question does not wait any more.
        """
        record = self._of(key, id)
        self._require_approves(key, record)
        live = self._live.get(id)
        here = live is not None and live.answer is not None and not live.answer.done()
        if record.question is None or not (here or (live is None and self._kept.shared)):
            raise RunRefusedError(409, "no_question", f"{id} does not wait for an answer")
        if record.question.id != question:
            raise RunRefusedError(409, "other_question", f"{id} waits for an answer to another question by now")
        if live is None:
            self._kept.ask(id, {"question": question, "allow": allow})
        else:
            live.decide(allow=allow)
        return record

    def resolve(self, key: Key, id: str, *, done: bool, result: Any = None) -> RunRecord:
        """Say of a run in the state ``unknown`` whether its call was made; it goes on then.

        Raises:
            RunRefusedError: The key may not approve, or the run is its own; or nothing of it is unknown.
        """
        record = self._of(key, id)
        self._require_approves(key, record)
        scope = f"{self.keys.all[record.key].scope}/{id[4:]}" if record.key in self.keys.all else ""
        claims = self.store.claims(scope) if scope else ()
        unknown = [claim for claim in claims if claim.state in ("unknown", "claimed")]
        if record.state != "unknown" or not unknown or record.agent not in self.agents or not self._kept.take(id):
            raise RunRefusedError(409, "not_unknown", f"{id} has no call of which it is not known whether it was made")
        outcome = decided("" if result is None else json.dumps(result))
        try:
            for claim in unknown:
                self.store.decide(claim.key, key.name, f"run {id}", done=done, outcome=outcome)
        except LedgerError as error:  # such as a lease that is not over
            self._change(id, state="unknown")
            raise RunRefusedError(409, "not_yet", str(error)) from None
        self._change(id, state="queued", detail="")
        self._play(self._of_id(id))
        return self._of_id(id)

    def _require_approves(self, key: Key, record: RunRecord) -> None:
        if not key.approves:
            raise RunRefusedError(403, "may_not_approve", "this key may not approve")
        if record.key == key.name:
            raise RunRefusedError(403, "own_run", "the key of a run does not approve what the run asks")

    async def cancel(self, key: Key, id: str) -> RunRecord:
        """End a run; nothing of it goes on, and what it held is free."""
        record, live = self._of(key, id), self._live.get(id)
        if live is not None and live.task is not None:
            self._change(record.id, state="cancelled")
            live.task.cancel()
            await asyncio.wait([live.task])
        elif record.state not in FINAL:
            if self._kept.shared and record.state in (*BUSY, "waiting"):
                self._kept.ask(id, {"cancel": True})
                for _ in range(CANCEL_TRIES):
                    await asyncio.sleep(FOLLOW_SECONDS)
                    if (record := self._of_id(id)).state in FINAL:
                        return record
            self._change(record.id, state="cancelled", ended=time.time())
        return self._of_id(id)

    async def delete(self, key: Key, id: str) -> None:
        """End a run and delete all that is kept of it."""
        await self.cancel(key, id)
        self._kept.remove(id)
