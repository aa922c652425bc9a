"""BuildPlanGraph (TAPE section 3.1; algorithm 1, line 5): rollouts become paths of one plan graph.

:func:`fold` merges them, :func:`mark_observed` and :func:`rule_out` say of its edges what is known beyond predictions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tape.engine.episode import Episode
from tape.engine.graph import PlanGraph
from tape.engine.predict import Memory, Rollout
from tape.engine.unseen import FoldedPlan
from tape.protocols import Action, Domain, State
from tape.protocols.domain import map_plain
from tape.protocols.parts import Outcomes

MOST_STATES = 4000
"""No more states than about so many are added for one plan; what comes after keeps the plan's own variants."""


def fold(graph: PlanGraph, domain: Domain, rollouts: Sequence[Rollout]) -> dict[str, tuple[State, list[FoldedPlan]]]:
    """Fold rollouts into a graph.

    Returns:
        For the key of each node where plans begin, its state and those plans.
    """
    folded: dict[str, tuple[State, list[FoldedPlan]]] = {}
    for rollout in rollouts:
        start, actions = rollout.start, rollout.actions
        if domain.outcomes is not None:
            add_variants(graph, domain.key, domain.outcomes, start, actions)
        nodes = graph.fold(map_plain(domain, [start, *rollout.states]), actions, rollout.confidences)
        folded.setdefault(nodes[0], (start, []))[1].append((actions, nodes))
    return folded


def mark_observed(graph: PlanGraph, memory: Memory) -> None:
    """Certify what was observed, and contradict what an observation spoke against."""
    for transition in memory.transitions:
        graph.certify(*transition)
    for prediction in memory.contradicted:
        graph.contradict(*prediction)


def rule_out(graph: PlanGraph, episode: Episode) -> None:
    """Rule out what was refused, and from here what is known to change nothing, whatever was predicted of it."""
    here = episode.key(episode.state)
    for edge in list(graph.edges()):
        if edge.action in episode.refused or (edge.source == here and episode.is_no_op(edge.action)):
            graph.contradict(graph.state(edge.source), edge.action, graph.state(edge.target))


def shared_nodes(graph: PlanGraph) -> int:
    """Nodes that two or more different plans of a fresh graph pass through, where they start left out."""
    paths = {plan for plan in graph.plans if plan}
    starts = {graph.edge(plan[0]).source for plan in paths}
    passing = Counter(node for plan in paths for node in {graph.edge(edge).target for edge in plan} - starts)
    return sum(count > 1 for count in passing.values())


def add_variants(
    graph: PlanGraph, key_of: Callable[[State], str], declared: Outcomes, state: State, actions: Sequence[Action]
) -> None:
    """Add every path that does what a folded plan does with any of the variants at each step.

    The plan supports all these paths alike: which variant it names is the model's guess, the choice is the solver's.
    Edges are added in the order in which the domain names the variants, and of paths of equal worth the solver takes
    the one whose edges came first; so this comes before the plan itself is folded.
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
