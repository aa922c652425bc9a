"""An agent as a tool of another one: a part of the caller's budget, its approvals passed up, its trace linked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_serializer

from tape.agents.tasks import TaskMaker
from tape.approval import ApprovalRequest
from tape.budget import Budget, BudgetLike, Resources
from tape.budget.deadline import KIND as WALL
from tape.budget.prices import Answer
from tape.errors import ConfigError
from tape.protocols.result import EpisodeResult
from tape.protocols.surroundings import nobody_is_asked
from tape.tools.context import ToolContext
from tape.tools.errors import ToolFailedError
from tape.tools.making import make_tool
from tape.tools.tool import Tool


class Delegate(Protocol):
    """What a sub-agent is: an agent with tools."""

    @property
    def tasks(self) -> TaskMaker[Any, Any] | None:
        """What it has for tasks in words."""

    async def arun(self, env: str, **options: Any) -> EpisodeResult:
        """Do a task."""


class Delegated(BaseModel):
    """The answer of a sub-agent, which is all that its caller sees, and what the run used."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    answer: Any
    used: Resources = Field(repr=False)

    @model_serializer(mode="plain")
    def _as_answer(self) -> Any:
        return self.answer.model_dump(mode="json") if isinstance(self.answer, BaseModel) else self.answer


@dataclass(frozen=True)
class DelegatedCost:
    """At most the part that a sub-agent is given; what its run used afterwards."""

    part: Resources

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The part."""
        del arguments
        return self.part

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What the run used."""
        del arguments
        return answer.structured.used if isinstance(answer.structured, Delegated) else self.part


def agent_tool(
    agent: Delegate, name: str, budget: BudgetLike, *, description: str = "", pure: bool = False,
    traces: Path | str | None = None,
) -> Tool:  # fmt: skip
    """See :meth:`tape.agents.base.Agent.as_tool`."""
    if agent.tasks is None:
        raise ConfigError(f"{name}: an agent that is a tool has tools of its own: {type(agent).__name__}(tools=[...])")
    caps = Budget.read(budget)
    if not caps.without(WALL):
        raise ConfigError(f"{name}: a sub-agent needs a budget, its part of the caller's: budget='$0.05, 8 steps'")

    async def delegate(ctx: ToolContext, task: str) -> Delegated:
        async def ask(request: ApprovalRequest) -> bool:
            return await ctx.ask_approval(f"{name}: {request.shown}")

        approve = None if ctx.ask_approval is nobody_is_asked else ask
        trace = None if traces is None else Path(traces) / f"{ctx.run or name}-{ctx.step}-{ctx.attempt}.jsonl"
        result = await agent.arun(
            task, deps=ctx.deps, budget=caps, approve=approve, trace=trace, caller=f"{ctx.run}/{ctx.step}"
        )
        used = Resources({kind: count for kind, count in result.used.items() if kind in caps})
        if not result.success:
            raise ToolFailedError(f"{name} has not done it: {result.end_state}: {result.detail}", used=used)
        return Delegated(answer=result.answer, used=used)

    delegate.__doc__ = description or f"Let {name} do a task, in words."
    part = Resources(dict(caps.without(WALL)))
    made = make_tool(delegate, kind=name, cost=DelegatedCost(part), pure=pure)
    return replace(made, needs=Any if agent.tasks.deps_type is None else agent.tasks.deps_type)
