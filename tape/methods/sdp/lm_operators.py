"""The four operators played by a language model (SDP appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Literal

from tape.errors import InvalidOutputError
from tape.lm.base import Request
from tape.methods.sdp.adapter import Tools
from tape.methods.sdp.chat_prompts import ChatPrompts
from tape.methods.sdp.operators import Check, Outcome, Realized, Verdict, check_required, undecided
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target
from tape.protocols import Action, State
from tape.protocols.predicates import Assignment

SAMPLES = 3
"""Most samples of an unreadable chain; greedy answers are requested once."""


class LmPropose:
    """PROPOSE and REPLAN by the model."""

    def __init__(self, prompts: ChatPrompts, tools: Tools) -> None:
        self._prompts, self._tools = prompts, tools

    async def propose(self, state: CertifiedState) -> Chain:
        """A chain from a state to the goal; empty if none can be read."""
        return await self._chain(self._prompts.chain_request(state))

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """A new tail; empty if none can be read."""
        return await self._chain(self._prompts.replan_request(at, history))

    async def _chain(self, request: Request) -> Chain:
        for sample in range(SAMPLES if self._tools.config.temperature > 0 else 1):
            text = await self._tools.ask(request, sample)
            try:
                return self._prompts.read_chain(text)
            except InvalidOutputError as error:
                self._tools.roles.count_malformed(request.role, text, error)
        return ()


class LmRealize:
    """REALIZE by the model: a free-form action.

    Args:
        prompts: The environment's prompts.
        tools: The model.
        read: Reads the answer in a state; the prompts do by default.
    """

    def __init__(
        self, prompts: ChatPrompts, tools: Tools, read: Callable[[State, str], tuple[str, Action]] | None = None
    ) -> None:
        self._prompts, self._tools = prompts, tools
        self._read = read or (lambda _, text: prompts.read_action(text))

    async def realize(self, at: MarkovState) -> Realized:
        """An action; an unreadable one is a failed attempt."""
        request = self._prompts.action_request(at)
        text = await self._tools.ask(request, len(at.attempts))
        try:
            thought, action = self._read(at.state.projected, text)
        except InvalidOutputError as error:
            self._tools.roles.count_malformed(request.role, text, error)
            return Realized(None, f"no action could be read: {error}", counts_if_none=True)
        return Realized(action, thought)


class LmValidate:
    """VALIDATE: hard shortcuts first, then what can be checked, and the model for the rest (SDP appendix A.3).

    k = 0 for an action that the environment rejects, and for the goal at the head of the tail while the task is not
    done; if it is done, the loop certifies the whole tail. Predicates with typed requirements are checked. The model
    judges the others, one call for those before the next typed one or the goal. Only the head of the tail may be
    credited, because one step reveals one place [ours].

    Args:
        prompts: The environment's prompts.
        tools: The model.
        rejected: Why the environment rejected an action; None if it did not.
        credit: Why a predicate is credited without evidence (``visited_room``); None if it is not.
        ground: The values of typed predicates in a state.
        unknown: How to judge typed requirements of which some are unknown and none is false: ``reject`` them, or
            ``ask`` the model, whose verdict is flagged.
    """

    def __init__(
        self,
        prompts: ChatPrompts,
        tools: Tools,
        *,
        rejected: Callable[[Outcome], str | None] = lambda _: None,
        credit: Callable[[Target, Outcome], str | None] = lambda *_: None,
        ground: Callable[[State], Assignment] = lambda _: {},
        unknown: Literal["ask", "reject"] = "reject",
    ) -> None:
        self._prompts, self._tools = prompts, tools
        self._rejected, self._credit, self._ground = rejected, credit, ground
        self._asks_unknown = unknown == "ask"

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """K and, for each predicate, how it was judged."""
        refused = self._rejected(outcome)
        if refused is not None:
            return Verdict((), refused)
        checks: list[Check] = []
        while len(checks) < len(tail):
            checks += await self._next(tail[len(checks) :], outcome, first=not checks)
            if not checks[-1].holds:
                return Verdict(tuple(checks), checks[-1].evidence)
        return Verdict(tuple(checks))

    async def _next(self, tail: Chain, outcome: Outcome, *, first: bool) -> list[Check]:
        """The verdicts on the predicates at the head that are judged together; at least one."""
        head = tail[0]
        if head.goal:
            return [Check(False, "deterministic", "the environment does not report the task as done")]
        if head.requires:
            known = self._ground(outcome.after)
            if self._asks_unknown and undecided(head.requires, known):
                return await self._asked((head,), outcome)
            return [check_required(head.requires, known)]
        credit = self._credit(head, outcome) if first else None
        if credit is not None:
            return [Check(True, "visited_room", credit)]
        judged = tuple(takewhile(lambda target: not (target.goal or target.requires), tail))
        return await self._asked(judged, outcome)

    async def _asked(self, judged: Chain, outcome: Outcome) -> list[Check]:
        """The model's verdict on consecutive predicates."""
        request = self._prompts.verdict_request(judged, outcome)
        text = await self._tools.ask(request)
        try:
            k, reason = self._prompts.read_verdict(text, len(judged))
        except InvalidOutputError as error:
            self._tools.roles.count_malformed(request.role, text, error)
            k, reason = 0, f"the verdict could not be read: {error}"
        failed = [Check(False, "lm", reason)] if k < len(judged) else []
        return [Check(True, "lm", reason) for _ in range(k)] + failed
