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
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from tape.agents.base import Agent
from tape.approval import When
from tape.budget import Budget, Cap, StorePayer
from tape.budget.claims import LEASE
from tape.budget.contract import LedgerStore
from tape.budget.deadline import KIND as WALL
from tape.errors import ConfigError
from tape.lm.base import for_run
from tape.plugins import require_extra
from tape.waiting import run_sync

require_extra("dbos", "dbos", what="agents as workflows of DBOS")

from dbos import DBOS, DBOSClient, WorkflowHandle

from tape.adapters.dbos_run import QUESTION, DurableLM, DurableRun, DurableTools

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
        scope: Who pays; each workflow from a scope below it of its own, ``SCOPE/ID``, where its budget is a cap. So the
            budget holds for calls too that a killed worker made in vain.
        name: Of the workflow; it stays over deployments.
        deps: What the tools get.
        approvals: A person is asked about destructive calls (:func:`question`, :func:`approve`).
        approve_when: Selects further calls to ask about.
        patience: Seconds until a question without an answer is taken for refused.
        lease: Seconds of a claim, after which a recovered workflow takes over a call that was under way.

    Raises:
        ConfigError: The agent has no tools, runs calls at once, plans on copies, or its model learns from its answers.

    Examples:
        >>> from tape import TapeAgent, tool
        >>> from tape.adapters.dbos import DurableAgent
        >>> from tape.budget import open_store
        >>> from tape.lm.scripted import ScriptedLM
        >>> @tool(usd="0.30", key=("order",))
        ... def pay(order: int) -> str:
        ...     "Pay an order."
        ...     return f"receipt of order {order}"
        >>> agent = TapeAgent(ScriptedLM(["answer(pay(order=7))"]), tools=[pay])
        >>> payer = DurableAgent(agent, open_store("memory:"), "org/payments", name="pay an order")
        >>> payer.workflow.__name__  # after DBOS.launch(): DBOS.start_workflow(payer.workflow, "Pay order 7.", "$0.50")
        'workflow'
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

        @DBOS.workflow(name=self.name)  # type: ignore[untyped-decorator]
        def workflow(task: str, budget: str = "", seed: int = 0) -> dict[str, Any]:
            return self._played(task, Budget.read(budget or None), seed)

        object.__setattr__(self, "workflow", workflow)

    def _played(self, task: str, budget: Budget, seed: int) -> dict[str, Any]:
        if WALL in budget:
            raise ConfigError(f"a recovered workflow cannot keep a cap on {WALL}; give the workflow a timeout of DBOS")
        id = DBOS.workflow_id
        assert id is not None, "this is called in a workflow"
        run = DurableRun(StorePayer(self.store, f"{self.scope}/{id}", lease=self.lease), id, self.patience)
        try:
            return run_sync(self._episode(run, task, budget, seed))
        except Exception as error:
            if ENDING in str(error):  # an error would end the workflow, which is to go on after the next launch
                raise asyncio.CancelledError("DBOS was shut down") from error
            raise
        finally:
            run.close()

    async def _episode(self, run: DurableRun, task: str, budget: Budget, seed: int) -> dict[str, Any]:
        model, tasks = DurableLM(self.agent.model, run), copy(self.agent.tasks)
        assert tasks is not None, "it was checked"
        tasks.kind = DurableTools
        if (begun := run.recorded("begun")) is None:
            first = await tasks.environment(task, self.deps, None, model)
            for kind, amount in budget.items():
                self.store.set_cap(Cap(run.scope, kind, amount), "tape", f"the budget of the workflow {run.id}")
            begun = run.record("begun", told=first.made_with().get("instructions", ""))
        env = await tasks.environment(task, self.deps, None, model, begun["told"])
        assert isinstance(env, DurableTools), "it is made as it was asked for"
        env.run, run.outcome = run, lambda: json.dumps(dict(env.outcome()))
        asks = self.approvals or self.approve_when is not None
        result = await self.agent.arun(
            env, model=model, payer=run, run=run.id, budget=budget, seed=seed,
            approve=run.approve if asks else None, approve_when=self.approve_when,
        )  # fmt: skip
        if run.fault is not None:
            raise run.fault
        return dict(result.model_dump(mode="json"))


def question(workflow_id: str, timeout: float = 0) -> dict[str, str] | None:
    """What a workflow asks a person now; None where it asks nothing.

    Args:
        workflow_id: The workflow.
        timeout: Seconds to wait for its first question.

    Returns:
        ``id``, for :func:`approve`; ``action``; ``text``, in which long values are cut; ``whole``, the action uncut.
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
