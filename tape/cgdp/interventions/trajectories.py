"""Gap-aware stopping and parallel hypotheses (CGDP appendix B): several runs of a harness's loop in one search.

The rules are ours. Trajectories are played one after the other, on equal shares of the rounds and of every budget: an
episode has one ledger, and what comes of them is the same. Each begins with an empty belief; all but the first begin
with a query unlike those of the trajectories before, and in the end their beliefs are merged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tape.cgdp.interventions.resampling import hypothesis
from tape.cgdp.interventions.share import Share
from tape.cgdp.search import Search
from tape.cgdp.view import Belief
from tape.errors import BudgetExceededError

COUNT = 2
"""Trajectories of ``parallel``."""
MOST_GAPS = 2
"""How often gap-aware stopping takes a search up again, at most."""

Loop = Callable[[], Awaitable[str]]
"""A harness's loop; returns why it stopped."""


async def trajectories(search: Search, loop: Loop) -> str:
    """Search, with the interventions that are on; returns why the search stopped."""
    rounds = search.settings.rounds
    assert rounds is not None
    if search.settings.intervenes("parallel") and rounds >= COUNT:
        return await _parallel(search, loop, rounds)
    return await _gap_aware(search, loop, Share(rounds))


async def _parallel(search: Search, loop: Loop, rounds: int) -> str:
    first, whole = search.belief, search.episode.remaining()
    assert first is not None
    beliefs: list[Belief] = []
    reason = ""
    try:
        for number in range(1, COUNT + 1):
            if number > 1 and not await _another(search, first, beliefs):
                break
            kept = {kind: left * (COUNT - number) / COUNT for kind, left in whole.items()} if number < COUNT else {}
            reason = await _gap_aware(search, loop, Share(rounds * number // COUNT, kept))
    finally:
        if beliefs:
            assert search.belief is not None
            beliefs.append(search.belief)
            merged = union(beliefs)
            search.log_intervention("merge", "beliefs", [f"{len(one.facts)} facts" for one in beliefs])
            await search.adopt(merged, merged.facts)
    return reason


async def _another(search: Search, first: Belief, beliefs: list[Belief]) -> bool:
    """Begin another trajectory; False if there is no other hypothesis, and the search is as it was."""
    held = search.belief
    assert held is not None
    search.belief = first
    query = await hypothesis(search)
    search.log_intervention("parallel", "another trajectory", [query] if query else [])
    search.belief = held
    if query:
        beliefs.append(held)
        search.restart(first)
        search.redirect = query
    return bool(query)


def union(beliefs: Sequence[Belief]) -> Belief:
    """Facts that any belief holds, and predicates that none has resolved."""
    facts = {(fact.subject, fact.quote): fact for one in beliefs for fact in one.facts}
    resolved = dict.fromkeys(question for one in beliefs for question in one.resolved)
    questions = dict.fromkeys(question for one in beliefs for question in one.questions if question not in resolved)
    return Belief(beliefs[0].form, tuple(facts.values()), tuple(questions), tuple(resolved))


async def _gap_aware(search: Search, loop: Loop, share: Share) -> str:
    """A trajectory; where it stops by itself, the model is asked what is open, and it goes on with that."""
    if any(map(search.settings.intervenes, ("parallel", "gap_stop"))):
        search.share = share
    reason = await loop()
    for _ in range(MOST_GAPS if search.settings.intervenes("gap_stop") else 0):
        if search.gated or share.used_up(search) or not (found := await _unresolved(search, reason)):
            break
        search.redirect = found[0]
        belief = search.belief
        if belief is not None and belief.form == "structured":
            new = [question for question in found if question not in belief.questions]
            await search.adopt(Belief(belief.form, belief.facts, (*new, *belief.questions), belief.resolved))
        reason = await loop()
    return reason


async def _unresolved(search: Search, reason: str) -> tuple[str, ...]:
    """The open predicates, by a call that is reserved like any other; none if it does not fit."""
    prompts = search.prompts
    if not search.window.fits(prompts.unresolved_request(search.bare())):
        return ()
    try:
        found = await search.ask(prompts.unresolved_request, search.view(), prompts.read_unresolved)
    except BudgetExceededError:
        return ()
    search.log_intervention("gap_stop", reason, found or ())
    return found or ()
