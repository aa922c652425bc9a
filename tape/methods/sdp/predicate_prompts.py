"""Prompts for chains of typed predicates, which are checked, not judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.errors import InvalidOutputError
from tape.lm.base import Request
from tape.methods.sdp.chat_prompts import MOST_PREDICATES, ChatPrompts, example_turns
from tape.methods.sdp.state import CertifiedState, MarkovState
from tape.methods.sdp.target import Target
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import Examples

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
        examples: Worked examples by role; by default those of :func:`worked`.
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
        super().__init__(task, goal, rules=rules, examples=worked() if examples is None else examples)
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
def worked() -> Examples:
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
