"""A prompt format: how one task is written for one family of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tape.budget import in_units
from tape.errors import ConfigError, InvalidOutputError, UnknownNameError
from tape.lm.base import Choice, Message, Request
from tape.protocols.predicates import Predicate
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


class PromptFormat:
    """Builds the request of every role and reads the answers: the base class of prompt formats.

    A format has the roles whose methods it overrides: planning agents need plans, scores and actions, and predictions
    where the domain declares no outcomes. By default a role is refused, or the model has no part in it. So
    ``PromptFormat()`` asks nothing.

    ``remaining`` holds the counts left of each capped resource. Readers raise
    :class:`tape.errors.InvalidOutputError` where nothing can be made of a text.
    """

    instead: str = ""
    """Of a format without plans and actions: what can be played with it, and what else to take. It ends a message."""

    ask: Callable[[State, str], tuple[Message, ...]] | None = None
    """A method ``ask(state, question)`` where the model follows instructions, so that anything can be asked.

    It gives the rules and what is known of a state, then the question, which says how to answer. The engine words the
    questions of two roles: what actions cost (``tape/engine/ablations/cost_model.py``) and which states are one
    (``tape/engine/ablations/merger.py``). Without the method these roles are refused at the start.
    """

    # --- plans ----------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for one whole plan."""
        del state, remaining
        raise self._lacks("plan_request")

    def read_plan(self, state: State, text: str) -> Plan:
        """Read a plan; a malformed one keeps its readable beginning and is marked invalid."""
        del state, text
        raise self._lacks("read_plan")

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask for a score by a :class:`Choice`; also the value of each option."""
        del state
        raise self._lacks("score_request")

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask which path is best (the LM-selector ablation), by a :class:`Choice` with one option per path.

        The model is shown the paths with their scores and costs (:func:`offered_text`), unless it can read no other
        prompts than those that it was trained on.
        """
        del state, paths, remaining
        raise self._lacks("select_request")

    # --- actions --------------------------------------------------------------------------------

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and an action.

        With ``action`` the request's constraint admits no other action; with ``plan`` it is shown
        as a hint.
        """
        del state, remaining, action, plan
        raise self._lacks("act_request")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """Read the thought and the action."""
        del state, text
        raise self._lacks("read_act")

    def read_intention(self, thought: str) -> Action | None:
        """The next action that a thought announces, for error analysis (TAPE appendix G.1); no model is asked.

        Args:
            thought: What :meth:`read_act` read; or a whole answer that it could not read.

        Returns:
            The intended action, which need not be the one written; None where the thought names no action, or
            several without saying which comes next, and where thoughts are not read.
        """
        del thought
        return None

    # --- predictions: not asked for where the domain declares outcomes ---------------------------

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """Ask for all states along a plan in one request, or None where the model does it step by step."""
        del state, actions
        return None

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """Read the states of a rollout; None for an invalid action, where the list ends."""
        del state, actions
        raise InvalidOutputError(f"{type(self).__name__} asks for no rollouts, got {text[:80]!r}")

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for the state after one action; with ``valid`` the action may not be called invalid."""
        del state, action, valid
        raise self._lacks("next_request")

    def read_next(self, state: State, text: str) -> State | None:
        """Read a next state; None where the action is said to be invalid."""
        del state, text
        raise self._lacks("read_next")

    # --- the model's part in the projector z (TAPE section 3.1) -----------------------------------

    def project_request(self, state: State) -> Request | None:
        """Ask what a newly observed state leaves open, or None where it leaves nothing open."""
        del state
        return None

    def read_project(self, state: State, text: str) -> State:
        """The state with what was asked for."""
        del text
        return state

    def unread(self, state: State) -> State:
        """The state where the model's answer could not be read."""
        return state

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A request as long as any that may be made after an action, for its worst case; None if none may be."""
        del state, action
        return None

    # --- what is not known -----------------------------------------------------------------------

    def weigh_requests(
        self, state: State, predicates: Sequence[Predicate]
    ) -> Sequence[tuple[Request, Mapping[str, Predicate]]]:
        """Ask how likely assumptions are: requests with a :class:`Choice`, and what each option says is true.

        Predicates that no request asks about are not weighed.
        """
        del state, predicates
        return ()

    def predict_request(
        self, state: State, predicates: Sequence[Predicate]
    ) -> Sequence[tuple[Request, Sequence[Predicate]]] | None:
        """Ask which predicates are true (AEC): requests, each with the predicates that it answers.

        One answer may answer several: a likely place of an object says of every other place that it is not there.

        Returns:
            None where the model cannot be asked.
        """
        del state, predicates
        return None

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """What a sampled answer says of the predicates; may leave some open."""
        del state, predicates, text
        return {}

    def reworded(self, state: State, number: int) -> State | None:
        """The same state, so that prompts put it in other words, for instance in another order; 0: as ever.

        Returns:
            None where there is one wording alone.
        """
        del state, number
        return None

    def _lacks(self, method: str) -> ConfigError:
        instead = self.instead and f"; {self.instead}"
        return ConfigError(f"{type(self).__name__} has no method {method}: its prompts do not have this role{instead}")


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
