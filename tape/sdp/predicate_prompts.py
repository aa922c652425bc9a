"""Chains of typed predicates written by a general model: what it proposes is checked, not judged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tape.errors import InvalidOutputError
from tape.protocols.predicates import Predicate
from tape.sdp.chat_prompts import ChatPrompts
from tape.sdp.state import CertifiedState
from tape.sdp.target import Target

_ONE = re.compile(r"\s*(?P<not>not\s+)?(?P<name>\w+)\((?P<args>(?:[^()]|\([^()]*\))*)\)\s*")
_COMMA = re.compile(r",(?![^(]*\))")


class PredicatePrompts(ChatPrompts):
    """Prompts whose predicates are typed.

    Args:
        task: The task in words.
        goal: The goal predicate.
        rules: What a model has to know of the environment.
        forms: The predicates there are, as examples: ``holding(KIND)``.
    """

    def __init__(self, task: str, goal: Target, *, rules: str, forms: Sequence[str]) -> None:
        super().__init__(task, goal, rules=rules)
        self._forms = tuple(forms)
        self._arity = dict(map(_form, forms))

    def target(self, text: str) -> Target:
        """A target that requires all predicates of a phrase.

        Raises:
            InvalidOutputError: The phrase is not made of known predicates, or contradicts itself.
        """
        requires = tuple(sorted({read_literal(part, self._arity) for part in text.split(" and ")}))
        if len(dict(requires)) < len(requires):
            raise InvalidOutputError(f"{text[:80]!r} contradicts itself")
        return Target(text, requires[0][0].name, requires)

    def notes(self, state: CertifiedState) -> Sequence[str]:
        """The predicates that may be written."""
        del state
        forms = ", ".join(self._forms)
        return (f"Write conditions as predicates: {forms}; several that come true together with 'and', or with 'not'.",)


def read_literal(text: str, arity: Mapping[str, int]) -> tuple[Predicate, bool]:
    """A predicate and its value, as in ``not shut(fridge 1)``.

    Args:
        text: What is written.
        arity: The predicates there are, with how many things each speaks of.

    Raises:
        InvalidOutputError: It is not of that form, there is no predicate of that name, or it speaks of more or fewer.
    """
    found = _ONE.fullmatch(text)
    if found is None or found["name"] not in arity:
        raise InvalidOutputError(f"{text[:80]!r} is not a predicate; there is: {', '.join(sorted(arity))}")
    name, args = found["name"], _arguments(found["args"])
    if len(args) != arity[name]:
        raise InvalidOutputError(f"{text[:80]!r}: {name} speaks of {arity[name]} things, not of {len(args)}")
    return Predicate(name, args), found["not"] is None


def _form(example: str) -> tuple[str, int]:
    """Name and number of arguments of a predicate, from an example."""
    name, _, rest = example.partition("(")
    return name, len(_arguments(rest.removesuffix(")")))


def _arguments(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _COMMA.split(text) if part.strip())
