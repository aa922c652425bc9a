"""The ``declared`` prompt format: all that is left to a model is to pick one of the chains or calls that are listed.

Every chain that is listed is legal and ends with what is wanted; prices are not shown. So
``declared:first`` plays the greedy choice, whose next call is always the cheapest that leads on; ``declared:random``
stands in for a model that knows what tools take and give and nothing about prices: a simulated one, to be called so.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from envs.tool_chains.typed.domain import TypedDomain, TypedState, as_action, as_typed
from envs.tool_chains.typed.prompts.common import TypedFormat
from tape.errors import InvalidOutputError
from tape.lm.base import Forced, OneOf, Request
from tape.protocols import Action, Plan, State
from tape.tools.calls import answer
from tape.tools.tool import Tool

LISTED, MOST_CALLS, TRIES = 32, 40, 80
"""Chains that a model chooses among; calls of one; how often one is drawn."""

_GIVE_UP = "nothing leads on"


class DeclaredTypedFormat(TypedFormat):
    """Prompts for models that answer choices alone."""

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """A choice of whole chains, the greedy one first."""
        del remaining
        chains = legal_chains(self._domain, as_typed(state), LISTED)
        options = tuple("\n".join(actions) for actions in chains) or (_GIVE_UP,)
        return Request(f"plan: {self._domain.key(state)}", 4000, constraint=OneOf(options), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """One action a line."""
        del state
        return Plan(()) if text == _GIVE_UP else Plan(tuple(text.split("\n")))

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Every end is the one that is wanted."""
        request = Request(f"score: {self._domain.key(state)}", 1, constraint=OneOf(("right",)), role="score")
        return request, {"right": 1.0}

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """The planned action; or a choice of the calls that lead on, the planned one first, then the cheapest."""
        del remaining
        here = as_typed(state)
        if action is not None:
            return Request(f"act: {action}", 100, constraint=Forced(action), role="act")
        options = leading_on(self._domain, here)
        planned = [name for name in plan[:1] if name in options]
        listed = tuple(dict.fromkeys([*planned, *options])) or (_GIVE_UP,)
        return Request(f"act: {self._domain.key(here)}", 100, constraint=OneOf(listed), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The text is the action."""
        del state
        if text == _GIVE_UP or "(" not in text:
            raise InvalidOutputError("no call leads on")
        return "", text

    def _reading(self, request: str) -> Request:
        return Request(f"read: {request}", 60, constraint=self._choice(), role="project")


def leading_on(domain: TypedDomain, state: TypedState) -> list[Action]:
    """The calls in a state that may lead to what is wanted, cheapest first; where it is at hand, handing it in."""
    if state.wanted is None:
        return []
    if state.has([state.wanted], domain.have):
        return [answer(state.wanted).text]
    useful = _useful(domain, state.wanted, domain.tools(state))
    return [as_action(item) for item in _ready(domain, state, useful)]


def legal_chains(domain: TypedDomain, state: TypedState, count: int) -> list[list[Action]]:
    """Different chains from a state to what is wanted: the greedy one first, the others drawn, all prices aside."""
    if state.wanted is None:
        return []
    useful = _useful(domain, state.wanted, domain.tools(state))
    rng = random.Random(f"legal chains: {domain.key(state)}: {state.request}")
    mapping: dict[tuple[Action, ...], None] = {}
    for number in range(TRIES):
        chain = _chain(domain, state, useful, None if number == 0 else rng)
        if chain is not None:
            mapping.setdefault(tuple(chain), None)
        if len(mapping) >= count:
            break
    return [list(chain) for chain in mapping]


def _chain(
    domain: TypedDomain, state: TypedState, useful: Sequence[Tool], rng: random.Random | None
) -> list[Action] | None:
    """One chain; the cheapest next call each time where nothing is drawn. None where it has run into nothing."""
    assert state.wanted is not None
    actions: list[Action] = []
    given = {*state.at_hand}
    while not state.has([state.wanted], domain.have):
        ready = [item for item in _ready(domain, state, useful) if item.gives not in given]
        if not ready or len(actions) >= MOST_CALLS:
            return None
        chosen = ready[0] if rng is None else rng.choice(ready)
        actions.append(as_action(chosen))
        given.add(chosen.gives)
        state = state.after(chosen.takes, chosen.gives, domain.have)
    return [*actions, answer(state.wanted).text]


def _useful(domain: TypedDomain, want: str, tools: Sequence[Tool]) -> list[Tool]:
    """The tools whose results may lead to a type, cheapest first."""
    wanted, grew = {want}, True
    while grew:
        more = {name for item in tools if item.gives in wanted for name in item.takes} - wanted
        wanted |= more
        grew = bool(more)
    useful = [item for item in tools if item.gives in wanted]
    return sorted(useful, key=lambda item: (item.worst[domain.saves] or 0, item.name))


def _ready(domain: TypedDomain, state: TypedState, useful: Sequence[Tool]) -> list[Tool]:
    """Those that can be called now and give something that is not at hand yet."""
    there = {*state.at_hand, *domain.have}
    return [item for item in useful if item.gives not in there and there.issuperset(item.takes)]
