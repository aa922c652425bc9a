"""Parallel hypotheses and gap-aware stopping (CGDP appendix B): a harness's loop, several times in one search.

Trajectories are played one after the other, since an episode has one ledger, each on its part of the rounds. Each
begins with an empty belief, the second with a query unlike those of the first; in the end their beliefs are united.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from tape.errors import BudgetExceededError
from tape.methods.cgdp.interventions.resampling import hypothesis
from tape.methods.cgdp.search import CorpusSearch
from tape.methods.cgdp.view import Belief

MOST_GAPS = 2
"""How often gap-aware stopping takes a trajectory up again, at most."""

Loop = Callable[[], Awaitable[str]]
"""A harness's loop; returns why it stopped."""


async def trajectories(search: CorpusSearch, loop: Loop) -> str:
    """Search, with the interventions that are on; returns why the search stopped."""
    rounds, first = search.settings.rounds, search.belief
    assert rounds is not None
    if first is None or not search.settings.intervenes("parallel"):
        return await _gap_aware(search, loop, rounds if search.settings.intervenes("gap_stop") else None)
    reason = await _gap_aware(search, loop, max(1, rounds // 2))
    held, search.belief = search.belief, first
    query = await hypothesis(search)
    search.log_intervention("parallel", "another trajectory", [query] if query else [])
    search.belief = held
    if not query or held is None:
        return reason
    search.restart(first, query)
    try:
        return await _gap_aware(search, loop, rounds)
    finally:
        both = union(held, search.belief or first)
        search.log_intervention("merge", "both beliefs", [f"{len(both.facts)} facts"])
        await search.adopt(both, both.facts)


def union(one: Belief, other: Belief) -> Belief:
    """Facts that either belief holds, and predicates that neither has resolved."""
    facts = {(fact.subject, fact.quote): fact for fact in (*one.facts, *other.facts)}
    resolved = dict.fromkeys((*one.resolved, *other.resolved))
    questions = dict.fromkeys(each for each in (*one.questions, *other.questions) if each not in resolved)
    return Belief(one.form, tuple(facts.values()), tuple(questions), tuple(resolved))


async def _gap_aware(search: CorpusSearch, loop: Loop, ends_at: int | None) -> str:
    """A trajectory; where it stops by itself, the model is asked what is open, and it goes on with that."""
    search.ends_at = ends_at
    reason = await loop()
    for _ in range(MOST_GAPS if search.settings.intervenes("gap_stop") else 0):
        assert ends_at is not None
        if search.gated or len(search.rounds) >= ends_at or not (found := await _unresolved(search, reason)):
            break
        search.redirect = found[0]
        if (belief := search.belief) is not None and belief.form == "structured":
            again = tuple(dict.fromkeys((*found, *belief.questions)))
            resolved = tuple(each for each in belief.resolved if each not in found)
            await search.adopt(replace(belief, questions=again, resolved=resolved))
        reason = await loop()
    return reason


async def _unresolved(search: CorpusSearch, reason: str) -> tuple[str, ...]:
    """The open predicates, by a call that is reserved like any other; none if it does not fit."""
    prompts, found = search.prompts, None
    try:
        if search.window.fits(prompts.unresolved_request(search.bare())):
            found = await search.ask(prompts.unresolved_request, search.view(), prompts.read_unresolved)
    except BudgetExceededError:
        return ()
    search.log_intervention("gap_stop", reason, found or ())
    return found or ()
