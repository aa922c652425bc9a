"""Queries: macro-actions of the environment that ground a predicate (AEC section 3.3, appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tape.budget import Resources
from tape.engine.act import write_action
from tape.engine.episode import ActionRefused, Episode, environment_faults
from tape.engine.predict import Memory
from tape.methods.aec.events import QueriedEvent
from tape.methods.aec.settings import AecSettings
from tape.methods.aec.state import EpistemicState
from tape.protocols import Action, Actor, State
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Predicate, QueryMacro

CallCost = Callable[[State, Mapping[str, int], Sequence[Action]], Resources]
"""The worst-case cost of the model's calls for one step, given the rest of the actions."""


class Queries:
    """Runs queries through the episode, with the same ledger, actor and memory as the steps of a path."""

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
        self._unrevealing: set[tuple[str, Predicate, tuple[Action, ...]]] = set()

    def macro(self, predicate: Predicate) -> QueryMacro | None:
        """The actions that reveal a predicate from here; None if none are known, or if they failed to before."""
        with environment_faults(f"no query for {predicate} could be computed"):
            macro = self._domain.query(self._episode.state, predicate)
        if macro is None or not macro.actions or (self._here(), predicate, macro.actions) in self._unrevealing:
            return None
        return None if any(action in self._episode.refused for action in macro.actions) else macro

    def _here(self) -> str:
        return self._episode.env.domain.key(self._episode.state)

    def cost(self, macro: QueryMacro, remaining: Mapping[str, int]) -> Resources | None:
        """The worst-case cost of a macro; None if the whole macro does not fit into what is left."""
        episode, total = self._episode, Resources()
        for i, action in enumerate(macro.actions):
            total += episode.env.domain.cost(episode.state, action)
            total += self._call_cost(episode.state, remaining, macro.actions[i:])
        horizon = episode.config.horizon
        moves = len(macro.actions) if horizon is None else horizon - episode.result.steps
        fits = all((cost := total[kind]) is not None and cost <= left for kind, left in remaining.items())
        return total if fits and len(macro.actions) <= moves else None

    def costs(self, predicates: Sequence[Predicate], remaining: Mapping[str, int]) -> dict[Predicate, Resources]:
        """The worst-case cost of each affordable query; empty once the query budget is used up."""
        most, resources = AecSettings.of(self._episode.config).query_budget, dict[Predicate, Resources]()
        if most is not None and self._episode.result.method["queries"] >= most:
            return resources
        for predicate in dict.fromkeys(predicates):
            macro = self.macro(predicate)
            if macro is not None and (cost := self.cost(macro, remaining)) is not None:
                resources[predicate] = cost
        return resources

    async def run(self, predicate: Predicate) -> tuple[Action, ...]:
        """Run the query of a predicate; revealed values become facts with the query as their evidence.

        A macro that does not reveal its predicate is not repeated for it in the same state.

        Returns:
            The executed actions; none if the query cannot begin.

        Raises:
            EpisodeEnded: The query reached the goal, or the environment ended the episode.
        """
        macro = self.macro(predicate)
        if macro is None or self.cost(macro, self._episode.remaining()) is None:
            return ()
        known, begun_in = self._state.grounded, self._here()
        done: list[Action] = []
        try:
            await self._execute(macro, done)
        finally:  # the query may reach the goal
            now = self._state.grounded
            if predicate not in now:
                self._unrevealing.add((begun_in, predicate, macro.actions))
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
        """Execute a macro's actions until the environment does not admit one."""
        episode, source = self._episode, f"{macro.predicate} by {'; '.join(macro.actions)}"
        for i, planned in enumerate(macro.actions):
            admissible = episode.env.domain.admissible(episode.state)
            if admissible is not None and planned not in admissible:
                break
            before = episode.state
            try:
                await episode.approve(planned, macro.actions[i + 1 :])
            except ActionRefused:
                break  # like an action that is not admitted
            action, text = await write_action(episode, self._actor, planned, macro.actions[i:])
            episode.result.method["queries"] += i == 0
            done.append(action)
            after = await episode.step(action, text=text, planned=planned)
            self._memory.add(before, action, after)
            self._state.observed("query", action, source)
