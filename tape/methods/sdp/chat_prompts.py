"""Prompts of the four operators for general instruction-tuned models; environments override parts of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.budget import amount_of
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Request
from tape.methods.sdp.operators import Outcome
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target, Value
from tape.protocols import Action, Observation
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import Examples, asked, turns
from tape.reading import parsed

_STRICT = ConfigDict(extra="forbid")
_UNFIT = "not the JSON that was asked for"
_SHOWN = 5
"""Most failed attempts that a prompt repeats."""


MOST_PREDICATES = 40
LONGEST_THOUGHT = 300
"""Characters of a thought, or of a reason."""

GENERAL = "You bring a task to its end step by step, in a world that answers every action with what can be seen then."
_Statement = Annotated[str, Field(min_length=1, max_length=160)]


class ChainAnswer(BaseModel):
    """A chain of predicates."""

    model_config = _STRICT
    predicates: list[_Statement] = Field(min_length=1, max_length=MOST_PREDICATES)


class ActionAnswer(BaseModel):
    """An action."""

    model_config = _STRICT
    thought: str = Field(max_length=LONGEST_THOUGHT)
    action: str = Field(min_length=1, max_length=300)


class VerdictAnswer(BaseModel):
    """How many predicates hold."""

    model_config = _STRICT
    reason: str = Field(max_length=LONGEST_THOUGHT)
    k: int = Field(ge=0)


@lru_cache(maxsize=64)
def _verdict_model(most: int) -> type[BaseModel]:
    """A reason, then the number of predicates that hold."""
    counts: Any = (Literal[tuple(range(most + 1))], ...)
    return create_model("Verdict", __config__=_STRICT, reason=(str, Field(max_length=LONGEST_THOUGHT)), k=counts)


class ChatPrompts:
    """Requests of the operators, and how their answers are read.

    Args:
        task: The task in words.
        goal: The goal predicate.
        rules: The environment's actions and their form, for the model.
        tokens: Most tokens of an answer.
        examples: Worked examples by role, questions and answers; by default those of :func:`worked`.
    """

    def __init__(
        self, task: str, goal: Target, *, rules: str = "", tokens: int = 1200, examples: Examples | None = None
    ) -> None:
        self.task, self.goal, self.rules, self._tokens = task, goal, rules, tokens
        self._examples = worked() if examples is None else examples

    # --- what an environment overrides ------------------------------------------------------

    def target(self, text: str) -> Target:
        """A target from a predicate in words."""
        return Target(text, "predicate")

    def notes(self, state: CertifiedState) -> Sequence[str]:
        """More lines for PROPOSE and REPLAN, for instance known places."""
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
        form = self._chain_model()
        return self._request("propose", [*_state(state), *self.notes(state), f"{ask} {_CHAIN_FORM}"], form)

    def replan_request(self, at: MarkovState, history: Sequence[Attempt]) -> Request:
        """Ask for a new tail."""
        ask = (
            f"The condition {at.target.text!r} could not be brought about in {len(at.attempts)} attempts. Write a new "
            "chain of conditions from the present state to the goal that goes another way. Leave out what is certified."
        )
        lines = [*_state(at.state), *self.notes(at.state), *_failures(history), f"{ask} {_CHAIN_FORM}"]
        return self._request("replan", lines, self._chain_model())

    def _chain_model(self) -> type[BaseModel]:
        """The schema of a chain; it is read as a :class:`ChainAnswer`."""
        return ChainAnswer

    def read_chain(self, text: str) -> Chain:
        """The targets, with the goal added.

        Raises:
            InvalidOutputError: The text is not the requested JSON.
        """
        answer = parsed(ChainAnswer, text, _UNFIT)
        stated = [predicate.strip() for predicate in answer.predicates]
        return (*(self.target(predicate) for predicate in stated if predicate), self.goal)

    # --- REALIZE ----------------------------------------------------------------------------

    def action_request(self, at: MarkovState) -> Request:
        """Ask for one action toward the current target."""
        ask = f"Write the one action that brings this about or comes nearest to it: {at.target.text}"
        think = 'Think in one sentence first. Answer as JSON with the fields "thought" and "action".'
        return self._request("realize", [*_state(at.state), *_failures(at.attempts), ask, think], ActionAnswer)

    def read_action(self, text: str) -> tuple[str, Action]:
        """The words around the action, and the action.

        Raises:
            InvalidOutputError: The text is not the requested JSON.
        """
        answer = parsed(ActionAnswer, text, _UNFIT)
        return answer.thought, answer.action.strip()

    # --- VALIDATE ---------------------------------------------------------------------------

    def verdict_request(self, tail: Chain, outcome: Outcome) -> Request:
        """Ask how many consecutive predicates, from the first, an observation shows to be true."""
        numbered = [f"{i}. {target.text}" for i, target in enumerate(tail, 1)]
        ask = (
            "How many of these conditions does the observation show to be true, counted from the first and stopping at "
            "the first that it does not show? Judge by what is observed alone, not by what the action was meant to do. "
            "First say which words of the observation show it, or what is missing; then count. "
            'Answer as JSON with the fields "reason" and "k", the number of conditions.'
        )
        lines = [f"action: {outcome.action}", f"observation: {outcome.observation.text}", *self.seen(outcome)]
        return self._request("validate", [*lines, "conditions:", *numbered, ask], _verdict_model(len(tail)))

    def read_verdict(self, text: str, most: int) -> tuple[int, str]:
        """Read k, and the reason.

        Raises:
            InvalidOutputError: The text is not the requested JSON, or k is out of range.
        """
        answer = parsed(VerdictAnswer, text, _UNFIT)
        if not 0 <= answer.k <= most:
            raise InvalidOutputError(f"k is {answer.k}, and there are {most} conditions")
        return answer.k, answer.reason

    def _request(self, role: str, lines: Sequence[str], answer: type[BaseModel]) -> Request:
        # REPLAN shows the same example as PROPOSE.
        shown = self._examples.get("propose" if role == "replan" else role, ())
        asked = "\n".join([f"Task: {self.task}", *lines])
        prompt = turns("\n".join(part for part in (GENERAL, self.rules) if part), shown, asked)
        return Request(prompt, self._tokens, constraint=JsonSchema(answer), role=role)


def shown(value: Value) -> str:
    """A field's value in words."""
    return (", ".join(map(shown, value)) or "none") if isinstance(value, tuple) else str(value)


def _state(state: CertifiedState) -> list[str]:
    fields = (f"{name}: {shown(value)}" for name, value in state.fields)
    done = (f"certified: {target.text}" for target in state.certified)
    left = (f"{kind} left: {amount_of(kind, count)}" for kind, count in state.left)
    return [*fields, *done, *left]


def _failures(attempts: Sequence[Attempt]) -> list[str]:
    return [f"failed: {attempt.action} ({attempt.reason})" for attempt in attempts[-_SHOWN:]]


_CHAIN_FORM = 'Answer as JSON with the field "predicates", a list of statements.'


@cache
def worked() -> Examples:
    """A worked example of each role, of a task that no environment has."""
    goal = Target("the tea is ready", "goal", goal=True)
    shown = ChatPrompts("make a cup of tea", goal, examples={})
    texts = ["the kettle is full of water", "the water in the kettle boils", "the cup holds a tea bag"]
    full, hot, bag = (Target(text, "predicate") for text in texts)
    state = CertifiedState((), (("you are in", "kitchen"), ("in sight", ("kettle (empty)", "tap", "cup", "tea bag"))))
    at = MarkovState(state, (full, hot, bag, goal))
    seen = Outcome(None, "fill kettle at tap", Observation("The kettle is full now. It is still cold."), None)
    return example_turns(
        shown,
        {
            "propose": (shown.chain_request(state), {"predicates": texts}),
            "realize": (
                shown.action_request(at),
                {"thought": "The kettle is empty and the tap is here.", "action": "fill kettle at tap"},
            ),
            "validate": (
                shown.verdict_request((full, hot, bag), seen),
                {"reason": '"The kettle is full now" shows the first; "still cold": the water does not boil.', "k": 1},
            ),
        },
    )


def example_turns(shown: ChatPrompts, pairs: Mapping[str, tuple[Request, object]]) -> Examples:
    """Examples of another task, marked as such, with their answers."""
    mapping = {}
    for role, (request, answer) in pairs.items():
        rules = f"{shown.rules}\n" if shown.rules else ""
        question = f"First an example, of another task.\n{rules}{asked(request)}"
        mapping[role] = ((question, json.dumps(answer)),)
    return mapping


_ONE = re.compile(r"\s*(?P<not>not\s+)?(?P<name>\w+)\((?P<args>(?:[^()]|\([^()]*\))*)\)\s*")
_COMMA = re.compile(r",(?![^(]*\))")


class PredicatePrompts(ChatPrompts):
    """Prompts whose predicates are typed.

    Args:
        task: The task in words.
        goal: The goal predicate.
        rules: Rules of the environment for the model.
        forms: The known predicates, as examples: ``holding(KIND)``.
        act: The environment's own request for an action, whose constraint applies to REALIZE's answer; None: any text
            is an action.
        examples: Worked examples by role; by default those of :func:`worked_predicates`.
    """

    def __init__(
        self,
        task: str,
        goal: Target,
        *,
        rules: str,
        forms: Sequence[str],
        act: Callable[[MarkovState], Request] | None = None,
        examples: Examples | None = None,
    ) -> None:
        super().__init__(task, goal, rules=rules, examples=worked_predicates() if examples is None else examples)
        self._forms, self._act = tuple(forms), act
        self._arity = dict(map(_form, forms))

    def target(self, text: str) -> Target:
        """A target that requires all predicates of a phrase.

        Raises:
            InvalidOutputError: The phrase contains something else than known predicates, or contradicts itself.
        """
        requires = tuple(sorted({read_literal(part, self._arity) for part in text.split(" and ")}))
        if len(dict(requires)) < len(requires):
            raise InvalidOutputError(f"{text[:80]!r} contradicts itself")
        return Target(text, requires[0][0].name, requires)

    def notes(self, state: CertifiedState) -> Sequence[str]:
        """The predicates that may be written."""
        del state
        forms = ", ".join(self._forms)
        return (
            f"Write conditions as predicates: {forms}, with names of this task in the place of what is in capitals; "
            "several that come true together with 'and', or with 'not'.",
        )

    def action_request(self, at: MarkovState) -> Request:
        """Ask for one action toward the current target, in the form that the environment reads."""
        request = super().action_request(at)
        if self._act is None:
            return request
        own = self._act(at)
        return replace(request, constraint=own.constraint, max_tokens=own.max_tokens)

    @cached_property
    def _chain(self) -> type[BaseModel]:
        """Known predicates with the right number of arguments, alone or joined."""
        argument = r"(?:[^()\"\\,\x00-\x1f]{1,40}|\([0-9]{1,3},[0-9]{1,3}\))"
        item = "|".join(f"{name}\\({', '.join([argument] * count)}\\)" for name, count in self._arity.items())
        text = f"^(?:not )?(?:{item})(?: and (?:not )?(?:{item})){{0,3}}$"
        statements: Any = list[Annotated[str, Field(pattern=text)]]
        listed = (statements, Field(min_length=1, max_length=MOST_PREDICATES))
        return create_model("Chain", __config__=ConfigDict(extra="forbid"), predicates=listed)

    def _chain_model(self) -> type[BaseModel]:
        return self._chain


def read_literal(text: str, arity: Mapping[str, int]) -> tuple[Predicate, bool]:
    """A predicate and its value, as in ``not shut(fridge 1)``.

    Args:
        text: The text.
        arity: Known predicates with their numbers of arguments.

    Raises:
        InvalidOutputError: The form, the name or the number of arguments is wrong.
    """
    match = _ONE.fullmatch(text)
    if match is None or match["name"] not in arity:
        raise InvalidOutputError(f"{text[:80]!r} is not a predicate; there is: {', '.join(sorted(arity))}")
    name, args = match["name"], _arguments(match["args"])
    if len(args) != arity[name]:
        raise InvalidOutputError(f"{text[:80]!r}: {name} takes {arity[name]} arguments, not {len(args)}")
    return Predicate(name, args), match["not"] is None


def _form(example: str) -> tuple[str, int]:
    """Name and number of arguments of a predicate, from an example."""
    name, _, rest = example.partition("(")
    return name, len(_arguments(rest.removesuffix(")")))


def _arguments(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _COMMA.split(text) if part.strip())


@cache
def worked_predicates() -> Examples:
    """A worked example of each role, of a task that no environment has."""
    goal = Target("the letter is in the drawer", "goal", goal=True)
    forms = ("near(PLACE)", "open(PLACE)", "carrying(THING)")
    shown = PredicatePrompts("put the letter in the drawer", goal, rules="", forms=forms, examples={})
    texts = ["near(table)", "carrying(letter)", "near(drawer) and open(drawer)"]
    state = CertifiedState((), (("near", "door"), ("carrying", "nothing"), ("letter", "on the table")))
    at = MarkovState(state, (*map(shown.target, texts), goal))
    return example_turns(
        shown,
        {
            "propose": (shown.chain_request(state), {"predicates": texts}),
            "realize": (
                shown.action_request(at),
                {"thought": "I stand at the door, and the letter is on the table.", "action": "go to the table"},
            ),
        },
    )
