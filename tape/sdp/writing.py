"""REALIZE by the model's act role: the path's edge under constrained execution, or a free choice (SDP section 3.1).

A free choice leaves out what failed at this target. Where the actions that are left can be named, the constraint admits
them alone; elsewhere a repeat is replaced by another sample, at a higher temperature. Either way it costs calls and
tokens, but no attempt [ours].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tape.engine.act import MAX_RETRIES
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, Constraint, Forced, Regex, Request
from tape.protocols import Acted, Action, Actor, Domain, State
from tape.sdp.adapter import Foresees, Tools
from tape.sdp.operators import Realized
from tape.sdp.state import MarkovState

MOST_NAMED = 12
"""Most actions that one constraint lists; of more, a repeat is unlikely."""
WARMER = 0.4
"""What each further sample adds to the temperature of a choice that came to what was tried before."""
WARMEST = 1.2
"""Where that ends: beyond it a small model writes nothing that can be read."""


class WritingRealize:
    """Writes the action that a target was made with; after a failed attempt a free choice with the plan as a hint.

    Args:
        domain: The task.
        actor: Writes actions.
        seed: A seed from what an action is written from.
        invents: Whether a target that comes with no action gets a free choice; without, there is nothing to try.
        tools: Asks for actions that were not tried; None: the actor alone is asked.
        foresees: Tells what is in vain; None where nobody can.
    """

    def __init__(
        self,
        domain: Domain,
        actor: Actor,
        seed: Callable[..., int],
        *,
        invents: bool,
        tools: Tools | None = None,
        foresees: Foresees | None = None,
    ) -> None:
        self._domain, self._actor, self._seed, self._invents = domain, actor, seed, invents
        self._tools, self._foresees = tools, foresees

    async def realize(self, at: MarkovState) -> Realized:
        """An action for the current target; none where it is lost, the planned one inadmissible, or all were tried."""
        lost = self._foresees.lost(at.target, at.state.projected) if self._foresees is not None else None
        if lost is not None:
            return Realized(None, lost)
        by, admissible = at.target.by, self._admissible(at)
        if self._ways(at) == []:
            return Realized(None, "what is left pays for no way to it")
        if by is None and not self._invents:
            return Realized(None, "the path ends here")
        planned = by if by is not None and by not in at.tried else None
        if planned is not None and admissible is not None and planned not in admissible:
            if not self._invents:
                return Realized(None, f"{planned!r} is not admissible here")
            planned = None
        if planned is not None and self._refused(planned, at):
            if not self._invents:
                return Realized(None, f"{planned!r} would be refused here")
            planned = None
        if planned is None and admissible is not None and not {*admissible} - {*self._tried(at)}:
            return Realized(None, f"all {len(admissible)} actions that are admissible here were tried")
        if planned is None and self._ways(at) is not None and self._named(at) is None:
            return Realized(next(way for way in admissible or () if way not in self._tried(at)))
        return await self._written(at, planned)

    def _tried(self, at: MarkovState) -> tuple[Action, ...]:
        """What failed at this target in this very state: in another one, the same action is no repeat."""
        return at.tried_in(self._domain.key(at.state.projected))

    def _admissible(self, at: MarkovState) -> Sequence[Action] | None:
        """What may be done: the ways to the target where they are known, else what the domain admits."""
        ways = self._ways(at)
        return self._domain.admissible(at.state.projected) if ways is None else ways

    def _ways(self, at: MarkovState) -> Sequence[Action] | None:
        """The ways to the target that what is left pays for; None where they are not known, or a path names one."""
        state, left = at.state.projected, at.state.remaining
        ways = self._foresees.ways(at.target, state) if self._foresees is not None and self._invents else None
        if ways is None:
            return None
        costs = [self._domain.cost(state, way) for way in ways]
        return [w for w, cost in zip(ways, costs, strict=True) if all((cost[k] or 0) <= n for k, n in left.items())]

    def _refused(self, action: Action, at: MarkovState) -> bool:
        return self._foresees is not None and self._foresees.refused(action, at.state.projected)

    async def _written(self, at: MarkovState, planned: Action | None) -> Realized:
        """Let the actor write, again where it cannot be read or was tried."""
        admissible, tried = self._admissible(at), self._tried(at)
        plan = [target.by for target in at.tail if target.by is not None]
        said, repeats = "no action could be read", 0
        for attempt in range(MAX_RETRIES + 1):
            acted = await self._sample(at, planned, plan, attempt, repeats)
            if acted.action is None:
                continue
            if admissible is not None and acted.action not in admissible:
                said = f"{acted.action!r} is not admissible here"
            elif planned is None and (acted.action in tried or self._refused(acted.action, at)):
                repeats += 1
                tried = (*dict.fromkeys((*tried, acted.action)),)
            else:
                return Realized(acted.action, acted.text)
        if repeats:
            return Realized(None, f"in {MAX_RETRIES + 1} samples nothing untried was written: {', '.join(tried)}")
        return Realized(None, said, counts_if_none=True)

    async def _sample(
        self, at: MarkovState, planned: Action | None, plan: Sequence[Action], attempt: int, repeats: int
    ) -> Acted:
        """One action: the planned one, or a free choice among what was not tried."""
        state, remaining, tried = at.state.projected, at.state.remaining, self._tried(at)
        if planned is None and self._domain.choices is not None:
            state = self._domain.choices.without(state, tried)
        if planned is None and (tried or repeats or self._ways(at)) and self._tools is not None:
            request = self._among_untried(self._tools, at, state, plan)
            if request is not None or repeats:
                form, number = self._tools.roles.prompt_format, len(at.attempts) * (MAX_RETRIES + 1) + attempt
                usual = self._tools.config.temperature
                warm = None if request is not None else max(usual, min(usual + WARMER * repeats, WARMEST))
                request = request or form.act_request(state, remaining, None, plan)
                return _read(self._tools, state, request, await self._tools.ask(request, number, warm))
        shown = (self._domain.key(at.state.projected), planned, plan, tried, len(at.attempts), at.state.left)
        return await self._actor.act(state, remaining, planned, plan, self._seed("realize", *shown, attempt))

    def _among_untried(self, tools: Tools, at: MarkovState, state: State, plan: Sequence[Action]) -> Request | None:
        """The free request with a constraint that admits untried actions alone; None where there is none such.

        A domain that leaves actions out of its prompts itself needs none.
        """
        named = None if self._domain.choices is not None else self._named(at)
        if named is None:
            return None
        return replace(tools.roles.prompt_format.act_request(state, at.state.remaining, None, plan), constraint=named)

    def _named(self, at: MarkovState) -> Constraint | None:
        """What admits the untried actions and nothing else; None where there are too many, or none, or it cannot be."""
        tried, state, left = self._tried(at), at.state.projected, at.state.remaining
        untried = [action for action in self._admissible(at) or () if action not in tried]
        if self._tools is None or not 0 < len(untried) <= MOST_NAMED:
            return None
        form, plan = self._tools.roles.prompt_format, [target.by for target in at.tail if target.by is not None]
        return any_of([form.act_request(state, left, action, plan).constraint for action in untried])


def _read(tools: Tools, state: State, request: Request, text: str) -> Acted:
    """What a model has written to a request of its act role."""
    try:
        thought, action = tools.roles.prompt_format.read_act(state, text)
    except InvalidOutputError as error:
        tools.roles.count_malformed(request.role, text, error)
        return Acted(None, text)
    return Acted(action, thought)


def any_of(constraints: Sequence[Constraint | None]) -> Constraint | None:
    """What admits every answer that one of some constraints admits, and no other; None where that cannot be said."""
    texts: list[str] = []
    patterns: list[str] = []
    for one in constraints:
        match one:
            case Forced(text):
                texts.append(text)
            case Choice(options):
                texts += options
            case Regex(pattern):
                patterns.append(f"(?:{pattern})")
            case _:
                return None
    if texts and patterns:
        return None
    return Choice(tuple(dict.fromkeys(texts))) if texts else Regex("|".join(patterns)) if patterns else None
