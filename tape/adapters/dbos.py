"""DBOS: an agent as a workflow that goes on after a crash, and makes no effect twice.

Each answer of the model and each result of a tool is a step of the workflow, recorded in PostgreSQL. A workflow that is
recovered plays the agent again from the beginning, with what was recorded: the model is not asked again, and nothing is
called again. A call that changes something is claimed, and its worst case held, in one transaction of the ledger before
it is made, and finished and settled in another one after it, before DBOS records the step. So a call whose record is
missing is decided by its claim (:mod:`tape.budget.claims`). Needs the extra ``dbos``.

What the ledger refuses is recorded too: after a recovery the same is refused, whatever a cap is then.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tape.agents.base import Agent
from tape.approval import ApprovalRequest, When
from tape.budget import Budget, Payer, Resources, StorePayer
from tape.budget.claims import LEASE, Claimed, Effect, claimed_now
from tape.budget.contract import LedgerStore
from tape.budget.deadline import KIND as WALL
from tape.budget.locks import CLIENT
from tape.budget.payer import StoreHold
from tape.errors import BudgetExceededError, ConfigError, ResumeError, TapeError
from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage, for_run
from tape.lm.wrapper import WrappedLM
from tape.plugins import require_extra
from tape.protocols import Action, Observation
from tape.tools.environment import ToolEnvironment
from tape.waiting import run_sync

require_extra("dbos", "dbos", what="agents as workflows of DBOS")

from dbos import DBOS, DBOSClient, WorkflowHandle

PREFIX, QUESTION = "tape.", "tape.question"
DAYS = 7
ENDING = "cannot schedule new futures after"
"""What Python says where DBOS has been shut down, or the interpreter is."""


@dataclass(frozen=True)
class DurableAgent:
    """An agent whose runs are workflows of DBOS. Make it where DBOS's workflows are registered, before its launch.

    ``agent.workflow("task", "$1, 20 steps")`` is the workflow: call it, or give it to ``DBOS.start_workflow``. The
    workflow's id is the name of the run, so it is part of the key of every effect. It returns the fields of an
    :class:`~tape.protocols.result.EpisodeResult`.

    Attributes:
        agent: Has tools, and runs no calls at once. Whatever it is given beside the model and the tools, such as
            ``answer_check``, says the same each time that it is asked.
        store: Of the budgets; may be in DBOS's own database.
        scope: Who pays.
        name: Of the workflow; it stays over deployments.
        deps: What the tools get.
        approvals: A person is asked about destructive calls (:func:`question`, :func:`approve`).
        approve_when: Selects further calls to ask about.
        patience: Seconds until a question without an answer is taken for refused.
        lease: Seconds of a claim, after which a recovered workflow takes over a call that was under way.

    Raises:
        ConfigError: The agent has no tools, runs calls at once, plans on copies, or its model learns from its answers.
    """

    agent: Agent[Any, Any]
    store: LedgerStore
    scope: str
    name: str = "tape"
    deps: Any = None
    approvals: bool = False
    approve_when: When | None = None
    patience: float = DAYS * 86_400
    lease: int = LEASE
    workflow: Callable[..., dict[str, Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        config, model = self.agent.config, self.agent.model
        if self.agent.tasks is None:
            raise ConfigError(f"a workflow does tasks in words: {type(self.agent).__name__}(model, tools=[...])")
        if config.parallel > 1:
            raise ConfigError("a workflow numbers its steps in their order, so calls cannot run at once: parallel=1")
        if config.world_model == "copy":
            raise ConfigError("a workflow keeps no state that plans are tried on; leave out world_model='copy'")
        if for_run(model) is not model:
            raise ConfigError(f"{model.name} learns from its answers, which a recovered workflow asks not again")

        @DBOS.workflow(name=self.name)
        def workflow(task: str, budget: str = "", seed: int = 0) -> dict[str, Any]:
            return self._played(task, Budget.read(budget or None), seed)

        object.__setattr__(self, "workflow", workflow)

    def _played(self, task: str, budget: Budget, seed: int) -> dict[str, Any]:
        if WALL in budget:
            raise ConfigError(f"a recovered workflow cannot keep a cap on {WALL}; give the workflow a timeout of DBOS")
        id = DBOS.workflow_id
        assert id is not None, "this is called in a workflow"
        run = _Run(StorePayer(self.store, self.scope, lease=self.lease), id, self.patience)
        try:
            return run_sync(self._episode(run, task, budget, seed))
        except Exception as error:
            if ENDING in str(error):  # an error would end the workflow, which is to go on after the next launch
                raise asyncio.CancelledError("DBOS was shut down") from error
            raise
        finally:
            run.close()

    async def _episode(self, run: _Run, task: str, budget: Budget, seed: int) -> dict[str, Any]:
        model, tasks = _DurableLM(self.agent.model, run), copy(self.agent.tasks)
        assert tasks is not None, "it was checked"
        tasks.kind = _DurableTools
        if (told := run.recorded("instructions")) is None:
            first = await tasks.environment(task, self.deps, None, model)
            told = run.record("instructions", text=first.made_with().get("instructions", ""))
        env = await tasks.environment(task, self.deps, None, model, told["text"])
        assert isinstance(env, _DurableTools), "it is made as it was asked for"
        env.run, run.outcome = run, lambda: json.dumps(dict(env.outcome()))
        asks = self.approvals or self.approve_when is not None
        result = await self.agent.arun(
            env, model=model, payer=run, run=run.id, budget=budget, seed=seed,
            approve=run.approve if asks else None, approve_when=self.approve_when,
        )  # fmt: skip
        if run.fault is not None:
            raise run.fault
        return dict(result.model_dump(mode="json"))


@dataclass(eq=False)
class _Held:
    """What is set aside; without a hold it is known from a record that it was, or nothing is called with it yet."""

    worst: Resources
    hold: StoreHold | None = None
    effect: Effect | None = None


class _Run(Payer):
    """What a workflow has of its records, and adds to them; pays from the store for what no record is of."""

    rank = CLIENT

    def __init__(self, payer: StorePayer, id: str, patience: float) -> None:
        self.id, self._payer, self._patience = id, payer, patience
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
        return self._write(self._known.popleft()["function_name"], None)

    def record(self, name: str, **output: Any) -> dict[str, Any]:
        """Add a record."""
        self.require_new()
        return self._write(PREFIX + name, {"what": name.partition(" ")[0], **output})

    def _write(self, name: str, output: dict[str, Any] | None) -> dict[str, Any]:
        self._asked = 0
        context = copy_context()
        step = self._thread.submit(lambda: context.run(lambda: DBOS.run_step({"name": name}, lambda: output)))
        written: dict[str, Any] = step.result() or {}
        return written

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

    def pay(self) -> None:
        """Set aside at the store what is open, before something is called that is not recorded.

        Raises:
            BudgetExceededError: It does not fit.
        """
        self._require_granted()
        for held in self._open if not self._known else ():
            held.hold = held.hold or self._granted(held.worst)

    # --- the model ----------------------------------------------------------------------------

    async def answers(self, requests: Sequence[Request], asked: list[str], ask: Callable[[], Awaitable[Any]]) -> Any:
        """What a model has answered, or answers now."""
        self.pay()
        played = bool(self._known)

        async def step() -> dict[str, Any]:
            output: dict[str, Any] = {"what": "model", "asked": asked}
            try:
                output["answers"] = await ask()
            except BatchError as error:
                output["answers"] = list(error.answers)
            except TapeError as error:
                output["error"] = error
            return output | {"holds": [held.hold and held.hold.id for held in self._open]}

        with self.within("played" if played else "made"):
            if played and self._known.popleft()["function_name"] != PREFIX + "model":
                self.differs("the model is asked where it was not")
            self._asked = 0
            record = await DBOS.run_step_async({"name": PREFIX + "model"}, step)
            if record["asked"] != asked:
                self.differs("the model is asked for something else")
            for request, answer in zip(requests, record.get("answers", ()), strict=False) if played else ():
                for _ in range(1, _usage(answer).calls):
                    _ = request.again is None or request.again(request)
        for held, id in zip(self._open, record["holds"], strict=False):
            held.hold = held.hold or (id and StoreHold(id))
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
        asked = {"id": str(self._questions), "action": request.whole, "text": str(request)}
        await DBOS.set_event_async(QUESTION, asked)
        said = await DBOS.recv_async(f"{QUESTION} {self._questions}", timeout_seconds=self._patience)
        await DBOS.set_event_async(QUESTION, None)
        return said is True


def _usage(answer: Any) -> Usage:
    usage: Usage = answer.usage if isinstance(answer, Completion | EndpointError) else answer[1]
    return usage


class _DurableLM(WrappedLM):
    """A model whose every answer is a step."""

    def __init__(self, model: LanguageModel, run: _Run) -> None:
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


class _DurableTools(ToolEnvironment[Any]):
    """Tools whose every result is a step: of those that change something :class:`_Run` makes it, where it is paid."""

    run: _Run

    def effect(self, action: Action) -> Effect | None:
        """See :meth:`tape.protocols.Environment.effect`."""
        self.run.action = action.partition("(")[0]
        return super().effect(action)

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Make a call that is not recorded."""
        if self._known is None and (known := self.run.recorded("tool", key=action)) is not None:
            return await self.restore(action, json.loads(known["outcome"]))
        with self.run.within("made"):
            came = await super().astep(action)
        if self._known is None and self.is_pure(action) and self.outcome():
            self.run.record(f"tool {self.run.action}", key=action, outcome=self.run.outcome())
        return came


def question(workflow_id: str, timeout: float = 0) -> dict[str, str] | None:
    """What a workflow asks a person now: ``id``, ``action`` and ``text``; None where it asks nothing.

    Args:
        workflow_id: The workflow.
        timeout: Seconds to wait for its first question.
    """
    asked: dict[str, str] | None = DBOS.get_event(workflow_id, QUESTION, timeout)
    return asked


def approve(workflow_id: str, question_id: str, allow: bool, client: DBOSClient | None = None) -> None:
    """Answer a question of a workflow, which may wait for it or come to it later; the first answer counts.

    Args:
        workflow_id: The workflow.
        question_id: The ``id`` of its :func:`question`.
        allow: Whether the call may be made.
        client: Sends it, in a program that has not launched DBOS.
    """
    send = DBOS.send if client is None else client.send
    send(workflow_id, allow, f"{QUESTION} {question_id}")


def go_on(workflow_id: str) -> WorkflowHandle[dict[str, Any]]:
    """Let a workflow go on that an error has ended, such as a call of which a person had to say whether it was made.

    What is recorded stays. DBOS's ``fork_workflow`` is another run, which makes the effects of this one anew.
    """
    good = [step["function_id"] for step in DBOS.list_workflow_steps(workflow_id) if step["error"] is None]
    handle: WorkflowHandle[dict[str, Any]] = DBOS.rewind_workflow(workflow_id, start_step=1 + max(good, default=0))
    return handle
