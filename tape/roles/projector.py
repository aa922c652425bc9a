"""The projector z where the environment's own is not enough: the LM reads what was observed (DESIGN section 3)."""

from __future__ import annotations

from dataclasses import replace

from tape.budget import Resources
from tape.errors import InvalidOutputError
from tape.lm.dialect import ProjectingDialect
from tape.protocols import Action, State
from tape.roles.context import RoleContext

ROLE = "project"


class LmProjector:
    """Asks the model what an observation leaves open, greedily; in most environments nothing is open.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context

    async def project(self, state: State) -> State:
        """The state as it is after reading.

        Raises:
            BudgetExceededError: The call does not fit; it was not made.
        """
        dialect = self._context.dialect
        request = dialect.project_request(state) if isinstance(dialect, ProjectingDialect) else None
        if request is None:
            return state
        assert isinstance(dialect, ProjectingDialect)
        [completion] = await self._context.lm.generate([replace(request, role=ROLE)])
        try:
            return dialect.read_project(state, completion.texts[0])
        except InvalidOutputError as error:
            self._context.count_malformed(ROLE, completion.texts[0], error)
            return dialect.unread(state)

    def worst_case(self, state: State, action: Action) -> Resources:
        """The most that reading what an action brings can use."""
        dialect = self._context.dialect
        if not isinstance(dialect, ProjectingDialect):
            return Resources()
        request = dialect.longest_project_request(state, action)
        return Resources() if request is None else self._context.lm.worst_case(replace(request, role=ROLE))
