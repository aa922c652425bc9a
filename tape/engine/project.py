"""The projector z (TAPE algorithm 1, line 3), where the environment's own is not enough: the LM reads what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from tape.budget import Resources
from tape.engine.context import RoleContext
from tape.errors import InvalidOutputError
from tape.protocols import Action, State

ROLE = "project"


class Merger(Protocol):
    """f_theta: says which states are one node of the plan graph, beyond those of equal keys."""

    def key(self, state: State) -> str:
        """The key of a state's node."""

    async def merge(self, states: Sequence[State], expected: str | None = None) -> None:
        """Decide which nodes new states belong to; ``expected`` is the key of the node that was predicted."""

    def worst_case(self, state: State) -> Resources:
        """The most that merging what comes next can use."""


class LmProjector:
    """Asks the model what an observation leaves open, greedily; in most environments nothing is open."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context

    async def project(self, state: State) -> State:
        """The state as it is after reading."""
        prompt_format = self._context.prompt_format
        request = prompt_format.project_request(state)
        if request is None:
            return state
        [completion] = await self._context.lm.generate([replace(request, role=ROLE)])
        try:
            return prompt_format.read_project(state, completion.texts[0])
        except InvalidOutputError as error:
            self._context.count_malformed(ROLE, completion.texts[0], error)
            return prompt_format.unread(state)

    def worst_case(self, state: State, action: Action) -> Resources:
        """The most that reading what an action brings can use."""
        request = self._context.prompt_format.longest_project_request(state, action)
        return Resources() if request is None else self._context.lm.worst_case(replace(request, role=ROLE))
