"""PROPOSE and REPLAN from plans: the nodes of the path that is selected on the plan graph are the chain (SDP x TAPE).

Without TAPE the states along one plan of the model, rolled out by the world model without selection, are the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tape.choice.graph import UNKNOWN
from tape.choice.graph_problem import Edge
from tape.engine.compare import mismatched
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.loop import Planner
from tape.engine.replan import start_replanning
from tape.engine.select import Path
from tape.engine.verification import Verification
from tape.methods.sdp.adapter import Adapter
from tape.methods.sdp.operators import Outcome, Verdict
from tape.methods.sdp.predicate_adapter import in_words, probe
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target
from tape.protocols import Action, Domain, Plan, Proposer, State, WorldModel


def chain_of(
    adapter: Adapter, states: Sequence[State], actions: Sequence[Action], nodes: Sequence[str], *, at_goal: bool
) -> Chain:
    """The chain of a path, with its nodes and edges.

    Args:
        adapter: Makes the targets of nodes.
        states: The states along the path, one more than actions.
        actions: The actions.
        nodes: Keys of the states after each action.
        at_goal: Whether the path ends at the goal: its last target is then the goal predicate itself.

    Raises:
        ValueError: The adapter did not make one target per edge and the goal.
    """
    *targets, goal = adapter.along(states, actions)
    if len(targets) != len(actions) or not goal.goal:
        raise ValueError(f"an adapter makes one target per edge and the goal, got {len(targets)} of {len(actions)}")
    chain = [
        replace(target, node=node, by=action) for target, node, action in zip(targets, nodes, actions, strict=True)
    ]
    if at_goal and chain:
        return (*chain[:-1], replace(goal, node=chain[-1].node, by=chain[-1].by))
    return (*chain, goal)


class PathChain:
    """PROPOSE and REPLAN by planner and solver; with verification, only of paths that may be committed to.

    Validation certifies edges: every step is recorded in the graph and in the memory that outlives it, and wrong
    predictions are contradicted.

    Args:
        episode: The episode.
        adapter: Makes the targets of nodes.
        planner: Samples, folds and selects.
        verification: Decides which paths may be committed to.
    """

    def __init__(self, episode: Episode, adapter: Adapter, planner: Planner, verification: Verification) -> None:
        self._episode, self._adapter = episode, adapter
        self._planner, self._verification = planner, verification
        self._path: Path | None = None
        self._mismatch = False
        self._followed = False  # a certified prefix, to its end
        self._refused = 0

    async def propose(self, state: CertifiedState) -> Chain:
        """The nodes of the best path from the current state."""
        del state  # the planner starts from the episode's state, which is the one projected
        return await self._chain()

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """Plan again from the state where the path failed; the graph holds the observations."""
        del at, history
        refused = len(self._episode.refused) > self._refused  # a refusal is no evidence against the path
        if not (self._mismatch or self._followed or refused):
            self._verification.contradicted()
        return await self._chain()

    def ended(self, end: EpisodeEnded) -> None:
        """Count a committed path that the environment has ended in failure, as TAPE does under verification."""
        if end.end_state == "failure" and not end.limit:
            self._verification.contradicted()

    async def _chain(self) -> Chain:
        episode = self._episode
        while True:
            path = await self._verification.plan()
            if path is not None:
                break
            start_replanning(episode, "refused", episode.result.replans + 1)
        self._path, self._mismatch, self._followed, self._refused = path, False, False, len(episode.refused)
        episode.result.partial_walk |= path.partial
        edges = path.edges
        if any(edge.target == UNKNOWN for edge in edges):
            [edge] = edges
            return (probe(edge.action), self._adapter.along([episode.state], [])[-1])
        states = [episode.state, *(path.graph.state(edge.target) for edge in edges)]
        nodes = [edge.target for edge in edges]
        return chain_of(self._adapter, states, [edge.action for edge in edges], nodes, at_goal=path.at_goal)

    def saw(self, outcome: Outcome, verdict: Verdict, tail: Chain) -> str | None:
        """Record a step in graph and memory; with verification, return why the commitment no longer holds."""
        assert self._path is not None
        graph, memory, edges = self._path.graph, self._planner.memory, self._path.edges
        memory.add(outcome.before, outcome.action, outcome.after)
        left = sum(target.by is not None for target in tail)
        done: Edge = edges[len(edges) - left - verdict.k]  # the executed edge, even if later targets came true as well
        known = done.target != UNKNOWN and outcome.action == done.action
        if known and mismatched(self._episode, done.target):
            memory.contradict(outcome.before, outcome.action, graph.state(done.target))
        graph.certify(outcome.before, outcome.action, outcome.after)
        if not self._verification.monitor.verifies:
            return None
        seen = self._verification.monitor.saw(outcome.before, outcome.action, edges[len(edges) - left :])
        if seen == "contradicted":
            return "an observation contradicts the path"
        self._followed = self._path.partial and left == 0
        self._mismatch = seen == "open" and self._episode.env.domain.key(outcome.after) != done.target
        return "the verifier no longer accepts the rest" if self._mismatch else None


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
