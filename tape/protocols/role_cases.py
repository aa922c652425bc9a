"""Small cases with known answers, by which it is measured what a model can do in each role of an environment."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tape.errors import InvalidOutputError, TapeError, UnknownNameError
from tape.lm.base import Choice, Request
from tape.protocols.prompt_format import OfferedPath, PromptFormat
from tape.protocols.types import Action, Plan, State

R = TypeVar("R")


@dataclass(frozen=True)
class Judged:
    """What an answer is.

    Attributes:
        valid: It could be read, and could be acted on.
        right: It is right; what is right is valid.
        why: What is wrong, in a few words; empty where it is right.
    """

    valid: bool
    right: bool
    why: str = ""


@dataclass(frozen=True)
class RoleCase:
    """One request with a known answer.

    Attributes:
        role: Who asks, as :attr:`tape.lm.base.Request.role`: ``plan``, ``act``, ``next``, ``rollout``, ``score``,
            ``select``, ``project`` (what a text says), ``answer`` and what else an environment asks.
        id: Unique within environment and role.
        request: As the environment's prompt format makes it, for one greedy answer.
        judge: Whether the text of an answer can be read and is right; never raises.
        ideal: A right answer, which the request's constraint admits.
        chance: The share right by guessing among the options; None where there are too many to guess.
    """

    role: str
    id: str
    request: Request
    judge: Callable[[str], Judged]
    ideal: str
    chance: float | None = None

    @property
    def scored(self) -> bool:
        """Whether the engine compares the probabilities of the options; else it has one of them written."""
        return self.role == "score"


def judged_by(read: Callable[[str], R], right: Callable[[R], bool | str]) -> Callable[[str], Judged]:
    """A judge of what is read first.

    Args:
        read: Reads an answer; raises a :class:`tape.errors.TapeError` where it cannot be read.
        right: Whether what was read is right; a text says why it is not.
    """

    def judge(text: str) -> Judged:
        try:
            found = read(text)
        except TapeError as error:
            return Judged(False, False, str(error)[:200])
        verdict = right(found)
        if isinstance(verdict, str):
            return Judged(True, False, verdict)
        return Judged(True, verdict, "" if verdict else f"{found!s:.200}")

    return judge


def judged_plan(form: PromptFormat, state: State, right: Callable[[Plan], bool | str]) -> Callable[[str], Judged]:
    """A judge of plans; what is not a whole plan is not valid.

    Args:
        form: Reads them.
        state: Where they begin.
        right: As for :func:`judged_by`; of plans that could be read as a whole.
    """

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


def judged_act(form: PromptFormat, state: State, right: Callable[[Action], bool | str]) -> Callable[[str], Judged]:
    """A judge of the action that is taken, whatever was thought before.

    Args:
        form: Reads it.
        state: Where it is taken.
        right: As for :func:`judged_by`; of the action.
    """
    return judged_by(lambda text: form.read_act(state, text)[1], right)


def choice_case(role: str, name: str, request: Request, truth: str) -> RoleCase:
    """A case whose answer is one of its request's options.

    Args:
        role: Who asks.
        name: The case's id.
        request: With a :class:`tape.lm.base.Choice`.
        truth: The option that is right.
    """
    assert isinstance(request.constraint, Choice), "the answer is chosen"
    options = request.constraint.options
    assert truth in options, f"{truth!r} can be chosen"

    def read(text: str) -> str:
        if text.strip() not in options:
            raise InvalidOutputError(f"none of the options: {text[:80]!r}")
        return text.strip()

    judge = judged_by(read, lambda said: said == truth or f"said {said}, is {truth}")
    return RoleCase(role, name, request, judge, truth, 1 / len(options))


def select_case(
    name: str,
    form: PromptFormat,
    state: State,
    paths: Sequence[OfferedPath],
    remaining: Mapping[str, int],
    rng: random.Random,
) -> RoleCase:
    """A case of paths in a random order.

    Args:
        name: The case's id.
        form: Asks which path is best.
        state: Where they begin.
        paths: The first is the best.
        remaining: Counts left of each capped resource.
        rng: Draws the order.
    """
    order = rng.sample(range(len(paths)), len(paths))
    request = form.select_request(state, [paths[i] for i in order], remaining)
    return choice_case("select", name, request, str(order.index(0) + 1))


def offered_path(
    actions: Sequence[Action],
    nodes: Sequence[str],
    scores: Sequence[float] = (),
    *,
    goal: bool = True,
    confidence: float = 1.0,
    cost: Mapping[str, int] | None = None,
) -> OfferedPath:
    """A path as the engine shows it.

    Args:
        actions: At least one.
        nodes: A name of the node that each leads to.
        scores: Of the nodes; without them every path ends alike, so that the model has to judge the actions.
        goal: Whether the last node was scored as a goal.
        confidence: In the least certain prediction.
        cost: Counts of each resource, all actions together; as many steps as actions without it.
    """
    alike = (*(0.1 for _ in actions[1:]), 1.0)
    needs = {"steps": len(actions)} if cost is None else cost
    return OfferedPath(tuple(actions), tuple(nodes), tuple(scores) or alike, goal, confidence, needs)


def numbered_nodes(number: int, actions: Sequence[Action]) -> list[str]:
    """Names of nodes that the path of this number shares with no other."""
    return [f"s{number}{step}" for step, _ in enumerate(actions, 1)]


def chat_only(prompts: str) -> None:
    """Check the prompt format of cases that are made for general models alone.

    Raises:
        UnknownNameError: It is another one.
    """
    if prompts != "chat":
        raise UnknownNameError("prompt format of these cases", prompts, ["chat"])
