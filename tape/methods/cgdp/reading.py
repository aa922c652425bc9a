"""The update step: the belief after a search.

The model extracts findings, quotes are checked against their sources, and curation keeps the belief within its caps.
The passages themselves are dropped.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tape.errors import BudgetExceededError
from tape.lm.base import Request, window_of, worst_case
from tape.methods.cgdp.belief import RefusedClaim, Update, updated
from tape.methods.cgdp.curation import curated, needs_curation, values_of
from tape.methods.cgdp.entailment import aligned, entailment_request, unanswered
from tape.methods.cgdp.events import BeliefEvent, Declined, HeldFact
from tape.methods.cgdp.prompts import Extracted, Finding
from tape.methods.cgdp.remembered import Remembered
from tape.methods.cgdp.view import Belief, View
from tape.protocols.search import Passage


class SearchReading:
    """Reads for one search."""

    def __init__(self, search: Remembered) -> None:
        self._search = search

    async def take_in(self, passages: tuple[Passage, ...]) -> int:
        """Update the belief by an observation.

        Returns:
            The number of new facts.
        """
        search = self._search
        assert search.belief is not None
        extracted = await self._extract(passages) if passages else Extracted()
        update = updated(search.belief, passages, extracted)
        if search.settings.persist:
            update = await self._entailed(search.belief, passages, extracted, update)
        belief = await self._curated(update.belief)
        search.gave_up |= len(belief.questions) < len(update.belief.questions)
        self._log(update, belief)
        search.belief = belief
        return len(update.added)

    async def _extract(self, passages: tuple[Passage, ...]) -> Extracted:
        """What the model extracts from an observation; empty if its output cannot be read."""
        search = self._search
        view, prompts = search.view(), search.prompts
        assert view.belief is not None
        kept, left_out = passages, list[str]()
        # The best passages are read; if not even one fits, the belief is shown without its oldest facts.
        while kept and not search.window.fits(prompts.extract_request(view, kept)):
            shortest = replace(view, belief=replace(view.belief, facts=()), notes=())
            if len(kept) == 1 and search.window.fits(prompts.extract_request(shortest, kept)):
                break
            left_out.insert(0, f"passage {kept[-1].id}")
            kept = kept[:-1]
        # Only as many passages are read as the rest of the budget pays for.
        while len(kept) > 1 and not self._affords(prompts.extract_request(view, kept)):
            left_out.insert(0, f"passage {kept[-1].id}")
            kept = kept[:-1]
        if left_out:
            least = prompts.extract_request(view, kept or passages[:1])
            search.log_dropped("extract", left_out, search.window.count(least))
        if not kept:
            return Extracted()
        result = await search.ask(
            lambda shown: prompts.extract_request(shown, kept),
            view,
            lambda shown, text: prompts.read_extract(shown, kept, text),
        )
        return Extracted() if result is None else result

    def _affords(self, request: Request) -> bool:
        """Whether every budget covers the worst case of a call."""
        search = self._search
        worst = worst_case(search.episode.roles.lm, request)
        return all((worst[kind] or 0) <= left for kind, left in search.episode.remaining().items())

    async def _entailed(
        self, before: Belief, passages: tuple[Passage, ...], extracted: Extracted, update: Update
    ) -> Update:
        """The update without predicates that no fact answers: they stay open, and the trace says why."""
        reasons = {text: await self._unanswered(text, update, passages) for text in update.resolved}
        kept = tuple(i for i, text in enumerate(before.questions) if text in update.resolved and not reasons[text])
        again = updated(before, passages, replace(extracted, resolved=kept))
        declined = (RefusedClaim(Finding("", text), f"not resolved: {why}") for text, why in reasons.items() if why)
        return replace(again, refused=(*again.refused, *declined))

    async def _unanswered(self, predicate: str, update: Update, passages: tuple[Passage, ...]) -> str:
        """Why the facts, those of this observation first, do not answer a predicate; empty where they do."""
        search, belief = self._search, update.belief
        agreeing = aligned(predicate, belief.facts, search.domain.subjects())
        new = tuple(fact for fact in agreeing if fact in update.added)
        facts = new or agreeing
        beside = " ".join(passage.text for passage in passages if passage.id in {fact.source for fact in facts})
        done = [text for text in belief.resolved if text not in update.resolved]
        if (why := unanswered(predicate, facts, done, beside)) or not search.prompts.judges:
            return why
        with suppress(BudgetExceededError):
            verdict = await search.ask(
                lambda _: entailment_request(predicate, facts), search.bare(), lambda _, text: text.strip()
            )
            return "the model says that it is not answered" if verdict == "no" else ""
        return ""

    async def _curated(self, belief: Belief) -> Belief:
        """The belief within its caps; the model ranks its items."""
        search = self._search
        if not needs_curation(belief, search.caps, search.belief_tokens):
            return belief
        view, prompts = View(search.domain.question, belief=search.shown(belief)), search.prompts
        ranking: tuple[int, ...] | None = None
        request, whole = prompts.curate_request(view), window_of(search.episode.roles.lm)
        # The answer grows with the items: the model's own window has to hold both.
        answerable = whole is None or search.window.count(request) + request.max_tokens <= whole
        if answerable and search.window.fits(request):
            # The findings are paid for already: if the budget does not cover the call, the newest items are kept.
            with suppress(BudgetExceededError):
                ranking = await search.ask(prompts.curate_request, view, prompts.read_curate)
        return curated(belief, values_of(belief, ranking or ()), search.caps, search.belief_tokens)

    def _log(self, update: Update, kept: Belief) -> None:
        search = self._search
        held = {*kept.facts, *kept.questions}
        search.episode.trace.write(
            BeliefEvent(
                round=len(search.rounds),
                facts=[HeldFact(**vars(fact)) for fact in kept.facts],
                questions=list(kept.questions),
                resolved=list(update.resolved),
                added=[i for i, fact in enumerate(kept.facts) if fact in update.added],
                refused=[
                    Declined(source=claim.finding.source, quote=claim.finding.quote, reason=claim.reason)
                    for claim in update.refused
                ],
                dropped=[
                    *(fact.text for fact in update.belief.facts if fact not in held),
                    *(question for question in update.belief.questions if question not in held),
                ],
                tokens=search.belief_tokens(kept),
            )
        )
