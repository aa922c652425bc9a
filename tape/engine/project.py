"""The projector z (TAPE algorithm 1, line 3): the LM reads what the environment's own projection leaves open."""

from __future__ import annotations

from dataclasses import replace

from tape.budget import Resources
from tape.engine.context import RoleContext
from tape.errors import InvalidOutputError
from tape.lm.base import weighs
from tape.protocols import Action, State

ROLE = "project"


class LmProjector:
    """Asks the model, greedily, what an observation leaves open; in most environments nothing is open."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context

    async def project(self, state: State) -> State:
        """The state with what the model has read."""
        prompt_format = self._context.prompt_format
        request = prompt_format.project_request(state)
        if request is None:
            return state
        reading = prompt_format.reading(state) if weighs(self._context.lm) else None
        if reading is not None:
            text, _ = await reading.read(self._context.lm)
        else:
            [completion] = await self._context.lm.generate([replace(request, role=ROLE)])
            text = completion.texts[0]
        try:
            return prompt_format.read_project(state, text)
        except InvalidOutputError as error:
            self._context.count_malformed(ROLE, text, error)
            return prompt_format.unread(state)

    def worst_case(self, state: State, action: Action) -> Resources:
        """The most that reading the observation after an action can use."""
        reading = self._context.prompt_format.reading(state, action) if weighs(self._context.lm) else None
        if reading is not None:
            return self._context.lm.worst_case_of_reading(reading)
        request = self._context.prompt_format.longest_project_request(state, action)
        return Resources() if request is None else self._context.lm.worst_case(replace(request, role=ROLE))
