"""REALIZE by the model's act role: the path's edge under constrained execution, or a free choice (SDP section 3.1).

A free choice omits actions that failed at this target. If the other actions can be listed, the constraint admits only
them; otherwise a repeated action is sampled again at a higher temperature. This costs calls and tokens, but no attempt
[ours].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tape.engine.act import MAX_RETRIES
from tape.errors import InvalidOutputError
from tape.lm.base import Constraint, Forced, OneOf, Regex, Request
from tape.methods.sdp.adapter import Foresees, Tools
from tape.methods.sdp.operators import Realized
from tape.methods.sdp.state import MarkovState
from tape.protocols import Acted, Action, Actor, Domain, State

MOST_NAMED = 12
"""Most actions in one constraint; with more, a repetition is unlikely."""
WARMER = 0.4
"""Increase of the temperature for each sample that repeats a failed action."""
WARMEST = 1.2
"""Highest temperature: beyond it a small model writes nothing readable."""


class WritingRealize:
    """Writes the action of a target; after a failed attempt a free choice with the plan as a hint.

    Args:
        domain: The task.
        actor: Writes actions.
        tools: Requests untried actions.
        invents: Whether a target without an action gets a free choice; otherwise there is nothing to try.
        foresees: Foresees failures; None: nothing is foreseen.
    """

    def __init__(
        self,
        domain: Domain,
        actor: Actor,
        tools: Tools,
        *,
        invents: bool,
        foresees: Foresees | None = None,
    ) -> None:
        self._domain, self._actor, self._tools = domain, actor, tools
        self._invents, self._foresees = invents, foresees

    async def realize(self, at: MarkovState) -> Realized:
        """An action for the current target; none if it is lost, its action is inadmissible, or all were tried."""
        lost = self._foresees.lost(at.target, at.state.projected) if self._foresees is not None else None
        if lost is not None:
            return Realized(None, lost)
        by, admissible = at.target.by, self._admissible(at)
        if self._ways(at) == []:
            return Realized(None, "the rest of the budget pays for no way to it")
        if by is None and not self._invents:
            return Realized(None, "the path ends here")
        planned = by if by is not None and by not in at.tried else None
        inadmissible = admissible is not None and planned not in admissible
        if planned is not None and (inadmissible or self._refused(planned, at)):
            if not self._invents:
                return Realized(None, f"{planned!r} {'is not admissible' if inadmissible else 'would be refused'} here")
            planned = None
        if planned is None and admissible is not None and not {*admissible} - {*self._tried(at)}:
            return Realized(None, f"all {len(admissible)} actions that are admissible here were tried")
        if planned is None and self._ways(at) is not None and self._named(at) is None:
            return Realized(next(way for way in admissible or () if way not in self._tried(at)))
        return await self._written(at, planned)

    def _tried(self, at: MarkovState) -> tuple[Action, ...]:
        """Actions that failed at this target in this state; in another state they are no repetition."""
        return at.tried_in(self._domain.key(at.state.projected))

    def _admissible(self, at: MarkovState) -> Sequence[Action] | None:
        """The ways to the target if they are known, else the admissible actions."""
        ways = self._ways(at)
        return self._domain.admissible(at.state.projected) if ways is None else ways

    def _ways(self, at: MarkovState) -> Sequence[Action] | None:
        """The affordable ways to the target; None if they are unknown, or a path names the action."""
        state, left = at.state.projected, at.state.remaining
        ways = self._foresees.ways(at.target, state) if self._foresees is not None and self._invents else None
        if ways is None:
            return None
        costs = [self._domain.cost(state, way) for way in ways]
        return [w for w, cost in zip(ways, costs, strict=True) if all((cost[k] or 0) <= n for k, n in left.items())]

    def _refused(self, action: Action, at: MarkovState) -> bool:
        return self._foresees is not None and self._foresees.refused(action, at.state.projected)

    async def _written(self, at: MarkovState, planned: Action | None) -> Realized:
        """Let the actor write; repeat if the action is unreadable or was tried."""
        admissible, tried = self._admissible(at), self._tried(at)
        plan = [target.by for target in at.tail if target.by is not None]
        reason, repeats = "no action could be read", 0
        for attempt in range(MAX_RETRIES + 1):
            acted = await self._sample(at, planned, plan, attempt, repeats)
            if acted.action is None:
                continue
            if admissible is not None and acted.action not in admissible:
                reason = f"{acted.action!r} is not admissible here"
            elif planned is None and (acted.action in tried or self._refused(acted.action, at)):
                repeats += 1
                tried = (*dict.fromkeys((*tried, acted.action)),)
            else:
                return Realized(acted.action, acted.text)
        if repeats:
            return Realized(None, f"in {MAX_RETRIES + 1} samples nothing untried was written: {', '.join(tried)}")
        return Realized(None, reason, counts_if_none=True)

    async def _sample(
        self, at: MarkovState, planned: Action | None, plan: Sequence[Action], attempt: int, repeats: int
    ) -> Acted:
        """One action: the planned one, or a free choice among untried actions."""
        state, remaining, tried = at.state.projected, at.state.remaining, self._tried(at)
        if planned is None and self._domain.choices is not None:
            state = self._domain.choices.without(state, tried)
        if planned is None and (tried or repeats or self._ways(at)):
            request = self._among_untried(at, state, plan)
            if request is not None or repeats:
                form, number = self._tools.roles.prompt_format, len(at.attempts) * (MAX_RETRIES + 1) + attempt
                usual = self._tools.config.temperature
                warm = None if request is not None else max(usual, min(usual + WARMER * repeats, WARMEST))
                request = request or form.act_request(state, remaining, None, plan)
                return _read(self._tools, state, request, await self._tools.ask(request, number, warm))
        shown = (self._domain.key(at.state.projected), planned, plan, tried, len(at.attempts), at.state.left)
        return await self._actor.act(state, remaining, planned, plan, self._tools.seed("realize", *shown, attempt))

    def _among_untried(self, at: MarkovState, state: State, plan: Sequence[Action]) -> Request | None:
        """The free request, constrained to untried actions; None if impossible, or if the domain omits tried ones."""
        named = None if self._domain.choices is not None else self._named(at)
        free = self._tools.roles.prompt_format.act_request(state, at.state.remaining, None, plan)
        return None if named is None else replace(free, constraint=named)

    def _named(self, at: MarkovState) -> Constraint | None:
        """The constraint that admits only untried actions; None if there are none or too many, or it does not exist."""
        tried, state, left = self._tried(at), at.state.projected, at.state.remaining
        untried = [action for action in self._admissible(at) or () if action not in tried]
        if not 0 < len(untried) <= MOST_NAMED:
            return None
        form, plan = self._tools.roles.prompt_format, [target.by for target in at.tail if target.by is not None]
        return any_of([form.act_request(state, left, action, plan).constraint for action in untried])


def _read(tools: Tools, state: State, request: Request, text: str) -> Acted:
    """Read a model's answer to a request of its act role."""
    try:
        thought, action = tools.roles.prompt_format.read_act(state, text)
    except InvalidOutputError as error:
        tools.roles.count_malformed(request.role, text, error)
        return Acted(None, text)
    return Acted(action, thought)


def any_of(constraints: Sequence[Constraint | None]) -> Constraint | None:
    """The union of some constraints; None if it cannot be expressed."""
    texts: list[str] = []
    patterns: list[str] = []
    for constraint in constraints:
        match constraint:
            case Forced(text):
                texts.append(text)
            case OneOf(options):
                texts += options
            case Regex(pattern):
                patterns.append(f"(?:{pattern})")
            case _:
                return None
    if texts and patterns:
        return None
    return OneOf(tuple(dict.fromkeys(texts))) if texts else Regex("|".join(patterns)) if patterns else None
