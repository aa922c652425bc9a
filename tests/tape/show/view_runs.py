"""Episodes and runs, made by hand, that the tests of the page show."""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tape import trace
from tape.budget import Budget, Resources
from tape.choice.graph import PlanGraph
from tape.engine.settings import TapeConfig
from tape.protocols import Task
from tape.protocols.result import EpisodeResult
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.trace import Event

WAYS = {
    # action: (from, to, micro-dollars)
    "search cheap": ("start", "rumour", 1_000),
    "search dear": ("start", "proof", 9_000),
    "ask a person": ("rumour", "answer", 4_000),
    "guess": ("rumour", "poor answer", 0),
    "write it up": ("proof", "signed answer", 1_000),
}
WORTH = {"answer": 0.8, "poor answer": 0.2, "signed answer": 1.0}
CAPS = {"steps": 6, "usd": 8_000}
FIRST = ["search cheap", "ask a person"]
"""The path of the first round."""


def graph(start: str = "start", *, without: Sequence[str] = ()) -> PlanGraph:
    """Ways to an answer; from another start, what is left of them."""
    plan_graph = PlanGraph()
    plan_graph.add_state(start)
    for action, (source, target, _) in WAYS.items():
        if action not in without and (source == start or start == "start"):
            plan_graph.fold([source, target], [action])
    for edge in plan_graph.edges():
        plan_graph.set_cost(edge.id, Resources({"steps": 1, "usd": WAYS[edge.action][2]}))
    for node in plan_graph.nodes:
        plan_graph.set_reward(node, WORTH.get(node, 0.0), goal=node in WORTH)
        if node not in WORTH:
            plan_graph.no_end(node)
    return plan_graph


def selected(
    on: PlanGraph, actions: Sequence[str], left: dict[str, int], start: str = "start"
) -> trace.PathSelectedEvent:
    """The selection of a path."""
    nodes, cost = [start], {"steps": 0, "usd": 0}
    for action in actions:
        edge = next(edge for edge in on.edges() if (edge.source, edge.action) == (nodes[-1], action))
        nodes.append(edge.target)
        cost = {kind: count + (edge.cost[kind] or 0) for kind, count in cost.items()}
    horizon = min(len(on.nodes), left["steps"])
    rewards = [on.attributes(node)["reward"] for node in nodes[1:]]
    objective = sum(rewards) + sum(rewards[-1:]) * (horizon - len(actions))
    problem = {"nodes": len(on.nodes), "edges": 5, "horizon": horizon, "budget": left, "confidence": 0.0}
    return trace.PathSelectedEvent(
        selector="labelling", status="OPTIMAL", partial=False, actions=list(actions), nodes=nodes, objective=objective,
        bound=objective, consumption=cost, problem=problem, seconds=0.001,
    )  # fmt: skip


def started(budget: dict[str, int] | None = None, task: str = "", **config: Any) -> trace.StartedEvent:
    """The beginning of an episode."""
    known = {"agent": "tape", "model": "none", "discount": 1.0, "horizon": None}
    return trace.StartedEvent(config=known | config, budget=CAPS if budget is None else budget, task=task, seed=0)


def acted(step: int, action: str, usd: int, key: str, left: dict[str, int], picture: str = "") -> list[Event]:
    """A step, what it cost, and what was seen then."""
    cost = {"steps": 1, "usd": usd}
    return [
        trace.LedgerEvent(what="reserve", purpose=f"step:{action}", amounts=dict(cost)),
        trace.LedgerEvent(what="settle", purpose=f"step:{action}", amounts=dict(cost)),
        trace.ActedEvent(step=step, action=action, text="as planned", planned=action, cost=dict(cost)),
        trace.ObservedEvent(step=step, key=key, picture=picture or f"at {key}", remaining=left),
    ]


def asked(role: str, prompt: str, *texts: str) -> trace.GeneratedEvent:
    """A request to the model."""
    parts = (trace.PromptPart(role="system", content="You plan."), trace.PromptPart(role="user", content=prompt))
    return trace.GeneratedEvent(role=role, prompt=parts, texts=texts, prompt_tokens=12, completion_tokens=5)


def episode(task: str = "Find out who rules Olemund.", *, success: bool = True) -> list[Event]:
    """Two planning rounds with a mismatch between them, an approval, and prompts."""
    first, second = graph(), graph("hint", without=WAYS)
    second.fold(["hint", "answer"], ["ask a person"])
    second.certify("start", "search cheap", "hint")
    second.contradict("start", "search cheap", "rumour")
    for edge in second.edges():
        second.set_cost(edge.id, Resources({"steps": 1, "usd": 4_000}))
    second.set_reward("answer", 0.8, goal=True)
    result = EpisodeResult(
        end_state="success" if success else "failure", success=success, steps=2, replans=1, mismatches=1,
        lm_calls={"plan": 2, "act": 1}, prompt_tokens={"plan": 24, "act": 12}, completion_tokens={"plan": 10, "act": 5},
        used={"steps": 2, "usd": 5_000, "tokens": 51}, budget=CAPS, actions=["search cheap", "ask a person"],
        detail="" if success else "the environment has ended without success", answer="Kaloris",
    )  # fmt: skip
    return [
        started(task=task),
        trace.ObservedEvent(step=0, key="start", picture="at start", remaining=CAPS),
        asked("plan", "Plan from the start.", "search cheap, ask a person", "search dear"),
        trace.LedgerEvent(what="settle", purpose="lm:plan", amounts={"tokens": 17}),
        trace.PlansSampledEvent(start="start", plans=[FIRST, ["search dear"]], valid=[True, False]),
        trace.MalformedEvent(role="plan", text="search dear ("),
        trace.GraphFoldedEvent(graph=first.to_dict(start="start")),
        selected(first, FIRST, CAPS),
        asked("act", "Write the action.", "search cheap"),
        *acted(1, "search cheap", 1_000, "hint", {"steps": 5, "usd": 7_000}),
        trace.MismatchEvent(step=1, predicted="rumour", observed="hint"),
        trace.ReplannedEvent(reason="mismatch", count=1),
        asked("plan", "Plan from the hint.", "ask a person"),
        trace.PlansSampledEvent(start="hint", plans=[["ask a person"]], valid=[True]),
        trace.GraphFoldedEvent(graph=second.to_dict(start="hint")),
        selected(second, ["ask a person"], {"steps": 5, "usd": 7_000}, "hint"),
        trace.ApprovalEvent(step=1, action="ask a person", decision="allowed", reason="destructive"),
        *acted(2, "ask a person", 4_000, "answer", {"steps": 4, "usd": 3_000}),
        trace.FinishedEvent(result=result.model_dump()),
    ]


REFUSED = "ask a person"


def refused_episode(decision: Literal["refused", "stopped"] = "refused") -> list[Event]:
    """An episode in which a person refused the second step, and the agent did without; or stopped it there."""
    first, second, left = graph(), graph("rumour"), {"steps": 5, "usd": 7_000}
    second.contradict("rumour", REFUSED, "answer")
    begun = [
        started(task="Find out who rules Olemund."),
        trace.ObservedEvent(step=0, key="start", picture="at start", remaining=CAPS),
        trace.GraphFoldedEvent(graph=first.to_dict(start="start")),
        selected(first, FIRST, CAPS),
        *acted(1, "search cheap", 1_000, "rumour", left),
        trace.ApprovalEvent(step=1, action=REFUSED, decision=decision, reason="destructive"),
    ]
    result = EpisodeResult(end_state="stopped", success=False, steps=1, used={"steps": 1, "usd": 1_000}, budget=CAPS)
    if decision == "stopped":
        return [*begun, trace.FinishedEvent(result=result.model_dump())]
    end = {"end_state": "success", "success": True, "steps": 2, "used": {"steps": 2, "usd": 1_000}}
    result = result.model_copy(update=end)
    return [
        *begun,
        trace.ReplannedEvent(reason="refused", count=1),
        trace.GraphFoldedEvent(graph=second.to_dict(start="rumour")),
        selected(second, ["guess"], left, "rumour"),
        *acted(2, "guess", 0, "poor answer", {"steps": 4, "usd": 7_000}),
        trace.FinishedEvent(result=result.model_dump()),
    ]


def write_trace(path: Path, events: Sequence[Event]) -> Path:
    """A trace file."""
    writer = trace.TraceWriter(path.stem, path, replace=True)
    for event in events:
        writer.write(event)
    writer.close()
    return path


def write_run(
    folder: Path,
    episodes: Sequence[Sequence[Event]],
    *,
    tasks: Sequence[str] = (),
    agent: str = "tape",
    repeats: int = 1,
) -> Path:
    """A run directory with these episodes, ``repeats`` of each task after another."""
    names = list(tasks) or [f"task {number}" for number in range(len(episodes) // repeats)]
    spec = RunSpec(
        environment="travelplanner", agent=agent, config=TapeConfig(), model="none", model_identity="none",
        budget=CAPS, repeats=repeats,
    )  # fmt: skip
    made = tuple(Task(id=name, level_set="by hand", budget=Budget(CAPS), digest=f"digest of {name}") for name in names)
    directory = RunDirectory(folder)
    directory.open([Configuration(agent, spec, made)])
    lines, traces = [], {}
    for number, events in enumerate(episodes):
        key, task = f"{agent}{number:04}", made[number // repeats]
        line: dict[str, Any] = {"key": key, "cell": agent, "environment": "travelplanner", "level_set": task.level_set}
        line |= {"task": task.id, "digest": task.digest, "repeat": number % repeats, "agent": agent, "model": "none"}
        lines.append(line | {"result": events[-1].result, "trace_hash": ""})
        traces[key] = write_trace(folder.parent / f"{key}.jsonl", events)
    directory.append(lines, traces)
    return folder


def index_of(page: str) -> dict[str, Any]:
    """What a page reads at once."""
    [text] = re.findall(r'<script type="application/json" id="index">(.*?)</script>', page)
    values: dict[str, Any] = json.loads(text)
    return values


def blocks_of(page: str) -> list[dict[str, Any]]:
    """The episodes of a page, unpacked."""
    matches = re.findall(r'<script type="application/octet-stream" id="episode-\d+">([A-Za-z0-9+/=]*)</script>', page)
    return [json.loads(zlib.decompress(base64.b64decode(text))) for text in matches]
