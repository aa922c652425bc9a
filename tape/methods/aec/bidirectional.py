"""Plans by bidirectional search, with unknown preconditions assumed or established (SQ-BCP; details ours).

A forward frontier of partial assignments grows from the grounded facts, a backward one of sub-goals from each
alternative of the goal. Every precondition is satisfied, violated or unknown. An unknown one is *assumed*, and is then
an unknown precondition of the hypothesis that is queried before commitment; or it is *established* by actions. A
distance ranks and prunes nodes but accepts nothing: a plan is accepted if progression from the start, under its
assumptions, reaches the goal. The search is deterministic and bounded, so it is incomplete. It is width-based [ours],
with fewer nodes and more diverse plans: a forward node is kept only if two values that differ from the start occur
together for the first time among nodes of the same assumptions, sets of assumptions are taken in turn, steps that the
next one undoes are dropped, and one plan is kept for each set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tape.errors import ConfigError
from tape.methods.aec.bidirectional_progress import DeclaredProgression, Node, label_of
from tape.protocols import Action, Plan, State
from tape.protocols.domain import Domain, require_predicates
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Predicate

Assumable = Callable[[State, Sequence[Action], Predicate], bool]
"""Whether a plan of these actions from a state may assume an unknown predicate."""

Subgoal = frozenset[tuple[Predicate, bool]]


@dataclass(frozen=True)
class SearchLimits:
    """Bounds of the search.

    Attributes:
        length: Most actions of a plan.
        nodes: Most nodes of both frontiers together.
        width: Most nodes kept of each length, on each side.
        assumptions: Most unknown preconditions that a plan may assume.
    """

    length: int = 30
    nodes: int = 4000
    width: int = 64
    assumptions: int = 3


@dataclass(frozen=True)
class FoundPlan:
    """An accepted plan.

    Attributes:
        actions: In order.
        assumed: The unknown preconditions that it assumes, with their values at the start.
    """

    actions: tuple[Action, ...]
    assumed: Mapping[Predicate, bool]


def queryable(domain: Predicates) -> Assumable:
    """Allow assumptions only of preconditions that can be queried and that no actions establish.

    So a search assumes neither the goal nor what an action can make true (SQ-BCP resolves an unknown precondition by a
    query or by establishing actions; which of them is preferred is ours).
    """

    def assumable(state: State, actions: Sequence[Action], predicate: Predicate) -> bool:
        needed = any(predicate in domain.preconditions(action) for action in actions)
        established = any(domain.establishing(state, predicate, value) is not None for value in (True, False))
        return needed and not established and domain.query(state, predicate) is not None

    return assumable


def search(
    domain: Predicates,
    state: State,
    actions: Sequence[Action],
    m: int,
    limits: SearchLimits,
    assumable: Assumable = lambda *_: True,
) -> list[FoundPlan]:
    """At most ``m`` plans of these actions from a state, by length, number of assumptions, and text.

    Args:
        domain: Declares preconditions, effects, goals, rules and establishing actions.
        state: Where to start.
        actions: The actions that plans may consist of.
        m: Most plans.
        limits: Bounds of the search.
        assumable: What may be assumed if it is unknown.
    """
    return _Search(domain, state, actions, m, limits, assumable).run()


class _Search:
    """One search; both frontiers grow a length at a time, the smaller one first."""

    def __init__(
        self,
        domain: Predicates,
        state: State,
        actions: Sequence[Action],
        m: int,
        limits: SearchLimits,
        assumable: Assumable,
    ) -> None:
        self._domain, self._state, self._m, self._limits = domain, state, m, limits
        able = cache(lambda p: assumable(state, actions, p))
        self._progress = DeclaredProgression(domain, limits.assumptions, able)
        root = self._progress.root(domain.ground(state))
        self._needs = {action: domain.preconditions(action) for action in dict.fromkeys(actions)}
        self._goals = [dict(goal) for goal in domain.goals()]
        self._forward: dict[int, list[Node]] = {0: [root]} if root else {}
        self._backward: list[list[tuple[tuple[Action, ...], Subgoal]]] = [
            [((), frozenset(goal.items())) for goal in self._goals]
        ]
        # Effects may depend on known values; regression uses those of the start, and progression checks the result.
        context = root.view if root else {}
        self._effects = {action: domain.effects(action, context) for action in self._needs}
        self._seen_forward = {root.key} if root else set()
        self._seen_backward = {subgoal for _, subgoal in self._backward[0]}
        self._made = len(self._seen_forward) + len(self._seen_backward)
        self._root, self._depth = root, 0
        self._pairs: set[tuple[Subgoal, Subgoal]] = set()
        self._found: dict[tuple[Action, ...], FoundPlan] = {}
        self._tried: set[tuple[tuple[Action, ...], tuple[tuple[Predicate, bool], ...]]] = set()

    def run(self) -> list[FoundPlan]:
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
        # Found plans are no longer than both frontiers together, and later ones are longer. If effects depend on the
        # state, regression may miss a shorter plan.
        enough = len(self._found) >= self._m
        return enough or not self._waiting() or self._depth >= self._limits.length or self._made >= self._limits.nodes

    def _distance(self, view: Assignment) -> float:
        """D: the unmet predicates of the nearest goal alternative."""
        return min((_unmet(view, goal.items()) for goal in self._goals), default=0.0)

    def _best(self, nodes: list[Node]) -> list[Node]:
        """Prune to the width: half of it by distance, for progress, half by sets of assumptions in turn."""
        order = sorted(nodes, key=lambda n: (self._distance(n.view), len(n.assumed), n.actions))
        half = self._limits.width // 2
        turn: Counter[Subgoal] = Counter()
        ranked = []
        for place, node in enumerate(order):
            assumed = frozenset(node.assumed.items())
            turn[assumed] += place >= half
            ranked.append((turn[assumed] if place >= half else 0, place, node))
        return [node for *_, node in sorted(ranked, key=lambda item: item[:2])][: self._limits.width]

    def _advance(self) -> None:
        """Expand the forward nodes of the current length."""
        nodes = self._best(self._forward.get(self._depth, []))
        self._forward[self._depth] = nodes
        for node in nodes:
            for action, needs in self._needs.items():
                if self._wasted(node, action, needs):
                    continue
                for after in self._successors(node, action, needs):
                    fresh = len(after.actions) <= self._limits.length and after.key not in self._seen_forward
                    if fresh and self._is_novel(after):
                        self._seen_forward.add(after.key)
                        self._made += 1
                        self._forward.setdefault(len(after.actions), []).append(after)
        self._depth += 1

    def _wasted(self, node: Node, action: Action, needs: Assignment) -> bool:
        """Whether an action undoes all effects of the previous one and needs none of them."""
        if not node.actions:
            return False
        done = self._effects[node.actions[-1]]
        changed = {p for p, value in done.items() if value is not None and node.view.get(p) == value}
        effects = self._domain.effects(action, node.view)
        return changed.isdisjoint(needs) and all(p in effects and effects[p] != node.view.get(p) for p in changed)

    def _is_novel(self, node: Node) -> bool:
        """Record the pairs of values of a node; whether one is new among nodes of the same assumptions."""
        start = self._root.view if self._root else {}
        changed = sorted((p, v) for p, v in node.view.items() if start.get(p) != v)
        assumed = frozenset(node.assumed.items())
        pairs = {(assumed, frozenset((a, b))) for i, a in enumerate(changed) for b in changed[i:]}
        known = len(self._pairs)
        self._pairs |= pairs
        return len(self._pairs) > known

    def _successors(self, node: Node, action: Action, needs: Assignment) -> list[Node]:
        """The action with assumptions, and after establishing actions for each precondition that is not satisfied."""
        nodes = [self._progress.step(node, action)]
        for predicate, value in sorted(needs.items()):
            if label_of(node.view, predicate, value):
                continue
            # Declared for the start state; progression checks them here.
            establishing = self._domain.establishing(self._state, predicate, value)
            if establishing:
                after = self._progress.run(node, establishing)
                if after is not None and label_of(after.view, predicate, value):
                    nodes.append(self._progress.step(after, action))
        return [after for after in nodes if after is not None]

    def _regressed(self, layer: list[tuple[tuple[Action, ...], Subgoal]]) -> list[tuple[tuple[Action, ...], Subgoal]]:
        """The sub-goals one action earlier."""
        actions: list[tuple[tuple[Action, ...], Subgoal]] = []
        start = self._root.view if self._root else {}
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
                    actions.append(((action, *rest), earlier))
        return sorted(actions, key=lambda item: (_unmet(start, item[1]), item[0]))[: self._limits.width]

    def _meet(self, depth: int, layers: range) -> None:
        """Join forward nodes of one length with sub-goals that they do not violate; progression decides."""
        for node in self._forward.get(depth, []):
            for layer in layers:
                if depth + layer > self._limits.length:
                    continue
                for rest, subgoal in self._backward[layer]:
                    labels = [label_of(node.view, p, v) for p, v in subgoal]
                    # Rules may supply unknown values, so progression enforces the limit on assumptions.
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
            if any(f.assumed == dict(done.assumed) for f in self._found.values()):
                continue
            known = self._found.get(done.actions)
            if (known is None or len(done.assumed) < len(known.assumed)) and self._holds(done):
                self._found[done.actions] = FoundPlan(done.actions, dict(sorted(done.assumed.items())))

    def _holds(self, done: Node) -> bool:
        """Whether the plan reaches the goal from the start under exactly its assumptions."""
        start = self._progress.require(self._root, done.assumed) if self._root else None
        end = self._progress.run(start, done.actions) if start else None
        if end is None or len(end.assumed) != len(done.assumed):
            return False
        return any(all(label_of(end.view, p, v) for p, v in goal.items()) for goal in self._goals)


def _unmet(view: Assignment, wanted: Iterable[tuple[Predicate, bool]]) -> float:
    """The number of unmet predicates; an unknown one counts half."""
    return sum({True: 0.0, False: 1.0, None: 0.5}[label_of(view, p, v)] for p, v in wanted)


class BidirectionalProposer:
    """Implements :class:`tape.protocols.Proposer` by bidirectional search, without a language model.

    Raises:
        ConfigError: The domain declares no predicates; when it is asked, its actions are open.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._predicates = require_predicates(domain, "proposer='two_frontier'")
        self._assumable = queryable(self._predicates)

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """At most ``m`` plans from each start, none longer than the steps that remain; the seed is not used."""
        del seed
        return [self._plans(state, m, remaining.get("steps")) for state, remaining in starts]

    def _plans(self, state: State, m: int, steps: int | None) -> list[Plan]:
        actions, limits = self._domain.admissible(state), SearchLimits()
        if actions is None:
            raise ConfigError("the bidirectional search needs a list of actions, and this domain leaves them open")
        if steps is not None:
            limits = replace(limits, length=max(0, min(steps, limits.length)))
        return [Plan(plan.actions) for plan in search(self._predicates, state, actions, m, limits, self._assumable)]


proposer = BidirectionalProposer
"""The proposer of ``proposer="two_frontier"``."""
