"""Curation: an exact choice of the items of a belief that are kept (CGDP section 5.1 and appendix H.4).

In the paper a model rewrites its belief. Here the model ranks the items, and the solver keeps the subset with the
highest total value within K items, facts and open questions together, and a cap on tokens. No text is rewritten, so no
quote can change. A belief within both caps is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import solvers
from solvers import PathProblem
from solvers.errors import BackendError
from tape.methods.cgdp.view import Belief


@dataclass(frozen=True)
class BeliefCaps:
    """What a belief may hold.

    Attributes:
        trigger: More items than this start curation.
        target: Most items that curation keeps.
        tokens: Most tokens of the belief in a prompt; None: no cap.
    """

    trigger: int
    target: int
    tokens: int | None = None


def needs_curation(belief: Belief, caps: BeliefCaps, size: Callable[[Belief], int]) -> bool:
    """Whether a belief is over a cap.

    Args:
        belief: The belief.
        caps: The caps.
        size: Tokens of a belief in a prompt, without resolved predicates that the cap does not allow.
    """
    if not belief.items:
        return False
    return belief.items > caps.trigger or (caps.tokens is not None and size(belief) > caps.tokens)


def values_of(belief: Belief, ranking: Sequence[int]) -> tuple[float, ...]:
    """The value of each item, by rank; the first open question has a higher value than all others together.

    Args:
        belief: The belief.
        ranking: Positions of items, facts before questions, the most important first; items left out follow, newest
            first.
    """
    count = belief.items
    ranked = [i for i in dict.fromkeys(ranking) if 0 <= i < count]
    order = [*ranked, *(i for i in reversed(range(count)) if i not in ranked)]
    values = [0.0] * count
    for place, item in enumerate(order):
        values[item] = 2.0 * (count - place) - (1.0 if place >= len(ranked) else 0.0)
    if belief.questions:  # the next open question is always kept
        values[len(belief.facts)] = 2.0 * sum(values) + 1.0
    return tuple(values)


def curated(belief: Belief, values: Sequence[float], caps: BeliefCaps, size: Callable[[Belief], int]) -> Belief:
    """The items to keep.

    Args:
        belief: The belief.
        values: The value of each item, facts before questions; positive.
        caps: The caps.
        size: Tokens of a belief in a prompt.

    Raises:
        BackendError: The solver has failed.
    """
    if not needs_curation(belief, caps, size):
        return belief
    cap = caps.tokens
    # Tokenizers may count a whole differently from the sum of its parts: the cap on the sum is lowered until the whole
    # fits.
    allowed = cap
    while True:
        kept = _kept(belief, values, min(caps.target, belief.items), allowed, size)
        over = size(kept) - cap if cap is not None else 0
        if over <= 0 or not kept.items:
            return kept
        assert allowed is not None
        allowed -= over


def _kept(
    belief: Belief, values: Sequence[float], most: int, tokens: int | None, size: Callable[[Belief], int]
) -> Belief:
    """The best subset within both caps, as a path that takes or leaves each item in turn."""
    bare = replace(belief, facts=(), questions=(), resolved=())
    empty = size(bare)
    sizes = [size(replace(bare, facts=(fact,))) - empty for fact in belief.facts]
    sizes += [size(replace(bare, questions=(question,))) - empty for question in belief.questions]
    count = belief.items
    edges, costs, rewards = [], [], []
    for i in range(count):
        edges += [(i, i + 1), (i, i + 1)]
        costs += [(1, max(0, sizes[i])), (0, 0)]
        rewards += [float(values[i]), 0.0]
    budget = sum(map(abs, sizes)) if tokens is None else tokens - empty
    problem = PathProblem(
        n_nodes=count + 1,
        edges=edges,
        rewards=[0.0] * (count + 1),
        costs=costs,
        budgets=(most, max(0, budget)),
        start=0,
        terminals=[count],
        horizon=count,
        resources=("items", "tokens"),
        objective="visit",
        edge_rewards=rewards,
    )
    answer = solvers.solve(problem)
    if not answer.has_path:  # the path that leaves everything always exists
        raise BackendError(f"no items of a belief were selected ({answer.status.value}): {answer.message}")
    taken = {edge // 2 for edge in answer.edges if edge % 2 == 0}
    return replace(
        belief,
        facts=tuple(fact for i, fact in enumerate(belief.facts) if i in taken),
        questions=tuple(q for i, q in enumerate(belief.questions, len(belief.facts)) if i in taken),
    )
