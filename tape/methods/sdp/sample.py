"""PROPOSE and REPLAN from one plan of the model, rolled out by the world model without selection: SDP without TAPE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tape.methods.sdp.adapter import Adapter
from tape.methods.sdp.path import chain_of
from tape.methods.sdp.predicate_adapter import in_words
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target
from tape.protocols import Domain, Plan, Proposer, State, WorldModel


class SampleChain:
    """The states along one sampled plan are the chain."""

    def __init__(
        self,
        domain: Domain,
        adapter: Adapter,
        proposer: Proposer,
        world_model: WorldModel,
        seed: Callable[..., int],
        *,
        single: bool = False,
    ) -> None:
        self._domain, self._adapter, self._seed, self._single = domain, adapter, seed, single
        self._proposer, self._world_model = proposer, world_model

    async def propose(self, state: CertifiedState) -> Chain:
        """A chain from one plan."""
        return await self._chain(state, state.projected, 0)

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """A new plan from here, without the failed actions if prompts can leave them out."""
        start = at.state.projected
        if self._domain.choices is not None:
            start = self._domain.choices.without(start, at.tried)
        return await self._chain(at.state, start, len(history))

    async def _chain(self, state: CertifiedState, start: State, failures: int) -> Chain:
        seed = self._seed("propose", self._domain.key(state.projected), state.left, failures)
        [[plan]] = await self._proposer.propose([(start, state.remaining)], 1, seed)
        states = await self._states(state.projected, plan)
        actions = plan.actions[: len(states) - 1]
        whole = len(actions) == len(plan.actions)
        if self._domain.goal_test is not None:
            whole = self._domain.goal_test.satisfied(states[-1])
        nodes = [self._domain.key(after) for after in states[1:]]
        chain = chain_of(self._adapter, states, actions, nodes, at_goal=whole)
        return tuple(item for target in chain for item in singles(target)) if self._single else chain

    async def _states(self, start: State, plan: Plan) -> list[State]:
        """The states along a plan up to its first predicted invalid action."""
        [predictions] = await self._world_model.rollout([(start, plan.actions)])
        return [start, *(prediction.state for prediction in predictions if prediction.state is not None)]


def singles(target: Target) -> Chain:
    """A target as one target for each predicate that it requires; only the first has the action of its edge."""
    if target.goal or len(target.requires) < 2:
        return (target,)
    first, *others = (replace(target, text=in_words((pair,)), requires=(pair,)) for pair in target.requires)
    return (first, *(replace(other, by=None) for other in others))
