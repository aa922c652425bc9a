"""Scripted models that know the answers: they write what a perfect general model would."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from envs.gsm_hard.problem import Problem
from envs.musique.question import Question
from envs.musique.words import query_text
from tape.lm.base import JsonSchema, Request
from tape.lm.scripted import ScriptedLM
from tape.tools.calls import parse
from tests.tape.tools.helpers import asked, fixed_action

NAMES = ("a", "b")
"""The parameters of the arithmetic tools."""


def arithmetic_script(problem: Problem, variant: str = "quick") -> ScriptedLM:
    assert problem.program is not None
    calls = [
        {"tool": f"{step.kind}.{variant}", "arguments": dict(zip(NAMES, step.args, strict=False))}
        for step in problem.program
    ]
    return ScriptedLM(_replies(calls, lambda _: ""), obey=True)


def look_up_script(question: Question, read: Callable[[Request], str], variant: str = "v5") -> ScriptedLM:
    """Plans the question's hops; ``read`` says what is read in passages, nothing where they do not say."""
    assert question.hops is not None
    calls = [
        {"tool": f"search.{variant}", "arguments": {"query": query_text(relation, subject)}}
        for relation, subject in question.hops
    ]
    return ScriptedLM(_replies(calls, read), obey=True)


def split_script(question: Question) -> ScriptedLM:
    """Splits a question into its hops, whatever else is left to somebody else."""
    hops = question.hops
    assert hops is not None

    def reply(request: Request, sample: int) -> str:
        del sample
        assert request.role == "propose", "only sub-questions are asked for"
        assert isinstance(request.constraint, JsonSchema)
        left = hops[-len(request.constraint.model.model_fields) :]
        return json.dumps({str(number): query_text(*hop) for number, hop in enumerate(left, 1)})

    return ScriptedLM(reply, obey=True)


def _replies(calls: Sequence[dict[str, Any]], read: Callable[[Request], str]) -> Callable[[Request, int], str]:
    final = f"#{len(calls)}"

    def act(request: Request) -> str:
        fixed = fixed_action(request)
        if fixed is not None:
            return json.dumps({"thought": "as planned", "action": fixed})
        planned = re.search(r"^A plan for what is left:\n(.+)$", asked(request), re.MULTILINE)
        if planned is not None:
            made = parse(planned[1])
            arguments = {key: json.loads(value) if value[:1] != "#" else value for key, value in made.args}
            return json.dumps({"thought": "as planned", "call": {"tool": made.tool, "arguments": arguments}})
        rest = [*calls[_done(request) :], {"tool": "answer", "arguments": {"value": final}}]
        return json.dumps({"thought": "next", "call": rest[0]})

    def reply(request: Request, sample: int) -> str:
        del sample
        if request.role == "plan":
            return json.dumps({"thought": "so", "calls": calls[_done(request) :], "answer": final})
        if request.role == "score":
            return "right" if f"and the answer {final}." in asked(request) else "wrong"
        if request.role == "project":
            return json.dumps({"quote": "", "answer": read(request)})
        return {"act": act, "select": lambda _: "1", "answer": lambda _: json.dumps({"answer": final})}[request.role](
            request
        )

    return reply


def _done(request: Request) -> int:
    """How many calls have succeeded."""
    return len(re.findall(r"^#\d+ \S+\(", asked(request), re.MULTILINE))
