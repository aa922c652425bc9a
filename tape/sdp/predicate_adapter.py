"""The adapter of environments that declare typed predicates: everything is checked, no model judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.errors import InvalidOutputError
from tape.protocols import Action, State
from tape.protocols.domain import Domain, require_predicates
from tape.protocols.predicates import Assignment, Predicate
from tape.sdp.adapter import Caps, Tools
from tape.sdp.lm_operators import LmPropose, LmRealize
from tape.sdp.operators import Check, Operators, Outcome, Validate, Verdict, check_required
from tape.sdp.predicate_prompts import PredicatePrompts, read_literal
from tape.sdp.target import Chain, Fields, Required, Target

PROBE = "probe"
"""Kind of a target that only asks what an action does."""


def in_words(requires: Required) -> str:
    """Typed predicates as one phrase."""
    return " and ".join(f"{'' if value else 'not '}{predicate}" for predicate, value in requires)


class PredicateValidate:
    """VALIDATE by the grounder: a predicate is certified where what was observed shows it, never where it may be so.

    Args:
        domain: Grounds states.
        rejected: Why an observation certifies nothing, whatever the state says; None where it may.
    """

    def __init__(self, domain: Domain, rejected: Callable[[Outcome], str | None] | None = None) -> None:
        self._domain, self._predicates, self._rejected = domain, require_predicates(domain, "sdp"), rejected

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """k, from the state after the action; the goal is certified by the environment alone."""
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
            said = "the environment reports the task as done" if outcome.completed else "the task is not done"
            return Check(outcome.completed, "deterministic", said)
        if not target.requires:
            if not head:
                return Check(False, "deterministic", "its own action was not taken yet")
            changed = self._domain.key(outcome.before) != self._domain.key(outcome.after)
            return Check(changed, "deterministic", "the state has changed" if changed else "nothing has changed")
        return check_required(target.requires, known)


class PredicateAdapter:
    """An adapter made from declared predicates.

    The target at a node requires, of the predicates that are telling, what the edge into it declares to bring about
    and what the next edge needs: so what a plan assumes is found out before it is acted upon. Where everything is seen
    (``whole``) it requires all telling predicates that are true at the node, which is the node itself.

    Args:
        domain: Declares predicates.
        caps: The caps.
        kind: The kind of a target, from its action.
        goal: The goal in words.
        telling: Whether a predicate belongs in the target of an action, given that action and the next, if any.
        whole: Whether a target requires its whole node.
        fields: What of a state is shown; the domain's key by default.
        rules: What a general model has to know of the environment.
        forms: The predicates that a general model may write, as examples: ``holding(KIND)``.
        rejected: Why an observation certifies nothing (:class:`PredicateValidate`).
        restored: The state that some fields were read from; without, records can be held against a replay alone.
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
        restored: Callable[[Mapping[str, Any]], State] | None = None,
    ) -> None:
        self._domain, self._caps, self._rejected = domain, caps, rejected
        self._predicates = require_predicates(domain, "sdp")
        self._restored = restored
        self._kind, self._goal = kind, goal
        self._telling, self._whole = telling, whole
        self._rules, self._forms = rules, forms
        self._fields = fields or (lambda state: (("state", domain.key(state)),))

    @property
    def caps(self) -> Caps:
        """The caps."""
        return self._caps

    def fields(self, state: State) -> Fields:
        """What is shown of a state."""
        return self._fields(state)

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """One target per edge, then the goal."""
        targets = []
        for i, (before, action, after) in enumerate(zip(states, actions, states[1:], strict=False)):
            requires = self._required(before, actions[i : i + 2], after)
            targets.append(Target(_told(requires, action), self._kind(action), requires))
        return (*targets, self._end())

    def _required(self, before: State, actions: Sequence[Action], after: State) -> Required:
        """What the first action's target requires; a second one comes next."""
        known = self._predicates.ground(after)
        if self._whole:
            return tuple(sorted((p, True) for p, value in known.items() if value and self._telling(p, actions)))
        action, *following = actions
        effects = self._predicates.effects(action, self._predicates.ground(before))
        # What the grounder never says, for instance where the agent is not, cannot be checked.
        needed = {p: value for p, value in effects.items() if value is not None and known.get(p) is value}
        for each in following:
            needed |= self._predicates.preconditions(each)
        return tuple(sorted((p, bool(value)) for p, value in needed.items() if self._telling(p, actions)))

    def validator(self, tools: Tools) -> Validate:
        """By the grounder."""
        del tools
        return PredicateValidate(self._domain, self._rejected)

    def operators(self, tools: Tools) -> Operators | None:
        """A general model proposes typed predicates and acts freely; None for models that know the task's roles alone.

        What they propose is checked by the grounder like any other chain.
        """
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

    def restored(self, fields: Mapping[str, Any]) -> State:
        """The state that some fields were read from.

        Raises:
            ValueError: There is none.
            NotImplementedError: Nothing here says how it would be found.
        """
        if self._restored is None:
            raise NotImplementedError("its fields are for reading alone")
        return self._restored(fields)

    def facts(self, target: Target, state: State) -> Sequence[tuple[str, bool]]:
        """What the grounder says of what a target requires."""
        return check_required(target.requires, self._predicates.ground(state)).facts

    def at_goal(self, state: State) -> bool | None:
        """Whether the declared goal holds, where everything is seen."""
        if not self._whole:
            return None
        known = self._predicates.ground(state)
        return any(all(known.get(p) is value for p, value in goal.items()) for goal in self._predicates.goals())

    def retold(self, target: Target) -> Target | None:
        """The goal's words, or those of its predicates; what a model has written must say the same predicates.

        Raises:
            ValueError: Its words are none of predicates, or of others.
        """
        if target.goal:
            return replace(self._end(), node=target.node, by=target.by)
        if target.by is None and target.requires:
            arity = {predicate.name: len(predicate.args) for predicate, _ in target.requires}
            try:
                written = {read_literal(part, arity) for part in target.text.split(" and ")}
            except InvalidOutputError as error:
                raise ValueError(f"{target.text!r} does not say what it requires: {error}") from error
            requires = tuple(sorted(written))
            return replace(target, requires=requires, kind=requires[0][0].name)
        if target.kind == PROBE:
            return probe(target.by)
        if target.by is None:
            return None
        return replace(target, text=_told(target.requires, target.by), kind=self._kind(target.by))

    def _end(self) -> Target:
        return Target(self._goal, "goal", goal=True)


def _told(requires: Required, action: Action) -> str:
    return in_words(requires) if requires else f"{action!r} has changed something"


def probe(action: Action | None) -> Target:
    """The target that only asks what an action does."""
    return Target(f"the outcome of {action!r} is known", PROBE, by=action)
