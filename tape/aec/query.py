"""Queries: macro-actions of the environment that ground a predicate (AEC section 3.3, appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tape.aec.events import QueriedEvent
from tape.aec.settings import AecSettings
from tape.aec.state import EpistemicState
from tape.budget import Resources
from tape.engine.act import write_action
from tape.engine.episode import ActionRefused, Episode, environment_faults
from tape.engine.predict import Memory
from tape.protocols import Action, Actor, State
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Predicate, QueryMacro

CallCost = Callable[[State, Mapping[str, int], Sequence[Action]], Resources]
"""The worst case of the model's calls for one step, with the rest of what is to be done."""


class Queries:
    """Runs queries through the episode: the same ledger, actor and memory as for the steps of a path.

    Args:
        episode: The episode.
        domain: Knows the macros.
        state: Takes what they reveal.
        actor: Writes the actions.
        memory: Takes the observed transitions.
        call_cost: What the actor's own call may cost.
    """

    def __init__(
        self,
        episode: Episode,
        domain: Predicates,
        state: EpistemicState,
        actor: Actor,
        memory: Memory,
        call_cost: CallCost,
    ) -> None:
        self._episode, self._domain, self._state = episode, domain, state
        self._actor, self._memory, self._call_cost = actor, memory, call_cost
        self._futile: set[tuple[str, Predicate, tuple[Action, ...]]] = set()

    def macro(self, predicate: Predicate) -> QueryMacro | None:
        """The steps that show a predicate from here; None where none are known, or where these failed to before."""
        with environment_faults(f"no query for {predicate} could be worked out"):
            macro = self._domain.query(self._episode.state, predicate)
        if macro is None or not macro.actions or (self._here(), predicate, macro.actions) in self._futile:
            return None
        if any(action in self._episode.refused for action in macro.actions):
            return None
        return macro

    def _here(self) -> str:
        return self._episode.env.domain.key(self._episode.state)

    def cost(self, macro: QueryMacro, remaining: Mapping[str, int]) -> Resources | None:
        """The worst case of a macro; None where all of it does not fit into what is left, nothing beside it."""
        episode, total = self._episode, Resources()
        for i, action in enumerate(macro.actions):
            total += episode.env.domain.cost(episode.state, action)
            total += self._call_cost(episode.state, remaining, macro.actions[i:])
        horizon = episode.config.horizon
        moves = len(macro.actions) if horizon is None else horizon - episode.result.steps
        fits = all((cost := total[kind]) is not None and cost <= left for kind, left in remaining.items())
        return total if fits and len(macro.actions) <= moves else None

    def costs(self, predicates: Sequence[Predicate], remaining: Mapping[str, int]) -> dict[Predicate, Resources]:
        """The worst case of the query of each predicate that can be asked and paid; nothing once none is left."""
        most, found = AecSettings.of(self._episode.config).query_budget, dict[Predicate, Resources]()
        if most is not None and self._episode.result.method["queries"] >= most:
            return found
        for predicate in dict.fromkeys(predicates):
            macro = self.macro(predicate)
            cost = None if macro is None else self.cost(macro, remaining)
            if cost is not None:
                found[predicate] = cost
        return found

    async def run(self, predicate: Predicate) -> tuple[Action, ...]:
        """Ask; what comes to light becomes facts with the query as their evidence.

        A macro that does not show its predicate is not tried again for it in an identical state; from where it has led
        it may, or the domain may know another one.

        Returns:
            The actions that were executed: none where the query cannot be begun.

        Raises:
            EpisodeEnded: Success on the way, or an end by the environment.
        """
        macro = self.macro(predicate)
        if macro is None or self.cost(macro, self._episode.remaining()) is None:
            return ()
        known, begun_in = self._state.grounded, self._here()
        done: list[Action] = []
        try:
            await self._execute(macro, done)
        finally:  # the goal may be reached on the way
            now = self._state.grounded
            if predicate not in now:
                self._futile.add((begun_in, predicate, macro.actions))
            event = QueriedEvent(
                step=self._episode.result.steps,
                predicate=str(predicate),
                actions=done,
                value=now[predicate].value if predicate in now else None,
                revealed=sorted(str(p) for p in now if p not in known),
            )
            self._episode.trace.write(event)
        return tuple(done)

    async def _execute(self, macro: QueryMacro, done: list[Action]) -> None:
        """Execute a macro's actions as far as the environment admits them."""
        episode, source = self._episode, f"{macro.predicate} by {'; '.join(macro.actions)}"
        for i, planned in enumerate(macro.actions):
            admissible = episode.env.domain.admissible(episode.state)
            if admissible is not None and planned not in admissible:
                break
            before = episode.state
            try:
                await episode.approve(planned, macro.actions[i + 1 :])
            except ActionRefused:
                break  # as what the environment does not admit
            action, text = await write_action(episode, self._actor, planned, macro.actions[i:])
            episode.result.method["queries"] += i == 0
            done.append(action)
            after = await episode.step(action, text=text, planned=planned)
            self._memory.add(before, action, after)
            self._state.observed("query", action, source)
