"""The adapter of environments with typed predicates, which are all checked without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.chat_prompts import PredicatePrompts
from tape.methods.sdp.lm_operators import LmPropose, LmRealize
from tape.methods.sdp.operators import Check, Operators, Outcome, Validate, Verdict, check_required
from tape.methods.sdp.target import Chain, Fields, Required, Target
from tape.protocols import Action, State
from tape.protocols.domain import Domain, require_predicates
from tape.protocols.predicates import Assignment, Predicate

PROBE = "probe"
"""Kind of a target that explores the outcome of an action."""


def in_words(requires: Required) -> str:
    """Typed predicates as one phrase."""
    return " and ".join(f"{'' if value else 'not '}{predicate}" for predicate, value in requires)


class PredicateValidate:
    """VALIDATE by the grounder: a predicate is certified only if the observed state grounds it.

    Args:
        domain: Grounds states.
        rejected: Why an observation certifies nothing, whatever the state; None if it may.
    """

    def __init__(self, domain: Domain, rejected: Callable[[Outcome], str | None] | None = None) -> None:
        self._domain, self._predicates, self._rejected = domain, require_predicates(domain, "sdp"), rejected

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """k, from the state after the action; only the environment certifies the goal."""
        refused = self._rejected(outcome) if self._rejected is not None else None
        if refused is not None:
            return Verdict((), refused)
        known = self._predicates.ground(outcome.after)
        checks: list[Check] = []
        for target in tail:
            checks.append(self._check(target, known, outcome, head=not checks))
            if not checks[-1].holds:
                return Verdict(tuple(checks), checks[-1].evidence)
        return Verdict(tuple(checks))

    def _check(self, target: Target, known: Assignment, outcome: Outcome, *, head: bool) -> Check:
        if target.goal:
            evidence = "the environment reports the task as done" if outcome.completed else "the task is not done"
            return Check(outcome.completed, "deterministic", evidence)
        if not target.requires:
            if not head:
                return Check(False, "deterministic", "its own action was not taken yet")
            changed = self._domain.key(outcome.before) != self._domain.key(outcome.after)
            return Check(changed, "deterministic", "the state has changed" if changed else "nothing has changed")
        return check_required(target.requires, known)


class PredicateAdapter:
    """An adapter made from declared predicates.

    The target at a node requires the relevant predicates among the declared effects of its edge and the preconditions
    of the next edge, so that assumptions of a plan are checked before the plan acts on them. If everything is observed
    (``whole``), it requires all relevant predicates that are true at the node.

    Args:
        domain: Declares predicates.
        caps: The caps.
        kind: The kind of a target, from its action.
        goal: The goal in words.
        telling: Whether a predicate is relevant for the target of an action, given that action and the next, if any.
        whole: Whether a target requires its whole node.
        fields: The fields of a state; the domain's key by default.
        rules: Rules of the environment for a general model.
        forms: The predicates that a general model may write, as examples: ``holding(KIND)``.
        rejected: Why an observation certifies nothing (:class:`PredicateValidate`).
    """

    def __init__(
        self,
        domain: Domain,
        caps: Caps,
        *,
        kind: Callable[[Action], str],
        goal: str,
        telling: Callable[[Predicate, Sequence[Action]], bool],
        whole: bool = False,
        fields: Callable[[State], Fields] | None = None,
        rules: str = "",
        forms: Sequence[str] = (),
        rejected: Callable[[Outcome], str | None] | None = None,
    ) -> None:
        self._domain, self.caps, self._rejected = domain, caps, rejected
        self._predicates = require_predicates(domain, "sdp")
        self._kind, self._goal = kind, goal
        self._telling, self._whole = telling, whole
        self._rules, self._forms = rules, forms
        self._fields = fields or (lambda state: (("state", domain.key(state)),))

    def fields(self, state: State) -> Fields:
        """The fields of a state."""
        return self._fields(state)

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """One target per edge, then the goal."""
        targets = []
        for i, (before, action, after) in enumerate(zip(states, actions, states[1:], strict=False)):
            requires = self._required(before, actions[i : i + 2], after)
            targets.append(Target(_text(requires, action), self._kind(action), requires))
        return (*targets, self._end())

    def _required(self, before: State, actions: Sequence[Action], after: State) -> Required:
        """The requirements of the first action's target, given the next action, if any."""
        known = self._predicates.ground(after)
        if self._whole:
            return tuple(sorted((p, True) for p, value in known.items() if value and self._telling(p, actions)))
        action, *following = actions
        effects = self._predicates.effects(action, self._predicates.ground(before))
        # Effects that the grounder never asserts, for instance where the agent is not, cannot be checked.
        needed = {p: value for p, value in effects.items() if value is not None and known.get(p) is value}
        for each in following:
            needed |= self._predicates.preconditions(each)
        return tuple(sorted((p, bool(value)) for p, value in needed.items() if self._telling(p, actions)))

    def validator(self, tools: Tools) -> Validate:
        """VALIDATE by the grounder."""
        del tools
        return PredicateValidate(self._domain, self._rejected)

    def operators(self, tools: Tools) -> Operators | None:
        """Operators of a general model, whose typed predicates the grounder checks; None for other models."""
        if tools.roles.lm.prompt_format != "chat" or not self._forms:
            return None
        written = tools.roles.prompt_format
        prompts = PredicatePrompts(
            self._goal,
            self._end(),
            rules=self._rules,
            forms=self._forms,
            act=lambda at: written.act_request(at.state.projected, at.state.remaining, None, ()),
        )
        propose = LmPropose(prompts, tools)
        return Operators(propose, LmRealize(prompts, tools, written.read_act), self.validator(tools), propose)

    def _end(self) -> Target:
        return Target(self._goal, "goal", goal=True)


def _text(requires: Required, action: Action) -> str:
    return in_words(requires) if requires else f"{action!r} has changed something"


def probe(action: Action | None) -> Target:
    """The target that explores the outcome of an action."""
    return Target(f"the outcome of {action!r} is known", PROBE, by=action)
