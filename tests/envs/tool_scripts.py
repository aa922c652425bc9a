"""Scripted models that know the answers: they write what a perfect general model would."""

import json
import re
from collections.abc import Callable, Sequence

from envs.gsm_hard.problem import Problem
from envs.musique.question import MusiqueQuestion
from envs.musique.wordings import query_text
from tape.lm.base import JsonSchema, Request
from tape.lm.scripted import ScriptedLM
from tape.tools.calls import Call, call
from tape.tools.role_cases import program_text
from tests.tape.tools.helpers import asked, fixed_action, obtained, prompt

NAMES = ("a", "b")
"""The parameters of the arithmetic tools."""


def arithmetic_script(problem: Problem, variant: str = "quick") -> ScriptedLM:
    assert problem.program is not None
    calls = [call(step.kind, variant, **dict(zip(NAMES, step.args, strict=False))) for step in problem.program]
    return ScriptedLM(_replies(calls, lambda _: ""), obey=True)


def look_up_script(question: MusiqueQuestion, read: Callable[[Request], str], variant: str = "v5") -> ScriptedLM:
    """Plans the question's hops; ``read`` says what is read in passages, nothing where they do not say."""
    assert question.hops is not None
    calls = [call("search", variant, query=query_text(relation, subject)) for relation, subject in question.hops]
    return ScriptedLM(_replies(calls, read), obey=True)


def split_script(question: MusiqueQuestion) -> ScriptedLM:
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


def _replies(calls: Sequence[Call], read: Callable[[Request], str]) -> Callable[[Request, int], str]:
    final = f"#{len(calls)}"

    def act(request: Request) -> str:
        fixed = fixed_action(request)
        planned = re.search(r"^A plan for what is left:\n(.+)$", asked(request), re.MULTILINE)
        if fixed is not None or planned is not None:
            return fixed or planned[1]  # type: ignore[index]
        return program_text(calls, final, each=_each(request)).split("\n")[len(obtained(request))]

    def reply(request: Request, sample: int) -> str:
        del sample
        if request.role == "plan":
            lines = program_text(calls, final, each=_each(request)).split("\n")
            return "\n".join(lines[len(obtained(request)) :])
        if request.role == "score":
            return "right" if f"and the answer {final}." in asked(request) else "wrong"
        if request.role == "project":
            return json.dumps({"quote": "", "answer": read(request)})
        return {"act": act, "select": lambda _: "1", "answer": lambda _: f"answer(r{len(calls)})"}[request.role](
            request
        )

    return reply


def _each(request: Request) -> bool:
    """Whether the prompt names every variant; else a kind has one name."""
    return re.search(r"^def (add|subtract|multiply|divide|search)_", prompt(request), re.MULTILINE) is not None
