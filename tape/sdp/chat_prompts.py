"""The four operators in words, for general instruction-tuned models; an environment overrides what it says better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tape.budget import amount_of
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, Request
from tape.protocols import Action
from tape.sdp.operators import Outcome
from tape.sdp.state import Attempt, CertifiedState, MarkovState
from tape.sdp.target import Chain, Fields, Target, Value

_STRICT = ConfigDict(extra="forbid")
_Answer = TypeVar("_Answer", bound=BaseModel)
_SHOWN = 5
"""Most failed attempts that a prompt repeats."""


class ChainAnswer(BaseModel):
    """A chain of predicates."""

    model_config = _STRICT
    predicates: list[str] = Field(min_length=1, max_length=40)


class ActionAnswer(BaseModel):
    """An action."""

    model_config = _STRICT
    thought: str = Field(max_length=300)
    action: str = Field(min_length=1, max_length=300)


class VerdictAnswer(BaseModel):
    """How many predicates hold."""

    model_config = _STRICT
    reason: str = Field(max_length=300)
    k: int = Field(ge=0)


class ChatPrompts:
    """Requests of the operators, and how their answers are read.

    Args:
        task: The task in words.
        goal: The goal predicate.
        rules: What a model has to know of the environment: its actions and their form.
        tokens: Most tokens of an answer.
    """

    def __init__(self, task: str, goal: Target, *, rules: str = "", tokens: int = 600) -> None:
        self.task, self.goal, self.rules, self._tokens = task, goal, rules, tokens

    # --- what an environment overrides ------------------------------------------------------

    def target(self, text: str) -> Target:
        """A target from a predicate in words."""
        return Target(text, "predicate")

    def notes(self, state: CertifiedState) -> Sequence[str]:
        """More lines for PROPOSE and REPLAN, for instance the places that there are."""
        del state
        return ()

    def seen(self, outcome: Outcome) -> Sequence[str]:
        """More lines for VALIDATE beside action and observation."""
        del outcome
        return ()

    # --- PROPOSE and REPLAN -----------------------------------------------------------------

    def chain_request(self, state: CertifiedState) -> Request:
        """Ask for a whole chain."""
        ask = (
            "Break the task into a chain of conditions that become true one after the other. Each is one statement "
            "about the world that a single look can confirm or refute, in the order in which they have to come true, "
            "neither a vague aim nor one for every small move. Leave out what is certified already and the goal itself."
        )
        return self._request("propose", [*_state(state), *self.notes(state), ask, _form(ChainAnswer)], ChainAnswer)

    def replan_request(self, at: MarkovState, history: Sequence[Attempt]) -> Request:
        """Ask for a new tail."""
        ask = (
            f"The condition {at.target.text!r} could not be brought about in {len(at.attempts)} attempts. Write a new "
            "chain of conditions from the present state to the goal that goes another way. Leave out what is certified."
        )
        lines = [*_state(at.state), *self.notes(at.state), *_failures(history), ask, _form(ChainAnswer)]
        return self._request("replan", lines, ChainAnswer)

    def read_chain(self, text: str) -> Chain:
        """The targets, with the goal added.

        Raises:
            InvalidOutputError: It is not the JSON that was asked for.
        """
        answer = _read(ChainAnswer, text)
        stated = [predicate.strip() for predicate in answer.predicates]
        return (*(self.target(predicate) for predicate in stated if predicate), self.goal)

    # --- REALIZE ----------------------------------------------------------------------------

    def action_request(self, at: MarkovState) -> Request:
        """Ask for one action toward the current target."""
        ask = f"Write the one action that brings this about or comes nearest to it: {at.target.text}"
        lines = [*_state(at.state), *_failures(at.attempts), ask, _form(ActionAnswer)]
        return self._request("realize", lines, ActionAnswer)

    def read_action(self, text: str) -> tuple[str, Action]:
        """The words around it, and the action.

        Raises:
            InvalidOutputError: It is not the JSON that was asked for.
        """
        answer = _read(ActionAnswer, text)
        return answer.thought, answer.action.strip()

    # --- VALIDATE ---------------------------------------------------------------------------

    def verdict_request(self, tail: Chain, outcome: Outcome) -> Request:
        """Ask how many consecutive predicates, from the first on, an observation shows to be true."""
        numbered = [f"{i}. {target.text}" for i, target in enumerate(tail, 1)]
        ask = (
            "How many of these conditions does the observation show to be true, counted from the first and stopping at "
            "the first that it does not show? Judge by what is observed alone, not by what the action was meant to do."
        )
        lines = [f"action: {outcome.action}", f"observation: {outcome.observation.text}", *self.seen(outcome)]
        return self._request("validate", [*lines, "conditions:", *numbered, ask, _form(VerdictAnswer)], VerdictAnswer)

    def read_verdict(self, text: str, most: int) -> tuple[int, str]:
        """Read k, and the reason.

        Raises:
            InvalidOutputError: It is not the JSON that was asked for, or k is more than there are.
        """
        answer = _read(VerdictAnswer, text)
        if not 0 <= answer.k <= most:
            raise InvalidOutputError(f"k is {answer.k}, and there are {most} conditions")
        return answer.k, answer.reason

    def _request(self, role: str, lines: Sequence[str], answer: type[BaseModel]) -> Request:
        head = "\n".join(part for part in (f"Task: {self.task}", self.rules) if part)
        prompt = (Message("system", head), Message("user", "\n".join(lines)))
        return Request(prompt, self._tokens, constraint=JsonSchema(answer), role=role)


def shown(value: Value) -> str:
    """A field's value in words."""
    return (", ".join(map(shown, value)) or "none") if isinstance(value, tuple) else str(value)


def field_lines(fields: Fields) -> list[str]:
    """One line per field."""
    return [f"{name}: {shown(value)}" for name, value in fields]


def _state(state: CertifiedState) -> list[str]:
    done = [f"certified: {target.text}" for target in state.certified]
    left = (f"{kind} left: {amount_of(kind, count)}" for kind, count in state.left)
    return [*field_lines(state.fields), *done, *left]


def _failures(attempts: Sequence[Attempt]) -> list[str]:
    return [f"failed: {attempt.action} ({attempt.reason})" for attempt in attempts[-_SHOWN:]]


def _form(answer: type[BaseModel]) -> str:
    example = {
        ChainAnswer: '{"predicates": ["...", "..."]}',
        ActionAnswer: '{"thought": "...", "action": "..."}',
        VerdictAnswer: '{"reason": "...", "k": 0}',
    }[answer]
    return f"Answer as JSON: {example}"


def _read(model: type[_Answer], text: str) -> _Answer:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InvalidOutputError(f"not the JSON that was asked for: {error.errors()[0]['msg']}") from error
