"""VALIDATE: hops in two stages, then the answer and with it the goal (SDP appendix A.5 and A.6)."""

from __future__ import annotations

from dataclasses import dataclass

from envs.hotpotqa.actions import Find, Finish, HotpotAnswer, ParagraphSearch, read
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.evidence import overlap, ranked, reading_order, resolve_title
from envs.hotpotqa.filters import answer_problem, garbage, negation
from envs.hotpotqa.minds.base import HopVerifier
from envs.hotpotqa.state import (
    FINISHED,
    HOP,
    REFUSED,
    SEARCHED,
    Certified,
    HopClaim,
    QaState,
    as_state,
    attributed_title,
    bridges_before,
    resolved,
)
from tape.methods.sdp.operators import Check, How, Outcome, Verdict
from tape.methods.sdp.target import Chain


@dataclass(frozen=True)
class TwoStageValidator:
    """Implements :class:`tape.methods.sdp.operators.Validate`.

    Attributes:
        verifier: Judges a finding against a paragraph.
        hops: How many hops the question takes.
        strict: Also MuSiQue's checks of answers.
    """

    verifier: HopVerifier
    hops: int
    strict: bool

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """How many consecutive predicates the action made true."""
        if outcome.completed:
            return Verdict(tuple(Check(True, "completion", "the environment reports the task as done") for _ in tail))
        try:
            action = read(outcome.action)
        except HotpotError as error:
            return _no(str(error))
        state, target = as_state(outcome.after), tail[0]
        if state.note:
            return _no(state.note)
        if target.kind == SEARCHED:
            done = target.field("query") in state.queries
            return _yes("deterministic", "searched") if done else _no("another query was searched")
        if target.kind == REFUSED:
            return _no("another action was taken")
        if target.kind == FINISHED:
            return await self._finished(tail, state)
        if isinstance(action, ParagraphSearch):
            count = len(state.searches[-1].found) if state.searches else 0
            return _no(f"{count} paragraphs for {action.query!r}", counts=False)
        if target.kind == HOP:
            return await self._hop(int(target.field("hop")), target.field("sub"), state, action)
        return await self._answer(tail, state, action)

    async def _hop(self, hop: int, sub_question: str, state: QaState, action: object) -> Verdict:
        claim = state.claim(hop)
        if not isinstance(action, Find) or action.hop != hop or claim is None:
            return _no(f"nothing was found for hop {hop}")
        problem = negation(claim.finding) or garbage(claim.finding)
        if problem is not None:
            return _no(problem, how="filter")
        asked = resolved(sub_question, bridges_before(state, hop))
        cited, rejected = await self._cited(asked, claim, state)
        if cited is not None:
            return cited
        return await self._fallback(asked, claim, state, rejected)

    async def _cited(self, asked: str, claim: HopClaim, state: QaState) -> tuple[Verdict | None, str]:
        """The first stage: the paragraph that was cited; else its title as it was resolved, empty if it was not."""
        looked_at = state.given or (state.searches[-1].found if state.searches else ())
        passage = resolve_title(claim.title, looked_at, state.paragraphs)
        if passage is None:
            return None, ""
        if await self.verifier.supports(asked, claim.finding, passage):
            return _yes(self.verifier.how, f"{self.verifier.label}: {passage.title!r} supports {claim.finding!r}"), ""
        return None, passage.title

    async def _fallback(self, asked: str, claim: HopClaim, state: QaState, rejected: str) -> Verdict:
        """The second stage: the paragraph that shares most words with the finding.

        The sub-question breaks ties, and a paragraph that was rejected a moment ago is not asked about again (ours).
        """
        others = [passage for passage in reading_order(asked, state.paragraphs) if passage.title != rejected]
        best = ranked(claim.finding, others)[:1]
        if best and overlap(claim.finding, best[0]) and await self.verifier.supports(asked, claim.finding, best[0]):
            label = f"{self.verifier.label}: {best[0].title!r} supports {claim.finding!r}"
            return _yes(self.verifier.how, f"{label}, where {claim.title!r} was cited")
        why = f"{rejected!r} does not support it" if rejected else f"there is no paragraph {claim.title!r}"
        return _no(f"{claim.finding!r}: {why}, nor does another paragraph", how=self.verifier.how)

    async def _finished(self, tail: Chain, state: QaState) -> Verdict:
        """The end of a path; the goal after it is judged by the answer that stands."""
        if not state.over:
            return _no("the episode goes on")
        over = Check(True, "deterministic", "the agent has taken finish")
        rest = await self._answer(tail[1:], state, Finish()) if len(tail) > 1 and tail[1].goal else Verdict(())
        return Verdict((over, *rest.checks), rest.reason)

    async def _answer(self, tail: Chain, state: QaState, action: object) -> Verdict:
        if not isinstance(action, HotpotAnswer) and not (isinstance(action, Finish) and tail[0].goal):
            return _no("no answer was given")
        # The hops are certified before the answer is the target.
        findings = _certified(state, self.hops)
        problem = answer_problem(state.answer, state.question, [f.finding for f in findings], strict=self.strict)
        if problem is not None:
            return _no(problem, how="filter")
        how: How = "filter"
        if self.strict:
            how = self.verifier.answers_by
            if not await self.verifier.consistent(state.question, findings, state.answer):
                return _no(f"{state.answer!r} does not follow from the certified findings", how=how)
        both = tail[:2] if not tail[0].goal and len(tail) > 1 and tail[1].goal else tail[:1]
        return Verdict(tuple(Check(True, how, f"the answer {state.answer!r} passed the checks") for _ in both))


def _certified(state: QaState, hops: int) -> tuple[Certified, ...]:
    claims = [claim for claim in state.claims if claim.hop <= hops]
    return tuple(
        Certified(c.sub or f"hop {c.hop}", attributed_title(c, state.paragraphs), c.finding, c.entity) for c in claims
    )


def _yes(how: How, evidence: str) -> Verdict:
    return Verdict((Check(True, how, evidence),))


def _no(reason: str, *, how: How = "deterministic", counts: bool = True) -> Verdict:
    return Verdict((Check(False, how, reason),), reason, counts)
