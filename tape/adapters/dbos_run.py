"""A run in a workflow of DBOS: what it has of its records, what it adds to them, and what it pays for.

A recovered run takes what is recorded, in its order. Each call of :func:`dbos.DBOS.run_step` here is made in the same
order again, as DBOS numbers steps by it. A reservation that is followed by a record was granted before, so the store is
not asked again; of one that was refused there is a record. A record has the ids of what was held when it was made, so
that this is settled once, by whoever comes to it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, NoReturn

from dbos import DBOS

from tape.approval import ApprovalRequest
from tape.budget import Payer, Resources, StorePayer
from tape.budget.claims import Claimed, Effect, claimed_now
from tape.budget.locks import CLIENT
from tape.budget.payer import StoreHold
from tape.errors import BudgetExceededError, ConfigError, ResumeError, TapeError
from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage
from tape.lm.wrapper import WrappedLM
from tape.protocols import Action, Observation
from tape.tools.environment import ToolEnvironment

PREFIX, QUESTION = "tape ", "tape question"
NOTHING = "{}"
"""The outcome of what is no call, such as an answer."""


@dataclass(eq=False)
class _Held:
    """What is set aside; without a hold it is known from a record that it was, or nothing is called with it yet."""

    worst: Resources
    hold: StoreHold | None = None
    effect: Effect | None = None


class DurableRun(Payer):
    """The records of a workflow, and its payer.

    Args:
        payer: Pays from the store.
        id: Of the workflow.
        patience: Seconds that a person has for an answer.

    Attributes:
        fault: Why it cannot go on.
        action: The name of what is called now.
        outcome: What came of the last call, in JSON.
    """

    rank = CLIENT

    def __init__(self, payer: StorePayer, id: str, patience: float) -> None:
        self.id, self.scope, self._payer, self._patience = id, payer.scope, payer, patience
        self._thread = ThreadPoolExecutor(1, "tape records")  # DBOS makes no plain step where an event loop runs
        steps = self._thread.submit(DBOS.list_workflow_steps, id).result()  # not in the context: it is no step
        self._known = deque(step for step in steps if step["function_name"].startswith(PREFIX))
        self._open: list[_Held] = []
        self._asked = self._questions = 0
        self._within = ""
        self.fault: ResumeError | None = None
        self.action = ""
        self.outcome: Callable[[], str] = str

    def close(self) -> None:
        """End what is due."""
        self._payer.close()
        self._thread.shutdown()

    # --- records ------------------------------------------------------------------------------

    def recorded(self, what: str, **marks: Any) -> dict[str, Any] | None:
        """The next record, if it is this one."""
        output = self._known[0]["output"] if self._known else None
        if output is None or any(output.get(mark) != value for mark, value in {"what": what, **marks}.items()):
            return None
        return self._written(self._known.popleft()["function_name"], None)

    def record(self, name: str, **output: Any) -> dict[str, Any]:
        """Add a record."""
        self.require_new()
        return self._written(PREFIX + name, {"what": name.partition(" ")[0], "holds": self._holds(), **output})

    def _written(self, name: str, output: dict[str, Any] | None) -> dict[str, Any]:
        context = copy_context()
        step = self._thread.submit(lambda: context.run(lambda: DBOS.run_step({"name": name}, lambda: output)))
        return self._came(step.result() or {})

    def _came(self, output: dict[str, Any]) -> dict[str, Any]:
        self._asked = 0
        for held, id in zip(self._open, output.get("holds", ()), strict=False):
            held.hold = held.hold or (id and StoreHold(id))
        return output

    def _holds(self) -> list[str | None]:
        return [None if held.hold is None else held.hold.id for held in self._open]

    def require_new(self) -> None:
        """Refuse to add a record amid others."""
        if self._known:
            self.differs(f"{self._known[0]['function_name']} comes next in its records")

    def differs(self, how: str) -> NoReturn:
        """Refuse to go on with a workflow whose records are of another run."""
        self.fault = ResumeError(
            f"the workflow {self.id} does not come out as it was recorded: {how}; its tools, settings, model or the "
            "version of tape have changed, or a function that it asks does not always say the same"
        )
        raise self.fault

    @contextmanager
    def within(self, how: str) -> Iterator[None]:
        """What is set aside in the block belongs to one step: ``made`` now, or ``played`` from its record."""
        before, self._within = self._within, how
        try:
            yield
        finally:
            self._within = before

    # --- the payer ----------------------------------------------------------------------------

    def reserve(self, worst_case: Resources) -> _Held:
        """Set aside what is new, or claim an effect; what is recorded was paid, or refused, before."""
        held, effect = _Held(worst_case), claimed_now()
        if self._within:
            held.hold = self._payer.reserve(worst_case) if self._within == "made" else None
        else:
            self._require_granted()
            if effect is not None and (known := self.recorded("tool", key=effect.key)) is not None:
                effect.claimed = Claimed(effect.key, "done", outcome=known["outcome"])
                return held
            if effect is not None:
                self.require_new()
            if not self._known:
                held.hold, held.effect = self._granted(worst_case), effect
            if effect is not None and effect.claimed is not None and effect.claimed.state == "busy":
                self._asked -= 1  # how often one waits is no part of the run
        self._open.append(held)
        return held

    def _require_granted(self) -> None:
        self._asked += 1
        if (refused := self.recorded("refused", asked=self._asked)) is not None:
            raise refused["error"]

    def _granted(self, worst_case: Resources) -> StoreHold:
        try:
            return self._payer.reserve(worst_case)
        except BudgetExceededError as error:
            self.record("refused", asked=self._asked, error=error)
            raise

    def settle(self, reservation: _Held, actual: Resources) -> None:
        """Book what was used, and then record a call that changed something."""
        self._forget(reservation)
        if reservation.hold is not None:
            self._payer.settle(reservation.hold, actual)
        if (effect := reservation.effect) is not None and effect.end is not None:
            self.record(f"tool {self.action}", key=effect.key, outcome=self.outcome())

    def release(self, reservation: _Held) -> None:
        """Give back what was not used."""
        self._forget(reservation)
        if reservation.hold is not None:
            self._payer.release(reservation.hold)

    def _forget(self, reservation: _Held) -> None:
        self._open = [held for held in self._open if held is not reservation]

    # --- the model ----------------------------------------------------------------------------

    async def answers(self, requests: Sequence[Request], asked: list[str], ask: Callable[[], Awaitable[Any]]) -> Any:
        """What a model has answered, or answers now."""
        self._require_granted()
        played = bool(self._known)
        for held in () if played else self._open:  # what was set aside for a call that no record is of
            held.hold = held.hold or self._granted(held.worst)

        async def step() -> dict[str, Any]:
            came: dict[str, Any]
            try:
                came = {"answers": await ask()}
            except BatchError as error:
                came = {"answers": list(error.answers)}
            except TapeError as error:
                came = {"answers": [], "error": error}
            return {"what": "model", "asked": asked, "holds": self._holds(), **came}

        with self.within("played" if played else "made"):
            if played and self._known.popleft()["function_name"] != f"{PREFIX}model":
                self.differs("the model is asked where it was not")
            record = await DBOS.run_step_async({"name": f"{PREFIX}model"}, step)
            if record["asked"] != asked:
                self.differs("the model is asked for something else")
            for request, answer in zip(requests, record["answers"], strict=False) if played else ():
                for _ in range(1, _usage(answer).calls):  # a call that was repeated was paid for again
                    _ = request.again is None or request.again(request)
        self._came(record)
        if "error" in record:
            raise record["error"]
        if any(isinstance(answer, EndpointError) for answer in record["answers"]):
            raise BatchError(record["answers"])
        return record["answers"]

    # --- approvals ----------------------------------------------------------------------------

    async def approve(self, request: ApprovalRequest) -> bool:
        """Ask a person, and wait for the message; nothing is held meanwhile."""
        if request.reason == "asked":
            raise ConfigError("a call of a workflow cannot ask a person amid it; declare its tool destructive=True")
        self._questions += 1
        asked = {"id": str(self._questions), "action": request.shown, "text": str(request), "whole": request.whole}
        await DBOS.set_event_async(QUESTION, asked)
        said = await DBOS.recv_async(f"{QUESTION} {self._questions}", timeout_seconds=self._patience)
        await DBOS.set_event_async(QUESTION, None)
        return said is True


def _usage(answer: Any) -> Usage:
    usage: Usage = answer.usage if isinstance(answer, Completion | EndpointError) else answer[1]
    return usage


class DurableLM(WrappedLM):
    """A model whose every answer is a step."""

    def __init__(self, model: LanguageModel, run: DurableRun) -> None:
        super().__init__(model)
        self._run = run

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The recorded answers, or the model's."""
        answers: list[Completion] = await self._asked(requests, self._model.generate)
        return answers

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """The recorded probabilities, or the model's."""
        answers: list[tuple[tuple[float, ...], Usage]] = await self._asked(requests, self._model.score_options)
        return answers

    async def _asked(self, requests: Sequence[Request], method: Callable[[Sequence[Request]], Awaitable[Any]]) -> Any:
        asked = [request.fingerprint(self.identity) for request in requests]
        return await self._run.answers(requests, asked, lambda: method(requests))


class DurableTools(ToolEnvironment[Any]):
    """Tools whose every result is a step; :class:`DurableRun` records what changes something, once it is paid."""

    run: DurableRun

    def effect(self, action: Action) -> Effect | None:
        """See :meth:`tape.protocols.Environment.effect`."""
        self.run.action = action.partition("(")[0]
        return super().effect(action)

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Make a call that is not recorded."""
        if self._known is not None:
            return await super().astep(action)
        known = self.run.recorded("tool", key=action)
        if known is not None and known["outcome"] != NOTHING:
            return await self.restore(action, json.loads(known["outcome"]))
        with self.run.within("made" if known is None else "played"):
            came = await super().astep(action)
        if known is None and self.is_pure(action):
            self.run.record(f"tool {self.run.action}", key=action, outcome=self.run.outcome())
        return came
