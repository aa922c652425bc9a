"""How a server plays a run: its agent, its budget, its questions, its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tape.agents.base import Agent
from tape.approval import Approval, ApprovalRequest
from tape.budget import LedgerStore, StorePayer
from tape.errors import TapeError, UnfinishedCallError
from tape.passed_on import within_trace
from tape.protocols.result import EpisodeResult
from tape.serve.deps import Asked, Deps
from tape.serve.keys import Keys
from tape.serve.live import Live, Places
from tape.serve.records import RunQuestion, RunRecord, RunStore
from tape.trace import Event

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


class RunRefusedError(TapeError):
    """A request about runs that is not fulfilled.

    Attributes:
        status: Of HTTP.
        code: A word for programs.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code = status, code
        super().__init__(message)


class RunPlayer:
    """Plays runs.

    Args:
        agents: By the names that clients call them by; each has tools.
        keys: Who may ask.
        kept: Where runs are kept.
        store: Where keys pay from.
        deps: Makes what tools get.
        at_once: Runs that are played at once.
    """

    def __init__(
        self, agents: Mapping[str, Agent], keys: Keys, kept: RunStore, store: LedgerStore, deps: Deps, at_once: int = 16
    ) -> None:
        self.agents, self.keys, self._kept, self.store, self._deps = agents, keys, kept, store, deps
        self._places = Places(at_once)
        self._live: dict[str, Live] = {}
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """Runs that have ended, by key, agent and end state."""

    def _of_id(self, id: str) -> RunRecord:
        """A run that is there, as it is known best."""
        live = self._live.get(id)
        record = self._kept.read(id) if live is None else live.record
        if record is None:
            raise RunRefusedError(404, "not_found", f"there is no run {id!r:.80}")
        return record

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
            if live.lost:
                return
            cancelled = live.record.state == "cancelled"
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
        record = live.record
        key, agent, trace = self.keys.all[record.key], self.agents[record.agent], self._kept.trace(record.id)
        asked = Asked(record.agent, record.task, record.key, record.metadata, record.traceparent)

        numbers = itertools.count()

        def listener(event: Event) -> None:
            number = next(numbers)
            if event.type in SHOWN:
                live.events.append(told(number, event))
                live.tell()

        async def approve(request: ApprovalRequest) -> Approval:
            return await self._ask(live, request)

        payer = StorePayer(self.store, f"{key.scope}/{record.id[4:]}")
        async with self._deps.of(asked) as deps:
            options: dict[str, Any] = {"deps": deps, "payer": payer, "listener": listener, "approve": approve}
            try:
                with within_trace(record.traceparent):
                    if trace.exists() and trace.stat().st_size:
                        return await agent.aresume(trace, **options)
                    before = self._kept.read(record.continues) if record.continues else None
                    options["history"] = None if before is None else before.history
                    return await agent.arun(record.task, budget=key.run, trace=trace, run=record.id, **options)
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
            if live.record.state == "waiting" and not live.lost:
                self._change(live.record.id, state="running", question=None)

    def _end(self, id: str, result: EpisodeResult) -> None:
        record = self._of_id(id)
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
        record = self._of_id(id).model_copy(update=fields)
        self._kept.write(record)
        if (live := self._live.get(id)) is not None:
            live.record = record
            if "question" in fields and record.question is not None:
                live.events.append({"seq": len(live.events) and live.events[-1]["seq"], "type": "question",
                                    "question": record.question.model_dump()})  # fmt: skip
            live.tell()


def told(number: int, event: Event) -> dict[str, Any]:
    """An event as a client sees it; its number is its place in the trace."""
    return {"seq": number, "type": event.type} | event.model_dump(mode="json")
