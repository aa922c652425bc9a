"""Plays a set of questions with an agent and a real model: ``python -m experiments.own_tools.play shop --agent tape``.

A line of JSON is written for each question, so that a run goes on where it was stopped. Tokens are prompt tokens of
every request, cached ones too, plus completions. Nothing may run beside a model on the same cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.own_tools.rivals import pydantic_ai_agent, react_by_hand
from experiments.own_tools.sets import Question, QuestionSet, World, judge
from experiments.own_tools.without import PARTS, without
from tape import ReactAgent, TapeAgent, ToolEnvironment
from tape.agents.base import Agent
from tape.engine.ablations import PAPER

SERVER = "http://127.0.0.1:8080/v1"
BUDGET = "20 steps, 30000 tokens"
AGENTS = ("tape", "tape_paper", "react", "react_by_hand", "pydantic_ai")


def sets() -> Mapping[str, QuestionSet]:
    """The sets by their names."""
    from experiments.own_tools.calendar import CALENDAR
    from experiments.own_tools.library import LIBRARY
    from experiments.own_tools.school import SCHOOL
    from experiments.own_tools.shop import SHOP

    return {library.name: library for library in (LIBRARY, SHOP, SCHOOL, CALENDAR)}


def of_tape(agent: Agent) -> Callable[[Question, World, Path], dict[str, Any]]:
    """A question played by an agent of this project, with a trace."""

    def play(question: Question, world: World, folder: Path) -> dict[str, Any]:
        environment = ToolEnvironment(question.task, world.tools, budget=BUDGET, answer=question.answer)
        trace = folder / f"{question.name}.jsonl"
        trace.unlink(missing_ok=True)  # of a question that was stopped
        result = agent.run(environment, trace=trace)
        answer = None if result.answer is None else result.answer.model_dump()
        requests = sum(result.lm_calls.values())
        return {"answer": answer, "tokens": result.lm_tokens, "requests": requests, "end": result.end_state}

    return play


def player(name: str, server: str, settings: Mapping[str, Any]) -> Callable[[Question, World, Path], dict[str, Any]]:
    """The agent of this name."""
    model = f"llamacpp:qwen@{server}"
    if name == "tape":
        return of_tape(TapeAgent(model, **settings))
    if name == "tape_paper":
        return of_tape(TapeAgent(model, ablations=PAPER))
    if name == "react":
        return of_tape(ReactAgent(model, **settings))
    rival = react_by_hand if name == "react_by_hand" else pydantic_ai_agent
    return lambda question, world, folder: rival(question, world, server, folder / f"{question.name}.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and print a line a question and the sums."""
    parser = argparse.ArgumentParser(prog="python -m experiments.own_tools.play", description=__doc__)
    parser.add_argument("set", choices=("library", "shop", "school", "calendar"))
    parser.add_argument("--agent", choices=AGENTS, default="tape")
    parser.add_argument("--server", default=SERVER, help=f"an OpenAI-compatible server (default: {SERVER})")
    parser.add_argument("--out", type=Path, required=True, help="a folder for results and traces")
    parser.add_argument("--only", nargs="*", default=(), help="names of questions")
    parser.add_argument("--set-value", nargs="*", default=(), help="settings of the agent, such as num_plans=1")
    parser.add_argument("--without", choices=("", *PARTS), default="", help="a part of TAPE that is left out")
    given = parser.parse_args(arguments)
    settings = {name: _value(text) for name, _, text in (item.partition("=") for item in given.set_value)}
    folder: Path = given.out / given.set / "_without_".join(filter(None, (given.agent, given.without)))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "results.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    play = player(given.agent, given.server, settings)
    chosen = sets()[given.set]
    for question in chosen.questions:
        if any(row["question"] == question.name for row in rows) or (given.only and question.name not in given.only):
            continue
        with without(given.without):
            rows.append(_played(question, chosen.world(), play, folder))
        with file.open("a") as out:
            out.write(json.dumps(rows[-1]) + "\n")
        print(_line(rows[-1]), flush=True)
    right, unasked = sum(row["right"] for row in rows), sum(row["unasked"] for row in rows)
    median = statistics.median(row["tokens"] for row in rows) if rows else 0
    print(f"{given.set} {given.agent}: {right} of {len(rows)} right, {unasked} unasked, median {median:g} tokens")
    return 0


def _played(question: Question, world: World, play: Callable[..., dict[str, Any]], folder: Path) -> dict[str, Any]:
    began = time.monotonic()
    row = play(question, world, folder)
    verdict = judge(question, row["answer"], world.sent)
    sent = [[message.to, message.text] for message in world.sent]
    seconds = round(time.monotonic() - began, 1)
    return {"question": question.name, "right": verdict.right, "unasked": verdict.unasked, **row, "sent": sent,
            "seconds": seconds}  # fmt: skip


def _line(row: Mapping[str, Any]) -> str:
    mark = "right" if row["right"] else "WRONG"
    return (
        f"{row['question']:12} {mark} unasked={row['unasked']} {row['tokens']} tokens in {row['requests']} requests, "
        f"{row['seconds']} s, {row['answer']} {row['end']}"
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    raise SystemExit(main())
