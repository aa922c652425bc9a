"""The runs of a server: begun, watched, asked about, ended, and gone on with after a stop."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import logging
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from tape.agents.base import Agent
from tape.approval import Approval, ApprovalRequest
from tape.budget import LedgerStore, StorePayer
from tape.errors import TapeError, UnfinishedCallError
from tape.protocols.result import EpisodeResult
from tape.serve.deps import Asked, Deps
from tape.serve.keys import Key, Keys
from tape.serve.live import Live, Places
from tape.serve.records import FINAL, RunFolder, RunQuestion, RunRecord, new_id
from tape.trace import Event, read_trace

logger = logging.getLogger("tape.serve")

SHOWN = frozenset(
    [
        "started",
        "plans_sampled",
        "walk_selected",
        "approval",
        "call_begun",
        "call_ended",
        "acted",
        "observed",
        "replanned",
        "finished",
    ]
)
"""The events that a client sees; prompts and amounts set aside are for the trace."""
BUSY = ("queued", "running")
"""The states in which a run goes on by itself."""
LONGEST_TASK = 100_000
"""Characters."""


class RunRefusedError(TapeError):
    """A request about runs that is not fulfilled.

    Attributes:
        status: Of HTTP.
        code: A word for programs.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code = status, code
        super().__init__(message)


class Runs:
    """All runs.

    Args:
        agents: By the names that clients call them by; each has tools.
        keys: Who may ask.
        folder: Where runs are kept.
        store: Where keys pay from.
        deps: Makes what tools get.
        at_once: Runs that are played at once.
        queue: Runs that may wait beside them.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        keys: Keys,
        folder: RunFolder,
        store: LedgerStore,
        deps: Deps,
        *,
        at_once: int = 16,
        queue: int = 64,
    ) -> None:
        self.agents, self.keys, self._folder, self._store, self._deps = agents, keys, folder, store, deps
        self._places, self._most = Places(at_once), at_once + queue
        self._records: dict[str, RunRecord] = {}
        self._live: dict[str, Live] = {}
        self._stopping = False
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """Runs that have ended, by key, agent and end state."""

    # --- beginning and stopping -----------------------------------------------------------------

    def start(self) -> int:
        """Read what is kept, and go on with what a stop has parked; returns how many runs that are."""
        for record in self._folder.all():
            self._records[record.id] = record
        going_on = 0
        for record in [item for item in self._records.values() if item.state not in (*FINAL, "unknown")]:
            self._change(record.id, state="parked", question=None)  # a server that was killed has not said so
            if record.agent in self.agents and record.key in self.keys.all:
                self._play(self._records[record.id])
                going_on += 1
        return going_on

    async def stop(self, grace: float, urged: asyncio.Future[None] | None = None) -> int:
        """Let runs end for some seconds, or until it is urged, then park the others; returns how many are parked."""
        self._stopping = True
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
        return len(late)

    def keep(self, days: float) -> int:
        """Delete runs that have ended so many days ago; returns how many."""
        old = [
            record.id for record in self._records.values()
            if record.state in FINAL and record.ended < time.time() - 86_400 * days
        ]  # fmt: skip
        for id in old:
            self._forget(id)
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
        if idempotency_key:
            for record in self._records.values():
                if (record.key, record.idempotency_key) == (key.name, idempotency_key):
                    if record.request != digest:
                        raise RunRefusedError(409, "idempotency", "this Idempotency-Key was sent with another request")
                    return record
        if asked.agent not in self.agents:
            raise RunRefusedError(
                404, "model_not_found", f"there is no agent {asked.agent!r:.80}; there is {', '.join(self.agents)}"
            )
        if not asked.task.strip() or len(asked.task) > LONGEST_TASK:
            raise RunRefusedError(400, "task", f"a task has 1 to {LONGEST_TASK} characters")
        if continues and self._of(key, continues).history is None:
            raise RunRefusedError(409, "not_ended", f"{continues} has not ended, so nothing goes on from it")
        if self._stopping or len(self._live) >= self._most:
            raise RunRefusedError(429, "queue_full", "too many runs wait; ask again in a while")
        record = RunRecord(
            id=new_id(), key=key.name, agent=asked.agent, task=asked.task, metadata=dict(asked.metadata),
            idempotency_key=idempotency_key, request=digest, continues=continues, traceparent=asked.traceparent,
        )  # fmt: skip
        self._records[record.id] = record
        self._folder.write(record)
        self._play(record)
        return record

    def _of(self, key: Key, id: str) -> RunRecord:
        record = self._records.get(id)
        if record is None or not (record.key == key.name or key.approves):
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
        seen = [record for record in self._records.values() if record.key == key.name or key.approves]
        return sorted(seen, key=lambda record: -record.created)[:most]

    def open(self) -> Counter[str]:
        """How many runs there are in each state that is not final."""
        return Counter(record.state for record in self._records.values() if record.state not in FINAL)

    async def ended(self, id: str, seconds: float | None = None) -> RunRecord:
        """A run when it has ended or waits for a person; or after some seconds, as it is then."""
        live = self._live.get(id)
        if live is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while live.record.state in BUSY and id in self._live:
                        await live.news.wait()
        return self._records[id]

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
            trace = self._folder.trace(id)
            for number, event in enumerate(read_trace(trace) if trace.exists() else ()):
                if event.type in SHOWN and number > after:
                    yield _told(number, event)
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
        record = self._records.get(id, record)
        yield {"seq": 10**9, "type": "run", "run": record.told()}

    def decide(self, key: Key, id: str, question: str, *, allow: bool) -> RunRecord:
        """Answer what a run asks.

        Raises:
            RunRefusedError: The key may not approve, or the run is its own; or the question does not wait any more.
        """
        record = self._of(key, id)
        if not key.approves:
            raise RunRefusedError(403, "may_not_approve", "this key may not approve")
        if record.key == key.name:
            raise RunRefusedError(403, "own_run", "the key of a run does not approve what the run asks")
        live = self._live.get(id)
        if live is None or live.answer is None or live.answer.done() or record.question is None:
            raise RunRefusedError(409, "no_question", f"{id} does not wait for an answer")
        if record.question.id != question:
            raise RunRefusedError(409, "other_question", f"{id} waits for an answer to another question by now")
        live.answer.set_result(Approval.ALLOW if allow else Approval.REFUSE)
        return record

    async def cancel(self, key: Key, id: str) -> RunRecord:
        """End a run; nothing of it goes on, and what it held is free."""
        record, live = self._of(key, id), self._live.get(id)
        if live is not None and live.task is not None:
            self._change(record.id, state="cancelled")
            live.task.cancel()
            await asyncio.wait([live.task])
        elif record.state not in FINAL:
            self._change(record.id, state="cancelled", ended=time.time())
        return self._records[id]

    async def delete(self, key: Key, id: str) -> None:
        """End a run and delete all that is kept of it."""
        await self.cancel(key, id)
        self._forget(id)

    def _forget(self, id: str) -> None:
        self._records.pop(id, None)
        self._folder.remove(id)

    # --- playing ------------------------------------------------------------------------------------

    def _play(self, record: RunRecord) -> None:
        live = Live(record)
        self._live[record.id] = live
        live.task = asyncio.get_running_loop().create_task(self._played(live), name=record.id)
        live.task.add_done_callback(lambda _: self._done(live))

    def _done(self, live: Live) -> None:
        self._live.pop(live.record.id, None)
        live.tell()

    async def _played(self, live: Live) -> None:
        id = live.record.id
        try:
            async with self._places:
                self._change(id, state="running")
                self._end(id, await self._run(live))
        except asyncio.CancelledError:
            cancelled = self._records[id].state == "cancelled"
            ended = time.time() if cancelled else 0.0
            self._change(id, state="cancelled" if cancelled else "parked", question=None, ended=ended)
        except UnfinishedCallError as error:
            self._change(id, state="unknown", detail=str(error))
        except TapeError as error:
            self._change(id, state="ended", ended=time.time(), end_state="refused", detail=str(error))
        except Exception as error:  # a fault of an agent's own code, of which no traceback goes to a client
            logger.exception("run %s failed", id)
            name = type(error).__name__
            self._change(id, state="ended", ended=time.time(), end_state="fault", detail=f"{name}; the log has more")

    async def _run(self, live: Live) -> EpisodeResult:
        """Play a run, or go on with it from its trace."""
        record = self._records[live.record.id]
        key, agent, trace = self.keys.all[record.key], self.agents[record.agent], self._folder.trace(record.id)
        asked = Asked(record.agent, record.task, record.key, record.metadata, record.traceparent)

        numbers = itertools.count()

        def listener(event: Event) -> None:
            number = next(numbers)
            if event.type in SHOWN:
                live.events.append(_told(number, event))
                live.tell()

        async def approve(request: ApprovalRequest) -> Approval:
            return await self._ask(live, request)

        payer = StorePayer(self._store, f"{key.scope}/{record.id[4:]}")
        async with self._deps.of(asked) as deps:
            options: dict[str, Any] = {"deps": deps, "payer": payer, "listener": listener, "approve": approve}
            try:
                if trace.exists() and trace.stat().st_size:
                    return await agent.aresume(trace, **options)
                before = self._records.get(record.continues)
                history = None if before is None else before.history
                return await agent.arun(record.task, budget=key.run, trace=trace, history=history, **options)
            finally:
                payer.close()

    async def _ask(self, live: Live, request: ApprovalRequest) -> Approval:
        """Let the run wait for a person; while it waits nothing is held for the call."""
        question = RunQuestion(id=secrets.token_urlsafe(9), action=request.action, shown=str(request))
        live.answer = asyncio.get_running_loop().create_future()
        self._change(live.record.id, state="waiting", question=question)
        self._places.leave()  # another run may go on meanwhile
        try:
            return await live.answer
        finally:
            self._places.active += 1
            live.answer = None
            if self._records[live.record.id].state == "waiting":
                self._change(live.record.id, state="running", question=None)

    def _end(self, id: str, result: EpisodeResult) -> None:
        record = self._records[id]
        shown = result.to_dict()
        self.counts[record.key, record.agent, result.end_state] += 1
        history = result.history
        self._change(
            id,
            state="ended",
            ended=time.time(),
            answer=shown.get("answer"),
            end_state=result.end_state,
            detail=result.detail,
            spent=dict(shown.get("spent", {})),
            prompt_tokens=sum(result.prompt_tokens.values()),
            completion_tokens=sum(result.completion_tokens.values()),
            history=None if history is None else history.model_dump(mode="json"),
        )

    def _change(self, id: str, **fields: Any) -> None:
        record = self._records[id].model_copy(update=fields)
        self._records[id] = record
        self._folder.write(record)
        if (live := self._live.get(id)) is not None:
            live.record = record
            if "question" in fields and record.question is not None:
                live.events.append({"seq": len(live.events) and live.events[-1]["seq"], "type": "question",
                                    "question": record.question.model_dump()})  # fmt: skip
            live.tell()


def _told(number: int, event: Event) -> dict[str, Any]:
    """An event as a client sees it; its number is its place in the trace."""
    return {"seq": number, "type": event.type} | event.model_dump(mode="json")
