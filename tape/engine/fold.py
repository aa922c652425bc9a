"""Where a plan graph may still grow: nodes that a path can reach and from which nobody has planned yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from tape.budget import Resources
from tape.engine.graph import HOPELESS, PlanGraph
from tape.protocols import Action, State
from tape.protocols.parts import Outcomes


@dataclass(frozen=True)
class Frontier:
    """A node to plan from.

    Attributes:
        node: Its key.
        moves: Moves of the shortest way to it.
        remaining: Counts of each capped resource left after that way.
    """

    node: str
    moves: int
    remaining: Mapping[str, int]


def frontier(
    graph: PlanGraph, start: str, remaining: Mapping[str, int], planned_from: Collection[str]
) -> list[Frontier]:
    """Nodes worth planning from, nearest first; nodes equally near in the order of their appearance.

    Of several ways to a node the one with the fewest moves counts. Left out are nodes scored as goal or as
    hopeless, nodes from which plans were sampled already, and nodes at which the cheapest edge of the graph cannot be
    paid any more.

    Args:
        graph: The annotated graph.
        start: Key of the current node.
        remaining: Counts left of each capped resource.
        planned_from: Keys of nodes from which plans were sampled.
    """
    edges = graph.usable_edges()
    cheapest = {kind: min((edge.cost[kind] or 0 for edge in edges), default=0) for kind in remaining}
    out: dict[str, list[tuple[str, Resources]]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append((edge.target, edge.cost))
    reached = {start: Frontier(start, 0, dict(remaining))}
    queue = [start]
    for node in queue:  # grows while it is read: breadth first
        here = reached[node]
        if graph.attributes(node)["goal"]:
            continue
        for target, cost in out.get(node, ()):
            left = {kind: count - (cost[kind] or 0) for kind, count in here.remaining.items()}
            if target not in reached and min(left.values(), default=0) >= 0:
                reached[target] = Frontier(target, here.moves + 1, left)
                queue.append(target)
    return [
        found
        for node, found in reached.items()
        if node not in planned_from
        and not graph.attributes(node)["goal"]
        and graph.attributes(node)["reward"] > HOPELESS
        and all(found.remaining[kind] >= count for kind, count in cheapest.items())
    ]


MOST_STATES = 4000
"""No more states than about so many are added for one plan; what comes after keeps the plan's own variants."""


def possible(declared: Outcomes, state: State, actions: Sequence[Action]) -> list[Action]:
    """A plan with each action that cannot be taken replaced by the first of its variants that can, as far as that goes.

    Which variant a plan names is no reason to drop the plan: the call may have failed by that one alone.

    Args:
        declared: Variants and outcomes.
        state: Where the plan starts.
        actions: The plan.
    """
    found: list[Action] = []
    for action in actions:
        tried = dict.fromkeys([action, *declared.variants(state, action)])
        options = [(option, declared.outcome(state, option).state) for option in tried]
        option, reached = next(((option, after) for option, after in options if after is not None), (action, None))
        found.append(option)
        if reached is None:
            break
        state = reached
    return found


def add_variants(
    graph: PlanGraph, key_of: Callable[[State], str], declared: Outcomes, state: State, actions: Sequence[Action]
) -> None:
    """Add every path that does what a folded plan does with any of the variants at each step.

    The plan supports all these paths alike: which variant it names is the model's guess, the choice is the solver's.
    Edges are added in the order in which the domain names the variants, and of paths of equal worth the solver takes
    the one whose edges came first; so this comes before the plan itself is folded.

    Args:
        graph: Gets the paths.
        key_of: The identity of a state.
        declared: Variants and outcomes.
        state: Where the plan starts.
        actions: The plan, cut where it becomes invalid.
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
