"""Progression of partial assignments with assumptions, for the bidirectional search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tape.protocols import Action
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, InferenceRule, Predicate


def label_of(known: Assignment, predicate: Predicate, value: bool) -> bool | None:
    """The label of a precondition: True (Sat), False (Viol) or None (Unk)."""
    truth = known.get(predicate)
    return None if truth is None else truth == value


@dataclass(frozen=True, eq=False)
class Node:
    """What holds after some actions, if the assumptions about the start are true.

    Attributes:
        actions: The actions from the start.
        base: Values that are grounded, assumed or effects of actions.
        view: Their closure under the domain's rules.
        assumed: Values at the start that are not grounded.
        lost: Predicates that an action may have changed: they can no longer be assumed of the start.
    """

    actions: tuple[Action, ...]
    base: Mapping[Predicate, bool]
    view: Mapping[Predicate, bool]
    assumed: Mapping[Predicate, bool]
    lost: frozenset[Predicate]

    @cached_property
    def key(self) -> object:
        """Identity: nodes with the same key lead to the same plans."""
        return frozenset(self.base.items()), frozenset(self.assumed.items()), self.lost


class DeclaredProgression:
    """Applies actions as the domain declares them.

    Args:
        domain: Declares preconditions, effects and rules.
        assumptions: Most assumptions of a node.
        assumable: Whether a predicate that is unknown at the start may be assumed.
    """

    def __init__(
        self, domain: Predicates, assumptions: int, assumable: Callable[[Predicate], bool] = lambda _: True
    ) -> None:
        self._domain, self._assumptions, self._assumable = domain, assumptions, assumable
        self._rules: Sequence[InferenceRule] = domain.rules()

    def root(self, grounded: Assignment) -> Node | None:
        """The start; None if the rules contradict the grounded values."""
        return self._node((), dict(grounded), {}, frozenset())

    def run(self, node: Node, actions: Sequence[Action]) -> Node | None:
        """Apply several actions; None if one of them cannot be applied."""
        current: Node | None = node
        for action in actions:
            if current is None:
                return None
            current = self.step(current, action)
        return current

    def step(self, node: Node, action: Action) -> Node | None:
        """Apply an action, assuming its unknown preconditions; None if one is violated or may not be assumed."""
        able = self.require(node, self._domain.preconditions(action))
        if able is None:
            return None
        base, lost = dict(able.base), set(able.lost)
        for predicate, value in self._domain.effects(action, able.view).items():
            lost.add(predicate)
            if value is None:
                base.pop(predicate, None)
            else:
                base[predicate] = value
        return self._node((*able.actions, action), base, able.assumed, frozenset(lost))

    def require(self, node: Node, needed: Assignment) -> Node | None:
        """The node with the needed values, assumed if they are unknown; None if that is impossible."""
        current: Node | None = node
        for predicate, value in sorted(needed.items()):
            if current is None:
                return None
            known = label_of(current.view, predicate, value)
            if known is None:
                # An action may invalidate a derived value, which the base lacks; it must not be assumed again.
                if predicate in current.lost or len(current.assumed) >= self._assumptions:
                    return None
                if not self._assumable(predicate):
                    return None
                assumed = {**current.assumed, predicate: value}
                current = self._node(current.actions, {**current.base, predicate: value}, assumed, current.lost)
            elif not known:
                return None
        return current

    def _node(
        self,
        actions: tuple[Action, ...],
        base: dict[Predicate, bool],
        assumed: Mapping[Predicate, bool],
        lost: frozenset[Predicate],
    ) -> Node | None:
        """Close a node under the rules; None if they contradict it."""
        view = dict(base)
        grows = True
        while grows:
            grows = False
            for rule in self._rules:
                for predicate, value in rule(view).items():
                    known = view.get(predicate)
                    if known is None:
                        view[predicate] = value
                        grows = True
                    elif known != value:
                        return None
        return Node(actions, base, view, assumed, lost)
