"""Small cases with known answers, to measure a model in each role of an environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tape.errors import InvalidOutputError, TapeError, UnknownNameError
from tape.lm.base import OneOf, Request
from tape.lm.reading import Reading
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.types import Action, Plan, State

R = TypeVar("R")


@dataclass(frozen=True)
class JudgedAnswer:
    """The verdict on an answer.

    Attributes:
        valid: It could be read, and could be acted on.
        right: It is right; right answers are valid.
        why: The error in a few words; empty if it is right.
    """

    valid: bool
    right: bool
    why: str = ""


@dataclass(frozen=True)
class RoleCase:
    """One request with a known answer.

    Attributes:
        role: As :attr:`tape.lm.base.Request.role`: ``plan``, ``act``, ``next``, ``rollout``, ``score``,
            ``project`` (reading a text), ``answer`` and further roles of an environment.
        id: Unique within environment and role.
        request: A request of the environment's prompt format, for one greedy answer.
        judge: Judges the text of an answer; never raises.
        ideal: A right answer, which the request's constraint admits.
        chance: The share right by guessing among the options; None if there are too many to guess.
        reading: The same from both sides, for models that weigh options.
    """

    role: str
    id: str
    request: Request
    judge: Callable[[str], JudgedAnswer]
    ideal: str
    chance: float | None = None
    reading: Reading | None = None

    @property
    def scored(self) -> bool:
        """Whether the engine compares the probabilities of the options; else the model writes one of them."""
        return self.role == "score"


def judged_by(read: Callable[[str], R], right: Callable[[R], bool | str]) -> Callable[[str], JudgedAnswer]:
    """A judge that reads an answer first.

    Args:
        read: Reads an answer; raises a :class:`tape.errors.TapeError` if it cannot be read.
        right: Whether the result is right; a text is the reason why it is not.
    """

    def judge(text: str) -> JudgedAnswer:
        try:
            item = read(text)
        except TapeError as error:
            return JudgedAnswer(False, False, str(error)[:200])
        verdict = right(item)
        if isinstance(verdict, str):
            return JudgedAnswer(True, False, verdict)
        return JudgedAnswer(True, verdict, "" if verdict else f"{item!s:.200}")

    return judge


def judged_plan(form: PromptFormat, state: State, right: Callable[[Plan], bool | str]) -> Callable[[str], JudgedAnswer]:
    """A judge of plans from a state; incomplete plans are not valid. ``right`` is that of :func:`judged_by`."""

    def read(text: str) -> Plan:
        plan = form.read_plan(state, text)
        if not plan.valid:
            raise InvalidOutputError(f"not a whole plan: {_steps(plan) or 'no action can be read'}")
        return plan

    def judge(plan: Plan) -> bool | str:
        verdict = right(plan)
        return verdict if verdict else _steps(plan)

    return judged_by(read, judge)


def _steps(plan: Plan) -> str:
    return "; ".join(plan.actions)[:200]


def judged_act(
    form: PromptFormat, state: State, right: Callable[[Action], bool | str]
) -> Callable[[str], JudgedAnswer]:
    """A judge of the action written in a state; thoughts are ignored. ``right`` is that of :func:`judged_by`."""
    return judged_by(lambda text: form.read_act(state, text)[1], right)


def choice_case(role: str, name: str, request: Request, truth: str) -> RoleCase:
    """A case whose right answer ``truth`` is one of the options of its request's :class:`tape.lm.base.OneOf`."""
    assert isinstance(request.constraint, OneOf), "the answer is chosen"
    options = request.constraint.options
    assert truth in options, f"{truth!r} can be chosen"

    def read(text: str) -> str:
        if text.strip() not in options:
            raise InvalidOutputError(f"none of the options: {text[:80]!r}")
        return text.strip()

    judge = judged_by(read, lambda result: result == truth or f"said {result}, is {truth}")
    return RoleCase(role, name, request, judge, truth, 1 / len(options))


def chat_only(prompts: str) -> None:
    """Refuse another prompt format than ``chat`` for cases of general models.

    Raises:
        UnknownNameError: It is another one.
    """
    if prompts != "chat":
        raise UnknownNameError("prompt format of these cases", prompts, ["chat"])
