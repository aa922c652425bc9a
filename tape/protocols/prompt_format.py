"""A prompt format: how one task is written for one family of models."""

# ruff: noqa: ARG002 - what an environment or a format leaves out does nothing with its arguments

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from tape.budget import in_units
from tape.errors import ConfigError, InvalidOutputError, UnknownNameError
from tape.lm.base import Message, OneOf, Request
from tape.lm.reading import Reading
from tape.plan.prompt import Done
from tape.protocols.predicates import Predicate
from tape.protocols.types import Action, Plan, State

F = TypeVar("F")
Item = TypeVar("Item")
S = TypeVar("S")

Examples: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""Worked examples by role: questions and their answers."""


@dataclass(frozen=True)
class OfferedPath:
    """A path of the plan graph that the model may select, with scores and costs as the solver knows them.

    Attributes:
        actions: Its actions.
        nodes: A name of the node predicted after each action; the same node has one name in all paths.
        scores: The scores of these nodes.
        goal: Whether the last of them was scored as a goal.
        confidence: The world model's, in the least certain of its predictions.
        cost: Worst-case counts of each capped resource, all actions together.

    Examples:
        >>> from tape.protocols import OfferedPath
        >>> path = OfferedPath(("walk", "train"), ("B", "C"), (0, 1), goal=True, confidence=0.9, cost={"usd": 3_000})
        >>> dict(zip(path.actions, path.nodes))
        {'walk': 'B', 'train': 'C'}
    """

    actions: tuple[Action, ...]
    nodes: tuple[str, ...]
    scores: tuple[float, ...]
    goal: bool
    confidence: float
    cost: Mapping[str, int]


def offered_text(paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> str:
    """Paths in words, numbered from 1, with their nodes, scores and costs beside the remaining budget."""
    legend = (
        "Behind each action stand the state that it is predicted to lead to and the score of that state (higher is "
        "better; plans that come through the same state name it alike). Then follow the certainty of the plan's least "
        "certain prediction, and what it is counted to need of what is left."
    )
    return "\n".join([legend, *(f"{number}: {_offered(path, remaining)}" for number, path in enumerate(paths, 1))])


def _offered(path: OfferedPath, remaining: Mapping[str, int]) -> str:
    steps = zip(path.actions, path.nodes, path.scores, strict=True)
    arrows = [f"{action} -> {node} ({score:.3g})" for action, node, score in steps]
    ends = ["ends at a goal"] if path.goal else []
    needs = [f"{in_units(kind, path.cost.get(kind, 0))} of {in_units(kind, left)}" for kind, left in remaining.items()]
    notes = [*ends, f"certainty {path.confidence:.2f}", *([f"needs {', '.join(needs)}"] if needs else [])]
    return f"{'; '.join(arrows)} | {'; '.join(notes)}"


def number_request(prompt: str | tuple[Message, ...], paths: Sequence[OfferedPath]) -> Request:
    """A request for the number of one of the offered paths, counted from 1."""
    numbers = tuple(str(number) for number in range(1, len(paths) + 1))
    return Request(prompt, 3, constraint=OneOf(numbers), role="select")


def turns(system: str, examples: Sequence[tuple[str, str]], ask: str) -> tuple[Message, ...]:
    """A chat: the rules, worked examples (questions and answers) as turns, and the question, last.

    The constant parts come first, so that models read them once for all requests of a role.
    """
    shown = (Message(role, text) for pair in examples for role, text in zip(("user", "assistant"), pair, strict=True))
    return (Message("system", system), *shown, Message("user", ask))


def asked(request: Request) -> str:
    """The last question of a request of :func:`turns`, for worked examples."""
    assert not isinstance(request.prompt, str), "chat prompts are messages"
    return request.prompt[-1].content


class PromptFormat:
    """Builds the request of every role and reads the answers: the base class of prompt formats.

    A format has the roles whose methods it overrides: planning agents need plans, scores and actions, and predictions
    if the domain declares no outcomes. By default a role is refused, or does without the model, so ``PromptFormat()``
    has no prompts.

    ``remaining`` has the counts left of each capped resource. Readers raise
    :class:`tape.errors.InvalidOutputError` if a text cannot be read.

    Examples:
        >>> from tape.lm.base import Message, Request
        >>> from tape.protocols import Plan, PromptFormat
        >>> class DoorFormat(PromptFormat):
        ...     def plan_request(self, state, remaining):
        ...         asked = Message("user", f"The door is {state}. How is it opened?")
        ...         return Request((asked,), max_tokens=20, role="plan")
        ...     def read_plan(self, state, text):
        ...         return Plan(tuple(text.split()))
        >>> prompts = DoorFormat()
        >>> prompts.plan_request("shut", {"steps": 3}).prompt[0].content
        'The door is shut. How is it opened?'
        >>> prompts.read_plan("shut", "unlock open").actions
        ('unlock', 'open')
    """

    instead: str = ""
    """In a format without plans and actions: what can be played with it, and alternatives. It ends a message."""

    ask: Callable[[State, str], tuple[Message, ...]] | None = None
    """A method ``ask(state, question)`` for models that follow instructions, so that any question can be asked.

    Its prompt has the rules and the state, then the question, which describes the answer.
    """

    # --- plans ----------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for one whole plan."""
        raise self._lacks("plan_request")

    def program_request(self, done: Sequence[Done], remaining: Mapping[str, int], *, answer: bool = False) -> Request:
        """Ask for a program over a domain's :class:`~tape.protocols.programs.Programs`, or for the rest of one.

        Args:
            done: The statements that were run, with what came of them.
            remaining: What is left of each capped resource.
            answer: It has to answer now.
        """
        raise self._lacks("program_request")

    shows_lines: bool = False
    """Whether an agent that acts line by line is shown its own lines; else what the state says was done."""

    def line_request(
        self, done: Sequence[Done], remaining: Mapping[str, int], plan: Sequence[Action], *, each: bool = True
    ) -> Request:
        """Ask for the next line of a program; ``plan`` is shown as a hint, ``each`` names every variant of a tool."""
        raise self._lacks("line_request")

    def read_plan(self, state: State, text: str) -> Plan:
        """Read a plan; a malformed one keeps its readable beginning and is marked invalid."""
        raise self._lacks("read_plan")

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask for a score by a :class:`OneOf`; also the value of each option."""
        raise self._lacks("score_request")

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask which path is best, by a :class:`OneOf` with one option per path; only an ablation asks that.

        The prompt has the paths with their scores and costs (:func:`offered_text`), unless the model can read only the
        prompts it was trained on.
        """
        raise self._lacks("select_request")

    # --- actions --------------------------------------------------------------------------------

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and an action.

        With ``action`` the request's constraint admits no other action; a ``plan`` is shown as a hint.
        """
        raise self._lacks("act_request")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """Read the thought and the action."""
        raise self._lacks("read_act")

    def unfinished(self, state: State) -> Action | None:
        """The next action of what was read last, where a text can have several."""
        return None

    # --- predictions: not used if the domain declares outcomes -----------------------------------

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """Ask for all states along a plan in one request; None if the model predicts step by step."""
        return None

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """Read the states of a rollout; None for an invalid action, where the list ends."""
        raise InvalidOutputError(f"{type(self).__name__} asks for no rollouts, got {text[:80]!r}")

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for the state after one action; with ``valid`` the answer cannot be that the action is invalid."""
        raise self._lacks("next_request")

    def read_next(self, state: State, text: str) -> State | None:
        """Read a next state; None if the action is predicted to be invalid."""
        raise self._lacks("read_next")

    # --- the model's part in the projector z (TAPE section 3.1) -----------------------------------

    def project_request(self, state: State) -> Request | None:
        """Ask what a newly observed state leaves open; None if it leaves nothing open."""
        return None

    def reading(self, state: State, action: Action | None = None) -> Reading | None:
        """The same as a reading from both sides, for models that weigh options; None where nothing is chosen.

        Args:
            state: The newly observed state.
            action: Ask instead for the longest reading after this action, for its worst case.
        """
        return None

    def read_project(self, state: State, text: str) -> State:
        """The state completed by the answer."""
        return state

    def unread(self, state: State) -> State:
        """The state if the model's answer could not be read."""
        return state

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A request as long as any after an action, for its worst case; None if there is none."""
        return None

    # --- beliefs about unseen things --------------------------------------------------------------

    def weigh_requests(
        self, state: State, predicates: Sequence[Predicate]
    ) -> Sequence[tuple[Request, Mapping[str, Predicate]]]:
        """Ask how likely assumptions are: requests with a :class:`OneOf`, and the predicate that each option affirms.

        Predicates without a request are not weighed.
        """
        return ()

    def predict_request(
        self, state: State, predicates: Sequence[Predicate]
    ) -> Sequence[tuple[Request, Sequence[Predicate]]] | None:
        """Ask which predicates are true (AEC): requests, each with the predicates that it answers.

        One answer may answer several: a likely place of an object excludes every other place.

        Returns:
            None if the model cannot be asked.
        """
        return None

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """The values of predicates in a sampled answer; it may leave some open."""
        return {}

    def _lacks(self, method: str) -> ConfigError:
        instead = self.instead and f"; {self.instead}"
        return ConfigError(f"{type(self).__name__} has no method {method}: its prompts do not have this role{instead}")


def states_along(start: S, items: Iterable[Item], after: Callable[[S, Item], S | None]) -> list[S | None]:
    """The states of a rollout, for :meth:`PromptFormat.read_rollout`.

    Args:
        start: The state before the first action.
        items: The model's text about each action, in order.
        after: Reads one: the state after it, None if the action is invalid.

    Returns:
        States up to the first None, or up to the first unreadable text.
    """
    states: list[S | None] = []
    here = start
    for item in items:
        try:
            result = after(here, item)
        except InvalidOutputError:
            break
        states.append(result)
        if result is None:
            break
        here = result
    return states


def option_values(request: Request, values: Mapping[str, float]) -> tuple[float, ...]:
    """The values of a score request's options, in the order of its choice."""
    assert isinstance(request.constraint, OneOf)
    return tuple(values[option] for option in request.constraint.options)


def picking(formats: Mapping[str, Callable[[S], F]], task: str, hint: str = "") -> Callable[[S, str], F]:
    """What writes a task in the format of a name; see :func:`pick`."""

    def prompt_format(asked: S, name: str) -> F:
        return pick(formats, name, task, hint)(asked)

    return prompt_format


def pick(formats: Mapping[str, F], name: str, task: str, hint: str = "") -> F:
    """One of a task's prompt formats by name.

    Raises:
        UnknownNameError: There is no such format; the message names the ``task``, and ends with the ``hint``.
    """
    if name not in formats:
        raise UnknownNameError(f"prompt format of {task}", name, formats, hint)
    return formats[name]


class GoOnError(InvalidOutputError):
    """What was written was understood, and does nothing yet."""


class ActPrompts(Protocol):
    """What an actor asks of a :class:`PromptFormat`."""

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for an action."""

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """Read the thought and the action."""

    def unfinished(self, state: State) -> Action | None:
        """The next action of what was read last."""
