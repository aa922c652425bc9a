"""A prompt format: how one task is written for one family of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from tape.budget import in_units
from tape.errors import InvalidOutputError, UnknownNameError
from tape.lm.base import Choice, Message, Request
from tape.protocols.types import Action, Plan, State

F = TypeVar("F")
Item = TypeVar("Item")
S = TypeVar("S")

Examples: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""Worked examples by role: questions and their answers."""


@dataclass(frozen=True)
class OfferedPath:
    """A path of the plan graph that the model may select, with what the solver would know of it.

    Attributes:
        actions: Its actions.
        nodes: A name of the node that each action is predicted to lead to; paths through one node name it alike.
        scores: The scores of these nodes.
        goal: Whether the last of them was scored as a goal.
        confidence: The world model's, in the least certain of its predictions.
        cost: Worst-case counts of each capped resource, all actions together.
    """

    actions: tuple[Action, ...]
    nodes: tuple[str, ...]
    scores: tuple[float, ...]
    goal: bool
    confidence: float
    cost: Mapping[str, int]


def offered_text(paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> str:
    """Paths in words, numbered from 1: the graph that they make up, its scores, and costs beside what is left."""
    told = (
        "Behind each action stand the state that it is predicted to lead to and the score of that state (higher is "
        "better; plans that come through the same state name it alike). Then follow the certainty of the plan's least "
        "certain prediction, and what it is counted to need of what is left."
    )
    return "\n".join([told, *(f"{number}: {_offered(path, remaining)}" for number, path in enumerate(paths, 1))])


def _offered(path: OfferedPath, remaining: Mapping[str, int]) -> str:
    steps = zip(path.actions, path.nodes, path.scores, strict=True)
    arrows = [f"{action} -> {node} ({score:.3g})" for action, node, score in steps]
    ends = ["ends at a goal"] if path.goal else []
    needs = [f"{in_units(kind, path.cost.get(kind, 0))} of {in_units(kind, left)}" for kind, left in remaining.items()]
    said = [*ends, f"certainty {path.confidence:.2f}", *([f"needs {', '.join(needs)}"] if needs else [])]
    return f"{'; '.join(arrows)} | {'; '.join(said)}"


def turns(system: str, examples: Sequence[tuple[str, str]], ask: str) -> tuple[Message, ...]:
    """A chat: what always holds, worked examples as turns of their own, and what is asked now, last.

    What does not change comes first, so that models read it once for all requests of a role.

    Args:
        system: The rules.
        examples: Questions and their answers.
        ask: The question.
    """
    shown = (Message(role, text) for pair in examples for role, text in zip(("user", "assistant"), pair, strict=True))
    return (Message("system", system), *shown, Message("user", ask))


def asked(request: Request) -> str:
    """The question that a request of :func:`turns` ends with, for worked examples."""
    assert not isinstance(request.prompt, str), "chat prompts are messages"
    return request.prompt[-1].content


@runtime_checkable
class PartialFormat(Protocol):
    """A prompt format without requests for plans, scores, actions and answers; optional.

    Attributes:
        instead: What can be played with it, and what else to take: the end of a message.
    """

    instead: str


class PromptFormat(Protocol):
    """Builds the request of every role and reads the answers.

    ``remaining`` holds the counts left of each capped resource. Readers raise
    :class:`tape.errors.InvalidOutputError` where nothing can be made of a text.
    """

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for one whole plan."""

    def read_plan(self, state: State, text: str) -> Plan:
        """Read a plan; a malformed one keeps its readable beginning and is marked invalid."""

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """Ask for all states along a plan in one request, or None where the model does it step by step."""

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """Read the states of a rollout; None for an invalid action, where the list ends."""

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for the state after one action; with ``valid`` the action may not be called invalid."""

    def read_next(self, state: State, text: str) -> State | None:
        """Read a next state; None where the action is said to be invalid."""

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask for a score by a :class:`Choice`; also the value of each option."""

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and an action.

        With ``action`` the request's constraint admits no other action; with ``plan`` it is shown
        as a hint.
        """

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """Read the thought and the action."""

    def read_intention(self, thought: str) -> Action | None:
        """The next action that a thought announces, for error analysis (TAPE appendix G.1); no model is asked.

        Args:
            thought: What :meth:`read_act` read; or a whole answer that it could not read.

        Returns:
            The intended action, which need not be the one written; None where the thought names no action, or
            several without saying which comes next.
        """

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask which path is best (the LM-selector ablation), by a :class:`Choice` with one option per path.

        The model is shown the paths with their scores and costs (:func:`offered_text`), unless it can read no other
        prompts than those that it was trained on.
        """


@runtime_checkable
class ProjectingFormat(PromptFormat, Protocol):
    """A prompt format in which the model takes part in the projector z (TAPE section 3.1); optional."""

    def project_request(self, state: State) -> Request | None:
        """Ask what a newly observed state leaves open, or None where it leaves nothing open."""

    def read_project(self, state: State, text: str) -> State:
        """The state with what was asked for."""

    def unread(self, state: State) -> State:
        """The state where the model's answer could not be read."""

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A request as long as any that may be made after an action, for its worst case; None if none may be."""


@runtime_checkable
class AskingFormat(PromptFormat, Protocol):
    """A prompt format for models that follow instructions: anything can be asked about a state; optional.

    With it the model has two roles more, whose questions the engine words itself: what actions cost
    (:class:`tape.engine.scorer.LmCostModel`) and which states are one (:class:`tape.engine.projector.LmMerger`).
    """

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """The rules and what is known of a state, then the question, which says how to answer."""


def states_along(start: S, items: Iterable[Item], after: Callable[[S, Item], S | None]) -> list[S | None]:
    """The states of a rollout, as :meth:`PromptFormat.read_rollout` gives them.

    Args:
        start: The state before the first action.
        items: What the model wrote of each action, in order.
        after: Reads one: the state after it, None where the action is invalid.

    Returns:
        States up to the first that is None, or up to what cannot be read.
    """
    states: list[S | None] = []
    here = start
    for item in items:
        try:
            found = after(here, item)
        except InvalidOutputError:
            break
        states.append(found)
        if found is None:
            break
        here = found
    return states


def option_values(request: Request, values: Mapping[str, float]) -> tuple[float, ...]:
    """The values of a score request's options, in the order of its choice."""
    assert isinstance(request.constraint, Choice)
    return tuple(values[option] for option in request.constraint.options)


def pick(formats: Mapping[str, F], name: str, task: str, hint: str = "") -> F:
    """One of the prompt formats that a task is written in.

    Args:
        formats: What makes each, by name.
        name: The one that is asked for.
        task: What it is a format of, for the message.
        hint: One more sentence for it.

    Raises:
        UnknownNameError: There is no such format.
    """
    if name not in formats:
        raise UnknownNameError(f"prompt format of {task}", name, formats, hint)
    return formats[name]
