"""The same kills for other frameworks, as their documentation has it: ``python -m experiments.effects rivals --help``.

LangGraph plays a graph of a model and a node of tools with its saver for PostgreSQL, ``durability="sync"``, and goes on
with ``invoke(None)``. pydantic-ai runs in a workflow of DBOS, with ``DBOSDurability`` and each tool as a step, and DBOS
goes on by itself. Models are scripted, and call one tool a turn. Where the receiver knows keys, a tool passes the one
that its framework keeps over a crash: the thread and the id of the call, or the workflow and the step. Where the
receiver can be asked, the tool asks it before it sends.
"""

from __future__ import annotations

import argparse
import logging
import random
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.effects.campaign import DONE, KINDS, Campaign, Job, tell
from experiments.effects.kill import ask

AT_ONCE = 4
"""Runs: there is no lease to wait for."""


def send(job: Job, kind: str, to: str, key: str) -> str:
    """Make an effect; where the receiver can be asked whether it is made, after that."""
    body = {"run": job.run, "kind": kind, "to": to, "key": key}
    if kind != "outcome" or not ask(f"{job.receiver}/made", **body)["made"]:
        ask(f"{job.receiver}/make", **body)
    return f"sent to {to}"


def next_effect(job: Job, done: int, rng: random.Random) -> tuple[str, dict[str, str]] | None:
    """What a scripted model calls next, worded anew each time; None at the end."""
    if done >= len(job.plan):
        return None
    kind, to = job.plan[done]
    return kind, {"to": to, "text": rng.choice(("Dear Ann", "Hello Ann"))}


def langgraph(job: Job) -> int:
    """Play a run by LangGraph, or go on with it."""
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import tool
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition

    rng = random.Random(job.seed)

    def model(state: MessagesState) -> dict[str, Any]:
        done = sum(isinstance(message, ToolMessage) for message in state["messages"])
        following = next_effect(job, done, rng)
        if following is None:
            return {"messages": [AIMessage("done")]}
        call = {"name": following[0], "args": following[1], "id": uuid.uuid4().hex}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def of_kind(kind: str) -> Any:
        def function(to: str, text: str, runtime: ToolRuntime) -> str:
            return f"{text}: {send(job, kind, to, f'{job.run}/{runtime.tool_call_id}')}"

        function.__name__ = kind
        function.__annotations__ = {"to": str, "text": str, "runtime": ToolRuntime, "return": str}
        return tool(function, description="Send something.")

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([of_kind(kind) for kind in KINDS]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    with PostgresSaver.from_conn_string(job.store) as saver:
        app = graph.compile(checkpointer=saver)
        config: RunnableConfig = {"configurable": {"thread_id": job.run}, "recursion_limit": 100}
        begun = bool(app.get_state(config).values or app.get_state(config).next)
        app.invoke(None if begun else {"messages": [("user", "Send all.")]}, config, durability="sync")
    return DONE


def dbos(job: Job) -> int:
    """Play a run by pydantic-ai under DBOS, or go on with it."""
    logging.disable(logging.CRITICAL)
    from dbos import DBOS, SetWorkflowID
    from pydantic_ai import Agent
    from pydantic_ai.durable_exec.dbos import DBOSDurability
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    rng = random.Random(job.seed)
    DBOS(
        config={
            "name": "rivals", "system_database_url": job.store, "executor_id": job.run, "log_level": "CRITICAL",
            # A worker takes up any workflow of its version; those of other runs have workers of their own.
            "application_version": job.run,
        }
    )  # fmt: skip

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        following = next_effect(job, done, rng)
        return ModelResponse([TextPart("done") if following is None else ToolCallPart(*following)])

    def of_kind(kind: str) -> Callable[..., str]:
        def function(to: str, text: str) -> str:
            """Send something."""
            return f"{text}: {send(job, kind, to, f'{DBOS.workflow_id}/{DBOS.step_id}')}"

        function.__name__ = function.__qualname__ = kind
        step: Callable[..., str] = DBOS.step(name=kind)(function)
        return step

    tools = [of_kind(kind) for kind in KINDS]
    agent = Agent(FunctionModel(model), name="sender", tools=tools, capabilities=[DBOSDurability()])

    def play(task: str, run: str) -> str:
        assert run == job.run, "no worker plays the run of another one"
        return str(agent.run_sync(task).output)

    workflow: Callable[[str, str], str] = DBOS.workflow(name="run")(play)
    DBOS.launch()
    with SetWorkflowID(job.run):
        workflow("Send all.", job.run)
    DBOS.destroy()
    return DONE


class LanggraphCampaign(Campaign):
    """Kills workers that run LangGraph."""

    player = staticmethod(langgraph)
    preloaded = (
        "langgraph.prebuilt", "langgraph.checkpoint.postgres", "langchain_core.tools", "psycopg_binary",
        "encodings.idna",
    )  # fmt: skip
    system, packages = "LangGraph", ("langgraph", "langgraph-checkpoint-postgres")
    traced, twins = False, 0.0

    def prepare(self) -> None:
        """Make the saver's tables."""
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(self._store) as saver:
            saver.setup()


class DbosCampaign(Campaign):
    """Kills workers that run pydantic-ai under DBOS."""

    player = staticmethod(dbos)
    preloaded = ("dbos", "pydantic_ai.durable_exec.dbos", "pydantic_ai.models.function", "encodings.idna")
    system, packages = "pydantic-ai under DBOS", ("pydantic-ai-slim", "dbos")
    traced, twins = False, 0.0

    def prepare(self) -> None:
        """Make the tables of DBOS, as its command line does."""
        command = [str(Path(sys.executable).with_name("dbos")), "migrate", "--sys-db-url", self._store]
        subprocess.run(command, check=True, capture_output=True)


CAMPAIGNS: dict[str, type[Campaign]] = {"langgraph": LanggraphCampaign, "dbos": DbosCampaign}


def main(argv: Sequence[str] | None = None) -> int:
    """Kill, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.effects rivals", description=__doc__)
    parser.add_argument("rival", choices=CAMPAIGNS)
    parser.add_argument("--store", required=True, help="an empty database: postgresql://user@host/database")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file")
    args = parser.parse_args(argv)
    kind = CAMPAIGNS[args.rival]
    with tempfile.TemporaryDirectory() as folder:
        campaign = kind(args.store, args.kills, args.seed, Path(folder), AT_ONCE)
        campaign.prepare()
        tell({"store": "PostgreSQL", **campaign.run()}, args.out)
    return 0
