"""Plans by search from both ends, with unknown preconditions assumed or established (SQ-BCP; details ours).

A forward frontier of partial assignments grows from what is grounded, a backward one of sub-goals from each alternative
of the goal. Every precondition is satisfied, violated or unknown; an unknown one is *assumed*, and is then an unknown
precondition of the hypothesis, to be queried before commitment, or *established* by a bridging action. A distance ranks
and prunes and accepts nothing: a plan is accepted where progression from the start, under its assumptions, reaches the
goal. The search is deterministic, bounded, and incomplete where the bounds bite.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from tape.aec.two_frontier_progress import Node, Progression, label_of
from tape.errors import ConfigError
from tape.protocols import Action, Plan, State
from tape.protocols.domain import Domain, require_predicates
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Predicate

__all__ = ["Found", "Label", "Limits", "TwoFrontierProposer", "label", "queryable", "search"]

Assumable = Callable[[State, Sequence[Action], Predicate], bool]
"""Whether a plan of these actions from a state may assume what is unknown of a predicate."""

Subgoal = frozenset[tuple[Predicate, bool]]


class Label(StrEnum):
    """What is known of a precondition."""

    SAT = "satisfied"
    VIOL = "violated"
    UNK = "unknown"


def label(known: Assignment, predicate: Predicate, value: bool) -> Label:
    """Label a precondition by what is known, or assumed, where it is needed."""
    return {True: Label.SAT, False: Label.VIOL, None: Label.UNK}[label_of(known, predicate, value)]


@dataclass(frozen=True)
class Limits:
    """What bounds the search.

    Attributes:
        length: Most actions of a plan.
        nodes: Most nodes made, both frontiers together.
        width: Most nodes kept of each length, on each side.
        assumptions: Most unknown preconditions that a plan may assume.
        tau: Scale of the score ``exp(-D / tau)``.
        novel: Drop forward nodes in which no two values that differ from the start come together for the first time
            among nodes of the same assumptions, take these in turn, drop steps that the next one undoes, and keep one
            plan for each set of assumptions (a width-based search [ours]): far fewer nodes, and more diverse plans.

    Raises:
        ConfigError: One of them is out of range.
    """

    length: int = 30
    nodes: int = 8000
    width: int = 128
    assumptions: int = 3
    tau: float = 2.0
    novel: bool = False

    def __post_init__(self) -> None:
        for name, least in (("length", 0), ("nodes", 1), ("width", 1), ("assumptions", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: expected at least {least}, got {getattr(self, name)!r}")
        if not 0 < self.tau < math.inf:
            raise ConfigError(f"tau: expected a positive number, got {self.tau!r}")


@dataclass(frozen=True)
class Found:
    """An accepted plan.

    Attributes:
        actions: In order.
        assumed: The unknown preconditions it rests on: their values at the start.
    """

    actions: tuple[Action, ...]
    assumed: Mapping[Predicate, bool]


def proposer(domain: Domain) -> TwoFrontierProposer:
    """What ``proposer="two_frontier"`` samples plans by.

    Raises:
        ConfigError: The domain declares no predicates.
    """
    assumable = queryable(require_predicates(domain, "proposer='two_frontier'"))
    return TwoFrontierProposer(domain, Limits(nodes=4000, width=64, novel=True), assumable=assumable)


def queryable(domain: Predicates) -> Assumable:
    """Only what a plan comes upon may be assumed, and only if it can be queried and nothing brings it about.

    So a search does not assume the goal, nor what it takes a step to make true: of an unknown precondition it chooses
    a bridging action where there is one (SQ-BCP resolves by query or bridge; which is preferred is ours).
    """

    def assumable(state: State, actions: Sequence[Action], predicate: Predicate) -> bool:
        needed = any(predicate in domain.preconditions(action) for action in actions)
        bridged = any(domain.bridge(state, predicate, value) is not None for value in (True, False))
        return needed and not bridged and domain.query(state, predicate) is not None

    return assumable


def search(
    domain: Predicates,
    state: State,
    actions: Sequence[Action],
    m: int,
    limits: Limits | None = None,
    assumable: Assumable | None = None,
) -> list[Found]:
    """Search for plans.

    Args:
        domain: Declares preconditions, effects, goals, rules and bridges.
        state: Where to start.
        actions: The actions that plans may consist of.
        m: Most plans.
        limits: Bounds of the search.
        assumable: What may be assumed where it is unknown; everything by default.

    Returns:
        At most ``m`` plans, the shortest of those found first, of equal length those that assume least, then in
        textual order. Shorter ones may exist where the limits bite, or where effects depend on the state.
    """
    return _Search(domain, state, actions, m, limits or Limits(), assumable).run()


class _Search:
    """One search; both frontiers grow a length at a time, the smaller one first."""

    def __init__(
        self,
        domain: Predicates,
        state: State,
        actions: Sequence[Action],
        m: int,
        limits: Limits,
        assumable: Assumable | None,
    ) -> None:
        self._domain, self._state, self._m, self._limits = domain, state, m, limits
        able = cache(lambda p: assumable is None or assumable(state, actions, p))
        self._progress = Progression(domain, limits.assumptions, able)
        root = self._progress.root(domain.ground(state))
        self._needs = {action: domain.preconditions(action) for action in dict.fromkeys(actions)}
        self._goals = [dict(goal) for goal in domain.goals()]
        self._forward: dict[int, list[Node]] = {0: [root]} if root else {}
        self._backward: list[list[tuple[tuple[Action, ...], Subgoal]]] = [
            [((), frozenset(goal.items())) for goal in self._goals]
        ]
        # Effects may depend on what is known; regression has only the start to go by, so it guesses until progressed.
        context = root.view if root else {}
        self._effects = {action: domain.effects(action, context) for action in self._needs}
        self._seen_forward = {root.key} if root else set()
        self._seen_backward = {subgoal for _, subgoal in self._backward[0]}
        self._made = len(self._seen_forward) + len(self._seen_backward)
        self._root, self._depth = root, 0
        self._pairs: set[tuple[Subgoal, Subgoal]] = set()
        self._found: dict[tuple[Action, ...], Found] = {}
        self._tried: set[tuple[tuple[Action, ...], tuple[tuple[Predicate, bool], ...]]] = set()

    def run(self) -> list[Found]:
        self._meet(0, range(1))
        while not self._is_over():
            back = len(self._backward)
            if self._backward[-1] and len(self._backward[-1]) < sum(map(len, self._waiting().values())):
                self._backward.append(self._regressed(self._backward[-1]))
                for depth in range(self._depth + 1):
                    self._meet(depth, range(back, back + 1))
            else:
                self._advance()
                self._meet(self._depth, range(back))
        order = sorted(self._found.values(), key=lambda f: (len(f.actions), len(f.assumed), f.actions))
        return order[: self._m]

    def _waiting(self) -> dict[int, list[Node]]:
        return {length: nodes for length, nodes in self._forward.items() if length >= self._depth and nodes}

    def _is_over(self) -> bool:
        # What is found is no longer than the frontiers reach together. What comes later is longer, but for plans that
        # regression missed: where effects depend on the state, a shorter one may be left unfound.
        enough = len(self._found) >= self._m
        return enough or not self._waiting() or self._depth >= self._limits.length or self._made >= self._limits.nodes

    def _distance(self, view: Assignment) -> float:
        """D: what the nearest alternative of the goal still lacks; an unknown value counts half."""
        weight = {True: 0.0, False: 1.0, None: 0.5}
        return min((sum(weight[label_of(view, p, v)] for p, v in goal.items()) for goal in self._goals), default=0.0)

    def _score(self, distance: float) -> float:
        return math.exp(-distance / self._limits.tau)

    def _best(self, nodes: list[Node]) -> list[Node]:
        """Prune to the width: by score, then fewest assumptions, then text."""
        order = sorted(nodes, key=lambda n: (-self._score(self._distance(n.view)), len(n.assumed), n.actions))
        if self._limits.novel:
            # Half as they come, so that some plans get on; half by all assumptions in turn, so that plans differ.
            half = self._limits.width // 2
            turn: Counter[Subgoal] = Counter()
            ranked = []
            for place, node in enumerate(order):
                assumed = frozenset(node.assumed.items())
                turn[assumed] += place >= half
                ranked.append((turn[assumed] if place >= half else 0, place, node))
            order = [node for *_, node in sorted(ranked, key=lambda item: item[:2])]
        return order[: self._limits.width]

    def _advance(self) -> None:
        """Expand the forward nodes of the present length."""
        nodes = self._best(self._forward.get(self._depth, []))
        self._forward[self._depth] = nodes
        for node in nodes:
            for action, needs in self._needs.items():
                if self._wasted(node, action, needs):
                    continue
                for after in self._successors(node, action, needs):
                    fresh = len(after.actions) <= self._limits.length and after.key not in self._seen_forward
                    if fresh and (not self._limits.novel or self._is_novel(after)):
                        self._seen_forward.add(after.key)
                        self._made += 1
                        self._forward.setdefault(len(after.actions), []).append(after)
        self._depth += 1

    def _wasted(self, node: Node, action: Action, needs: Assignment) -> bool:
        """Whether an action undoes all that the one before it has done without needing any of it."""
        if not node.actions or not self._limits.novel:
            return False
        done = self._effects[node.actions[-1]]
        changed = {p for p, value in done.items() if value is not None and node.view.get(p) == value}
        effects = self._domain.effects(action, node.view)
        return changed.isdisjoint(needs) and all(p in effects and effects[p] != node.view.get(p) for p in changed)

    def _is_novel(self, node: Node) -> bool:
        """Whether a pair of values is new among nodes of the same assumptions; notes it."""
        start = self._root.view if self._root else {}
        changed = sorted((p, v) for p, v in node.view.items() if start.get(p) != v)
        assumed = frozenset(node.assumed.items())
        pairs = {(assumed, frozenset((a, b))) for i, a in enumerate(changed) for b in changed[i:]}
        known = len(self._pairs)
        self._pairs |= pairs
        return len(self._pairs) > known

    def _successors(self, node: Node, action: Action, needs: Assignment) -> list[Node]:
        """The action as it is, its unknown preconditions assumed, and after a bridge for each that is not satisfied."""
        found = [self._progress.step(node, action)]
        for predicate, value in sorted(needs.items()):
            if label(node.view, predicate, value) is Label.SAT:
                continue
            # Declared from the start: whether it works here too is for progression to say.
            bridge = self._domain.bridge(self._state, predicate, value)
            if bridge:
                after = self._progress.run(node, bridge)
                if after is not None and label(after.view, predicate, value) is Label.SAT:
                    found.append(self._progress.step(after, action))
        return [after for after in found if after is not None]

    def _regressed(self, layer: list[tuple[tuple[Action, ...], Subgoal]]) -> list[tuple[tuple[Action, ...], Subgoal]]:
        """The sub-goals one action earlier."""
        found: list[tuple[tuple[Action, ...], Subgoal]] = []
        for rest, subgoal in layer:
            wanted = dict(subgoal)
            for action, effects in self._effects.items():
                touched = {p: v for p, v in effects.items() if p in wanted}
                if not touched or any(value != wanted[p] for p, value in touched.items()):
                    continue
                needs = {p: v for p, v in wanted.items() if p not in touched}
                if any(needs.get(p, v) != v for p, v in self._needs[action].items()):
                    continue
                earlier = frozenset({**needs, **self._needs[action]}.items())
                if earlier not in self._seen_backward:
                    self._seen_backward.add(earlier)
                    self._made += 1
                    found.append(((action, *rest), earlier))
        return sorted(found, key=lambda item: (-self._score(self._gap(item[1])), item[0]))[: self._limits.width]

    def _gap(self, subgoal: Subgoal) -> float:
        """D seen from the other side: what the start lacks of a sub-goal."""
        view = self._root.view if self._root else {}
        return sum({True: 0.0, False: 1.0, None: 0.5}[label_of(view, p, v)] for p, v in subgoal)

    def _meet(self, depth: int, layers: range) -> None:
        """Join forward nodes of one length with sub-goals that nothing in them violates; progression decides."""
        for node in self._forward.get(depth, []):
            for layer in layers:
                if depth + layer > self._limits.length:
                    continue
                for rest, subgoal in self._backward[layer]:
                    labels = [label_of(node.view, p, v) for p, v in subgoal]
                    # Rules may close gaps of a sub-goal, so more than may be assumed is left to progression to refuse.
                    if False not in labels:
                        self._accept(node, rest)

    def _accept(self, node: Node, rest: tuple[Action, ...]) -> None:
        trial = (node.actions + rest, tuple(sorted(node.assumed.items())))
        if trial in self._tried:
            return
        self._tried.add(trial)
        end = self._progress.run(node, rest)
        if end is None:
            return
        ends = [done for goal in self._goals if (done := self._progress.require(end, goal)) is not None]
        for done in sorted(ends, key=lambda n: (len(n.assumed), sorted(n.assumed.items()))):
            if self._limits.novel and any(f.assumed == dict(done.assumed) for f in self._found.values()):
                continue
            known = self._found.get(done.actions)
            if (known is None or len(done.assumed) < len(known.assumed)) and self._holds(done):
                self._found[done.actions] = Found(done.actions, dict(sorted(done.assumed.items())))

    def _holds(self, done: Node) -> bool:
        """Whether the plan reaches the goal from the start, with all its assumptions made there and no others."""
        start = self._progress.require(self._root, done.assumed) if self._root else None
        end = self._progress.run(start, done.actions) if start else None
        if end is None or len(end.assumed) != len(done.assumed):
            return False
        return any(all(label_of(end.view, p, v) for p, v in goal.items()) for goal in self._goals)


class TwoFrontierProposer:
    """Implements :class:`tape.protocols.Proposer` without a language model.

    Args:
        domain: Declares the predicates.
        limits: Bounds of each search.
        assumable: What plans may assume where it is unknown; everything by default.
        actions: The actions that plans from a state may consist of. By default those that are admissible there, which
            is enough where the same actions are named everywhere; a domain that lists only what can be done at once
            needs all its actions given here.
    """

    def __init__(
        self,
        domain: Domain,
        limits: Limits | None = None,
        actions: Callable[[State], Sequence[Action]] | None = None,
        assumable: Assumable | None = None,
    ) -> None:
        self._domain, self._limits, self._actions = domain, limits or Limits(), actions
        self._predicates = require_predicates(domain, "the two-frontier proposer")
        self._assumable = assumable

    def hypotheses(self, state: State, m: int, steps: int | None = None) -> list[Found]:
        """At most ``m`` plans with what they assume.

        Args:
            state: Where to start.
            m: Most plans.
            steps: Most actions, where they are limited.

        Raises:
            ConfigError: The actions of the domain are open, and none were given.
        """
        actions = self._actions(state) if self._actions else self._domain.admissible(state)
        if actions is None:
            raise ConfigError(
                "the two-frontier proposer needs a list of actions: this domain leaves them open, so pass actions="
            )
        limits = self._limits
        if steps is not None and steps < limits.length:
            limits = replace(limits, length=max(0, steps))
        return search(self._predicates, state, actions, m, limits, self._assumable)

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """At most ``m`` plans from each start, none longer than the steps that remain; the seed is not used."""
        del seed
        return [
            [Plan(found.actions) for found in self.hypotheses(state, m, remaining.get("steps"))]
            for state, remaining in starts
        ]
