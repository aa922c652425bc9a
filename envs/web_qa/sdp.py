"""SDP over pages: a chain of narrowing steps, each certified before the next begins (SDP appendix A.4, table 9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from envs.web_qa.evidence import NOTE, SCRAPE, SEARCH, WebEvidence, gathered, last_note, plain
from envs.web_qa.prompts import CLOSEST, SHIFT, Doings, Final, Judgement, OperatorView, StepFinding, Steps
from envs.web_qa.web import site
from tape.errors import InvalidOutputError
from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.operators import Check, How, Operators, Outcome, Realized, Verdict
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target
from tape.methods.sdp.tool_adapter import ToolAdapter
from tape.protocols import Action, State
from tape.reading import parsed
from tape.tools.calls import Call, answer, call, parse
from tape.tools.domain import ToolDomain, as_state

REPLANS, FORCED_AFTER = 2, 2
"""Replans of a step (SDP table 9), and rejections in a row after which a grounded finding is let pass."""

CAPS = Caps(attempts=3, replans=REPLANS + 1, steps=30)
"""SDP table 9; the replan after those of the table leaves the step out and forces the answer."""

WEAK_ANSWERS, RETRY_TEMPERATURE = 3, 0.3
"""Answers that are asked for while they are weak, and the temperature of all but the first (SDP appendix A.1)."""

MOST_LINKS = 30
"""Linked pages that are listed."""

STEP, FINALIZE, GOAL = "step", "finalize", "goal"
_WEAK = re.compile(
    r"\W*(?:(?:null|none|n/?a|nothing|unknown|no answer|not (?:found|available|stated|mentioned))\b.*)?", re.I
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def is_weak(text: str) -> bool:
    """Whether an answer or a finding is empty, or says that there is none."""
    return _WEAK.fullmatch(" ".join(text.split())) is not None


def links_of(evidence: WebEvidence) -> list[str]:
    """Addresses that pages and results name and that were not read, those of blacklisted sites left out."""
    named = [texts["address"] for _, results in evidence.searches for texts in results]
    named += [address for _, text in evidence.pages for address in _LINK.findall(text)]
    read = {address for address, _ in evidence.pages}
    return [name for name in dict.fromkeys(named) if name not in read and site(name) not in evidence.blacklist]


def ending(task: str) -> Chain:
    """The predicates after the steps."""
    finalize = Target("the answer follows from the certified findings", FINALIZE)
    return finalize, Target(f"the task is answered: {task}", GOAL, goal=True)


def findings_of(certified: Chain, state: State) -> tuple[tuple[str, str], ...]:
    """Goal and finding of each certified step; a step gets no new note once it is certified."""
    notes = {note.step: note for note in gathered(state).notes}
    steps = [target for target in certified if target.kind not in (FINALIZE, GOAL) and int(target.field(STEP)) in notes]
    return tuple((target.text, notes[int(target.field(STEP))].marked) for target in steps)


@dataclass(frozen=True)
class Narrowing:
    """PROPOSE, REALIZE, VALIDATE and REPLAN.

    Attributes:
        task: The question.
        tools: The model.
        plans: Answers to requests for actions: equal requests have equal answers, so this is a cache and no state.
    """

    task: str
    tools: Tools
    plans: dict[str, str]

    # --- PROPOSE and REPLAN -----------------------------------------------------------------

    async def propose(self, state: CertifiedState) -> Chain:
        """At most five steps, then the answer; empty where the model's answer cannot be read."""
        del state
        text = await self.tools.ask(OperatorView(self.task).request("propose"))
        try:
            steps = parsed(Steps, text).steps
        except InvalidOutputError as error:
            self.tools.roles.count_malformed("propose", text, error)
            return ()
        made = [
            Target(step.goal, step.kind, fields=((STEP, str(n)), ("replan", "0"))) for n, step in enumerate(steps, 1)
        ]
        return (*made, *ending(self.task))

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """The same steps, to be tried another way; after :data:`REPLANS` of them the answer alone."""
        del history
        done = int(dict(at.target.fields).get("replan", REPLANS))
        if done >= REPLANS:
            return ending(self.task)
        fields = ((STEP, at.target.field(STEP)), ("replan", str(done + 1)))
        return (replace(at.target, fields=fields), *at.tail[1:])

    # --- REALIZE ----------------------------------------------------------------------------

    async def realize(self, at: MarkovState) -> Realized:
        """A search or a page while the step needs one, then its finding; at the end of steps or chain, the answer."""
        if at.target.kind in (FINALIZE, GOAL) or at.state.remaining.get("steps", 2) <= 1:
            return await self._finalize(at)
        try:
            gathering = await self._next(at)
            return Realized(gathering.text) if gathering is not None else await self._finding(at)
        except InvalidOutputError as error:
            self.tools.roles.count_malformed("realize", "", error)
            return Realized(None, f"the model's answer cannot be read: {error}", counts_if_none=True)

    def _asked(self, at: MarkovState, evidence: WebEvidence | None) -> OperatorView:
        step = f"Step {at.target.field(STEP)} ({at.target.kind}): {at.target.text}"
        findings = findings_of(at.state.certified, at.state.projected)
        return OperatorView(self.task, evidence, step, findings, tuple(attempt.reason for attempt in at.attempts))

    async def _next(self, at: MarkovState) -> Call | None:
        """What is left to gather in this attempt, a search's best page first; None where nothing is."""
        state, begun = as_state(at.state.projected), last_note(at.state.projected)
        before = replace(state, got=state.got[:begun], failures=tuple(f for f in state.failures if f.after < begun))
        known, fresh, every = gathered(before), gathered(state, begun), gathered(state)
        links = [f"- {link}" for link in links_of(known)[-MOST_LINKS:]]
        shift = SHIFT if at.attempts or at.target.field("replan") != "0" else ""
        request = self._asked(at, known).request("query", "\n".join(["Linked and not read:", *links]), shift)
        key = request.fingerprint(f"{len(at.attempts)}")
        if key not in self.plans:
            self.plans[key] = await self.tools.ask(request, len(at.attempts))
        best = [(SCRAPE, texts["address"]) for _, results in fresh.searches for texts in results[:1]]
        tried = {obtained.call.symbol for obtained in state.got} | {failure.call.symbol for failure in state.failures}
        for do, what in (
            *best,
            *((action.do, plain(action.what)) for action in parsed(Doings, self.plans[key]).actions),
        ):
            made = call(SEARCH, query=what) if do == SEARCH else call(SCRAPE, address=what)
            barred = do == SCRAPE and site(what) in every.blacklist
            afforded = at.state.remaining.get("lookups" if do == SEARCH else "scrapes", 1) > 0
            if made.symbol not in tried and not barred and afforded:
                return made
        return None

    async def _finding(self, at: MarkovState) -> Realized:
        """The second phase: what the evidence says about the step, noted with its quotes."""
        every, step = gathered(at.state.projected), int(at.target.field(STEP))
        finding = parsed(StepFinding, await self.tools.ask(self._asked(at, every).request("realize"), len(at.attempts)))
        attempt = 1 + sum(note.step == step for note in every.notes)
        quotes = [{"address": plain(quote.address), "quote": plain(quote.quote)} for quote in finding.quotes]
        whole = finding.complete and attempt <= FORCED_AFTER
        noted = call(NOTE, step=step, attempt=attempt, finding=plain(finding.finding), quotes=quotes, complete=whole)
        return Realized(noted.text)

    async def _finalize(self, at: MarkovState) -> Realized:
        """The answer; weak ones are asked for again, and in the end the last finding stands in for it."""
        every = gathered(at.state.projected)
        asked = OperatorView(
            self.task, None if every.notes else every, "", findings_of(at.state.certified, at.state.projected)
        )
        for number in range(WEAK_ANSWERS):
            request = asked.request("answer", CLOSEST if number else "")
            text = await self.tools.ask(request, number, RETRY_TEMPERATURE if number else None)
            try:
                given = parsed(Final, text).answer
            except InvalidOutputError as error:
                self.tools.roles.count_malformed("answer", text, error)
                continue
            if not is_weak(given):
                return Realized(answer(plain(given)).text)
        stands = [note.finding for note in every.notes if not is_weak(note.finding)]
        return Realized(answer(stands[-1] if stands else "").text)

    # --- VALIDATE ---------------------------------------------------------------------------

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """Three phases: what a tool brought only prepares; a finding has to stand in its pages; the model judges it."""
        after, target = as_state(outcome.after), tail[0]
        made = parse(outcome.action)
        if made.kind in (SEARCH, SCRAPE):
            return Verdict((), after.note or f"{made.kind}: evidence", counts=False)
        if after.note or made.kind != NOTE or target.kind in (FINALIZE, GOAL):
            return _no(after.note or "no finding was noted")
        every = gathered(after)
        note = every.notes[-1]
        if is_weak(note.finding):
            return _no("the finding is empty")
        if target.kind != "compute" and not note.quotes:
            return _no("the finding has no quote")
        for address, quote in note.quotes:
            if not every.says(address, quote):
                return _no(f"{quote!r} does not stand in {address}")
        passed, reason = await self._judged(target, every)
        if passed:
            return Verdict((Check(True, "lm", reason),))
        if note.attempt > FORCED_AFTER:
            return Verdict((Check(True, "filter", f"let pass as uncertain at attempt {note.attempt}: {reason}"),))
        return _no(reason, "lm")

    async def _judged(self, target: Target, every: WebEvidence) -> tuple[bool, str]:
        note = every.notes[-1]
        earlier = {
            f"step {step_note.step}": step_note.marked for step_note in every.notes if step_note.step < note.step
        }
        step = f"Step {note.step} ({target.kind}): {target.text}"
        quotes = "\n".join(f"- <{address}> {quote}" for address, quote in note.quotes) or "none"
        asked = OperatorView(self.task, every, step, tuple(earlier.items()))
        text = await self.tools.ask(asked.request("validate", f"Proposed finding: {note.marked}\nQuotes:\n{quotes}"))
        try:
            judgement = parsed(Judgement, text)
        except InvalidOutputError as error:
            self.tools.roles.count_malformed("validate", text, error)
            return False, f"the verdict could not be read: {error}"
        return judgement.verdict == "pass", judgement.reason or judgement.verdict


class WebAdapter(ToolAdapter):
    """Implements :class:`tape.methods.sdp.adapter.PreparingAdapter`: own operators for ``chain="adapter"``."""

    def __init__(self, domain: ToolDomain) -> None:
        super().__init__(domain, CAPS)

    def operators(self, tools: Tools) -> Operators:
        """All four."""
        own = Narrowing(self._domain.task, tools, {})
        return Operators(own, own, own, own)

    def prepares(self, action: Action) -> bool:
        """Whether an action only prepares an attempt: a search and a page do."""
        return action.startswith((f"{SEARCH}(", f"{SCRAPE}("))


def _no(reason: str, how: How = "filter") -> Verdict:
    return Verdict((Check(False, how, reason),), reason)
