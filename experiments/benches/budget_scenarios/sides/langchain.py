"""LangChain: its middleware of call limits, and the middleware of ``tape.integrations.langchain``."""

import asyncio
from typing import Any

from experiments.benches.budget_scenarios.scenarios import COMPLETION_TOKENS, MODEL, USER
from experiments.benches.budget_scenarios.side import Job, LimitError, ToolError, main
from tape.gateway.guard import Guard

LIMITS = {"calls": "ModelCallLimitMiddleware(thread_limit)", "steps": "ToolCallLimitMiddleware(thread_limit)"}
_KEPT: list[Any] = []
"""The checkpointer that runs of one process share: a thread's limits count over its runs."""


async def play(job: Job, guard: Guard | None) -> str:
    """Run the agent once."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import ModelCallLimitMiddleware, ToolCallLimitMiddleware, ToolRetryMiddleware
    from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
    from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
    from langchain_core.tools import ToolException, tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    from tape.integrations.langchain import GuardMiddleware

    if not _KEPT:
        _KEPT.append(InMemorySaver())

    @tool
    async def look(place: str) -> str:
        """Look at a place."""
        try:
            return await asyncio.to_thread(job.look, place)
        except ToolError as error:
            raise ToolException(str(error)) from error

    look.handle_tool_error = job.plan.retries == 0

    def agent(tools: list[Any], guard: Guard | None) -> Any:
        middleware: list[Any] = []
        if (calls := job.cap("calls")) is not None:
            middleware.append(ModelCallLimitMiddleware(thread_limit=int(calls), exit_behavior="error"))
        if (steps := job.cap("steps")) is not None:
            middleware.append(ToolCallLimitMiddleware(thread_limit=int(steps), exit_behavior="error"))
        if job.plan.retries:
            middleware.append(
                ToolRetryMiddleware(max_retries=job.plan.retries, on_failure="continue", initial_delay=0.01)
            )
        if guard is not None:
            middleware.append(GuardMiddleware(guard))
        model = ChatOpenAI(
            model=MODEL, base_url=job.model_url, api_key="scripted", max_tokens=COMPLETION_TOKENS, max_retries=0,
            streaming=job.plan.stream,
        )  # fmt: skip
        return create_agent(model, tools, middleware=middleware, checkpointer=_KEPT[0])

    tools = [look]
    if job.plan.nested:
        inner = agent([look], None if guard is None else guard.within("calls=1000", name="research"))

        @tool
        async def research(question: str) -> str:
            """Ask somebody who can look at places."""
            said = await inner.ainvoke({"messages": [("user", question + USER)]}, {"configurable": {"thread_id": "in"}})
            return str(said["messages"][-1].text)

        tools = [research]
    try:
        settings = {"configurable": {"thread_id": "out"}, "recursion_limit": 1000}
        said = await agent(tools, guard).ainvoke({"messages": [("user", USER)]}, settings)
    except (ModelCallLimitExceededError, ToolCallLimitExceededError) as error:
        raise LimitError(str(error)) from error
    return str(said["messages"][-1].text)


if __name__ == "__main__":
    main(play)
