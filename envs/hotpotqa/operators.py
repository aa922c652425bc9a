"""PROPOSE, REALIZE and REPLAN: sub-questions, per hop a search and a finding, then the answer (SDP appendix A.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envs.hotpotqa.actions import Find, HotpotAnswer, ParagraphSearch, write
from envs.hotpotqa.evidence import reading_order
from envs.hotpotqa.minds.base import Decomposer, HopTask, Reader
from envs.hotpotqa.state import ANSWER, GOAL, HOP, QaState, as_state, bridges_before, certified_hops, resolved
from tape.engine.context import RoleContext
from tape.errors import InvalidOutputError
from tape.methods.sdp.operators import Realized
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target

ENTITIES_AFTER = 4
GUESS_AFTER = 6

_QUOTED = re.compile(r"[\"“]([^\"”]{2,})[\"”]")
_NAME = re.compile(r"[A-Z0-9][\w'’.-]*(?:\s+(?:of|the|de|and|van|von)(?=\s+[A-Z])|\s+[A-Z0-9][\w'’.-]*)*")
_ASKING = "who what when where which whose whom why how in the a an is was did of"
_ASKS = frozenset(_ASKING.split())


def entities(text: str) -> tuple[str, ...]:
    """The names in a sub-question, quoted ones first; each once, the longest of what overlaps."""
    texts = [match[1].strip() for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        words = match[0].split()
        while words and words[0].lower() in _ASKS:
            words = words[1:]
        name = " ".join(words).strip(" .,?!;:")
        if name:
            texts.append(name)
    return tuple(dict.fromkeys(texts))


def fallback(sub_question: str, question: str, tried: tuple[str, ...]) -> str | None:
    """A query that was not tried, without a model: names, the sub-question, the question, its names."""
    options = (*entities(sub_question), sub_question, question, *entities(question))
    return next((query for query in options if query not in tried), None)


def hop_target(hop: int, sub_question: str) -> Target:
    """The predicate of a hop."""
    fields = (("hop", str(hop)), ("sub", sub_question))
    return Target(f"a paragraph states the answer to sub-question {hop}: {sub_question}", HOP, fields=fields)


def ending(question: str) -> Chain:
    """The predicates after the hops."""
    return (
        Target("the answer follows from the certified findings", ANSWER),
        Target(f"the question is answered: {question}", GOAL, goal=True),
    )


class DecompositionChain:
    """PROPOSE and REPLAN: hop predicates from sub-questions, then answer and goal.

    Args:
        decomposer: Writes the sub-questions.
        hops: How many the question takes.
        roles: Counts answers that cannot be read.
    """

    def __init__(self, decomposer: Decomposer, hops: int, roles: RoleContext) -> None:
        self._decomposer, self._hops, self._roles = decomposer, hops, roles

    async def propose(self, state: CertifiedState) -> Chain:
        """The chain from the start; empty where the decomposition cannot be read."""
        return await self._chain(state, [])

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """New sub-questions for what is left, with the failures as context; certified hops stay."""
        failed: dict[str, str] = {}
        hop = dict(at.target.fields).get("hop")
        for attempt in history:
            fields = dict(attempt.target.fields)
            if attempt.target.kind == HOP and fields["hop"] == hop:
                failed[fields["sub"]] = attempt.reason
        return await self._chain(at.state, list(failed.items()))

    async def _chain(self, state: CertifiedState, failures: Sequence[tuple[str, str]]) -> Chain:
        here = as_state(state.projected)
        done = certified_hops(state.certified, here)
        made = sum(target.kind == HOP for target in state.certified)
        subs: tuple[str, ...] = ()
        if made < self._hops:
            try:
                subs = await self._decomposer.decompose(here.question, done, self._hops - made, failures)
            except InvalidOutputError as error:
                self._roles.count_malformed("propose", "", error)
                return ()
        hops = tuple(hop_target(made + number, sub) for number, sub in enumerate(subs, 1))
        return (*hops, *ending(here.question))


@dataclass(frozen=True)
class HopRealize:
    """REALIZE.

    Attributes:
        reader: Reads and writes queries.
        roles: Counts answers that cannot be read.
        searches: Whether there is a corpus to search (open mode).
        escalates: Whether search escalates (MuSiQue).
    """

    reader: Reader
    roles: RoleContext
    searches: bool
    escalates: bool

    async def realize(self, at: MarkovState) -> Realized:
        """A search, a finding or the answer."""
        try:
            if at.target.kind == HOP:
                return await self._hop(at)
            return await self._answer(at)
        except InvalidOutputError as error:
            self.roles.count_malformed("realize", "", error)
            return Realized(None, f"the model's answer cannot be read: {error}", counts_if_none=True)

    async def _hop(self, at: MarkovState) -> Realized:
        state = as_state(at.state.projected)
        hop = int(at.target.field("hop"))
        before = state.claim(hop - 1)
        mine = state.searches[before.searches if before else 0 :]  # those since the hop before was found
        claim = state.claim(hop)
        task = self._task(at, state, hop, tuple(search.query for search in mine))
        # After each finding that was rejected comes another search.
        if self.searches and (not mine or (claim is not None and claim.searches == len(state.searches))):
            query = await self._query(task, state.queries)
            if query is not None:
                return Realized(write(ParagraphSearch(query)))
            if not state.paragraphs:
                return Realized(None, "there is no query left to try")
        match = await self.reader.find(task)
        return Realized(write(Find(hop, match.finding, match.title, match.bridge, task.sub_question)))

    def _task(self, at: MarkovState, state: QaState, hop: int, queries: tuple[str, ...]) -> HopTask:
        sub = resolved(at.target.field("sub"), bridges_before(state, hop))
        claim = state.claim(hop)
        return HopTask(
            state.question,
            hop,
            sub,
            certified_hops(at.state.certified, state),
            tuple(reading_order(sub, state.paragraphs)),
            queries,
            tuple(attempt.reason for attempt in at.attempts),
            claim.finding if claim is not None else "",
        )

    async def _query(self, task: HopTask, cached: tuple[str, ...]) -> str | None:
        """A query that is not in the search cache, which has those of earlier hops too."""
        tried = task.queries
        query = None
        if self.escalates and len(tried) >= GUESS_AFTER:
            query = await self.reader.guess(task)
        if query is None and self.escalates and len(tried) >= ENTITIES_AFTER:
            query = next((name for name in entities(task.sub_question) if name not in cached), None)
        if query is None:
            query = await self.reader.query(task)
        return query if query not in (None, *cached) else fallback(task.sub_question, task.question, cached)

    async def _answer(self, at: MarkovState) -> Realized:
        state = as_state(at.state.projected)
        if at.target.goal and state.answer:  # the answer is certified, the goal was not looked at (no cascade)
            return Realized(write(HotpotAnswer(state.answer)))
        rejected = (state.answer,) if state.answer else ()
        given = await self.reader.answer(state.question, certified_hops(at.state.certified, state), rejected)
        if given is None:
            return Realized(None, "there is no other answer")
        return Realized(write(HotpotAnswer(given)))
