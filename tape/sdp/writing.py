"""REALIZE by the model's act role: the path's edge under constrained execution, or a free choice (SDP section 3.1)."""

from __future__ import annotations

from collections.abc import Callable

from tape.engine.actor import MAX_RETRIES
from tape.protocols import Action, Actor, Domain
from tape.protocols.predicates import ExcludingDomain
from tape.sdp.operators import Realized
from tape.sdp.state import MarkovState


class WritingRealize:
    """Writes the action that a target was made with; after a failed attempt a free choice with the plan as a hint.

    Args:
        domain: The task.
        actor: Writes actions.
        seed: A seed from what an action is written from.
        invents: Whether a target that comes with no action gets a free choice; without, there is nothing to try.
    """

    def __init__(self, domain: Domain, actor: Actor, seed: Callable[..., int], *, invents: bool) -> None:
        self._domain, self._actor, self._seed, self._invents = domain, actor, seed, invents

    async def realize(self, at: MarkovState) -> Realized:
        """An action for the current target; none where the planned one is not admissible here."""
        by, admissible = at.target.by, self._domain.admissible(at.state.projected)
        if by is None and not self._invents:
            return Realized(None, "the path ends here")
        planned = by if by is not None and by not in at.tried else None
        if planned is not None and admissible is not None and planned not in admissible:
            if not self._invents:
                return Realized(None, f"{planned!r} is not admissible here")
            planned = None
        return await self._written(at, planned)

    async def _written(self, at: MarkovState, planned: Action | None) -> Realized:
        """Let the actor write, again where it cannot be read or was tried."""
        state = at.state.projected
        admissible = self._domain.admissible(state)
        if planned is None and isinstance(self._domain, ExcludingDomain):
            state = self._domain.without(state, at.tried)
        plan = [target.by for target in at.tail if target.by is not None]
        shown = (self._domain.key(at.state.projected), planned, plan, at.tried, len(at.attempts), at.state.left)
        said = "no action could be read"
        for attempt in range(MAX_RETRIES + 1):
            acted = await self._actor.act(
                state, at.state.remaining, planned, plan, self._seed("realize", *shown, attempt)
            )
            if acted.action is None:
                continue
            if admissible is not None and acted.action not in admissible:
                said = f"{acted.action!r} is not admissible here"
            elif planned is None and acted.action in at.tried:
                said = f"{acted.action!r} was tried before"
            else:
                return Realized(acted.action, acted.text)
        return Realized(None, said, counts_if_none=True)
