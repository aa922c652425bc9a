"""What the prompt formats of typed tools share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from envs.tool_chains.typed.domain import TypedDomain, TypedState, as_typed
from tape.errors import InvalidOutputError
from tape.lm.base import OneOf, Request
from tape.protocols import Action, State
from tape.protocols.prompt_format import PromptFormat


class TypedFormat(PromptFormat):
    """What all have alike, for models that predict nothing: types declare what calls give.

    Args:
        domain: The tools.
        goals: The types that a request may name; none where the wanted type is given.
    """

    def __init__(self, domain: TypedDomain, goals: Sequence[str] = ()) -> None:
        self._domain, self._goals = domain, tuple(goals)

    def project_request(self, state: State) -> Request | None:
        """Ask which of the goals a request names, where it has not been read yet."""
        here = as_typed(state)
        return self._reading(here.unread) if self._goals and here.unread else None

    @abstractmethod
    def _reading(self, request: str) -> Request:
        """Ask which of the goals a text names."""

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """After any call the user may have a new request, in tasks where there is one."""
        del state, action
        return self._reading(LONGEST) if self._goals and self._domain.asks_again else None

    def read_project(self, state: State, text: str) -> TypedState:
        """The state with what is wanted."""
        if text.strip() not in self._goals:
            raise InvalidOutputError(f"{text[:80]!r} is none of the types that a request may name")
        return as_typed(state).read(text.strip())

    def unread(self, state: State) -> TypedState:
        """What is wanted stays unknown."""
        return as_typed(state).read(None)

    def _choice(self) -> OneOf:
        return OneOf(self._goals)


LONGEST_REQUEST = 600
"""Characters of a user's request."""

LONGEST = "1 " * (LONGEST_REQUEST // 2)
"""A request of most tokens."""
