"""BuildPlanGraph (TAPE section 3.1; algorithm 1, line 5): rollouts become paths of one plan graph.

:func:`fold` merges them; :func:`mark_observed` and :func:`rule_out` say what observations and refusals
make of its edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, product

from tape.choice.graph import PlanGraph
from tape.engine.episode import Episode
from tape.engine.predict import Memory, Rollout
from tape.engine.unseen import FoldedPlan
from tape.protocols import Action, Domain, Plan, State
from tape.protocols.parts import Outcomes

MOST_STATES = 4000
"""About the most states that are added for one plan; after that only the plan's own variants are followed."""

MOST_TRIED = 32
"""Plans that are tried on copies for one plan whose actions have variants."""


def each_variant(declared: Outcomes, items: Sequence[tuple[State, Plan]]) -> list[tuple[State, Plan]]:
    """Plans, each followed by those that replace actions of it by variants, up to :data:`MOST_TRIED` of each."""
    pairs = []
    for state, plan in items:
        paths = product(*(dict.fromkeys([action, *declared.variants(state, action)]) for action in plan.actions))
        pairs += [(state, replace(plan, actions=path)) for path in islice(paths, MOST_TRIED)]
    return pairs


def fold(
    graph: PlanGraph, domain: Domain, rollouts: Sequence[Rollout], *, variants: bool = True
) -> dict[str, tuple[State, list[FoldedPlan]]]:
    """Fold rollouts into a graph.

    Args:
        graph: The graph.
        domain: The domain.
        rollouts: The rollouts.
        variants: Add the variants of their actions where the domain declares outcomes; else they are plans already.

    Returns:
        The state and the plans of each node where plans begin, by its key.
    """
    folded: dict[str, tuple[State, list[FoldedPlan]]] = {}
    for rollout in rollouts:
        start, actions = rollout.start, rollout.actions
        if variants and domain.outcomes is not None:
            add_variants(graph, domain.key, domain.outcomes, start, actions)
        nodes = graph.fold([*map(domain.hooks.plain, [start, *rollout.states])], actions, rollout.confidences)
        folded.setdefault(nodes[0], (start, []))[1].append((actions, nodes))
    return folded


def mark_observed(graph: PlanGraph, memory: Memory) -> None:
    """Certify observed transitions, and contradict predictions that an observation has proven wrong."""
    for transition in memory.transitions:
        graph.certify(*transition)
    for prediction in memory.contradicted:
        graph.contradict(*prediction)


def rule_out(graph: PlanGraph, episode: Episode) -> None:
    """Contradict edges of refused actions, and edges of known no-ops from the current state."""
    here = episode.key(episode.state)
    for edge in list(graph.edges()):
        if edge.action in episode.refused or (edge.source == here and episode.is_no_op(edge.action)):
            graph.contradict(graph.state(edge.source), edge.action, graph.state(edge.target))


def shared_nodes(graph: PlanGraph) -> int:
    """Count the nodes that two or more distinct plans of a fresh graph pass through, without their starts."""
    paths = {plan for plan in graph.plans if plan}
    starts = {graph.edge(plan[0]).source for plan in paths}
    passing = Counter(node for plan in paths for node in {graph.edge(edge).target for edge in plan} - starts)
    return sum(count > 1 for count in passing.values())


def add_variants(
    graph: PlanGraph, key_of: Callable[[State], str], declared: Outcomes, state: State, actions: Sequence[Action]
) -> None:
    """Add every path that replaces steps of a plan by variants of them.

    The plan supports all these paths equally: the model guesses a variant, the solver chooses one. Edges are added in
    the order in which the domain lists the variants, before the plan itself is folded, because of equally good paths
    the solver takes the one whose edges came first.
    """
    path = {key_of(state)}
    own, layer = state, {key_of(state): state}
    added: list[str] = []
    for action in actions:
        after: dict[str, State] = {}
        for key, before in layer.items():
            # Past the limit only the plan itself is followed.
            options = declared.variants(before, action) if len(added) < MOST_STATES else [action]
            if len(added) >= MOST_STATES and key != key_of(own):
                continue
            for option in options:
                reached = declared.outcome(before, option).state
                if reached is not None:
                    after.setdefault(graph.add_variant(before, option, reached), reached)
        following = declared.outcome(own, action).state
        assert following is not None, "the plan is cut before an action that cannot be taken"
        own, layer = following, after
        path.add(key_of(own))
        added += [key for key in after if key not in path]
    graph.support(dict.fromkeys(added))
