"""Scripted models that know the answers: they write what a perfect bundled tool LM would."""

from collections.abc import Callable

from envs.gsm_hard.problem import Problem
from envs.gsm_hard.words import argument_token, delexicalise
from envs.musique.question import Question
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM


def spaced(words: list[str]) -> str:
    return "".join(f"{word} " for word in words)


def made(prompt: str) -> int:
    """How many calls stand in ``got:``."""
    return prompt.split("got: ", 1)[1].split("failed:", 1)[0].count(" ;")


def arithmetic_script(problem: Problem, variant: str = "v1") -> ScriptedLM:
    assert problem.program is not None
    words = delexicalise(problem.text)
    calls = [[step.kind, variant, *(argument_token(arg, words) for arg in step.args)] for step in problem.program]
    return ScriptedLM(_replies(calls), prompt_format="tools", obey=True)


def look_up_script(question: Question, read: Callable[[Request], str], variant: str = "v5") -> ScriptedLM:
    """Plans the question's hops; ``read`` answers where passages are read."""
    assert question.hops is not None
    calls = [["search", variant, relation, s if s.startswith("#") else "e1"] for relation, s in question.hops]
    reply = _replies(calls)
    return ScriptedLM(
        lambda request, sample: read(request) if request.role == "project" else reply(request, sample),
        prompt_format="tools",
        obey=True,
    )


def _replies(calls: list[list[str]]) -> Callable[[Request, int], str]:
    def reply(request: Request, sample: int) -> str:
        del sample
        assert isinstance(request.prompt, str)
        done = made(request.prompt)
        final = ["answer", f"#{len(calls)}"]
        if request.role == "score":
            right = spaced(final) in request.prompt.split("<score>")[1]
            return "right " if right else "wrong "
        if request.role == "act" and " plan: " in request.prompt:
            hint = request.prompt.split(" plan: ", 1)[1].removesuffix(" -> ")
            return f"{hint.split(' ; ', 1)[0]} "
        rest = [*calls[done:], final]
        if request.role == "act":
            return spaced(rest[0])
        return spaced([word for i, call in enumerate(rest) for word in ([";"] if i else []) + call])

    return reply
