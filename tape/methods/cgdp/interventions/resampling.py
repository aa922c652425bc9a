"""Triggered resampling (CGDP appendix B): stagnation branches to another hypothesis before it ends the search.

The paper takes an LM's query for the sample of a hypothesis. So a hypothesis is a query here, drawn at a temperature
given what is known, that is unlike every query before it.
"""

from __future__ import annotations

from dataclasses import replace

from tape.errors import BudgetExceededError, InvalidOutputError
from tape.lm.base import Request
from tape.methods.cgdp.gates import jaccard, words
from tape.methods.cgdp.remembered import Remembered
from tape.methods.cgdp.view import View

SAMPLES, TEMPERATURE = 4, 1.0
UNLIKE = 0.6
"""A new query has a smaller Jaccard index than this with every query before; tau_J of the paper's gate."""
MOST_BRANCHES = 2
"""Most new hypotheses of a search by resampling (ours)."""


async def resampled(search: Remembered, reason: str) -> bool:
    """Redirect a search that stagnates; False where it has to stop.

    Args:
        search: Its memory.
        reason: What the gate says.
    """
    assert search.settings.rounds is not None
    if len(search.rounds) >= search.settings.rounds or search.branches >= MOST_BRANCHES:
        return False
    search.branches += 1
    search.redirect = await hypothesis(search)
    search.log_intervention("resample", reason, [search.redirect] if search.redirect else [])
    return bool(search.redirect)


async def hypothesis(search: Remembered) -> str:
    """Draw a query unlike all before it, by one call that is reserved like any other.

    Returns:
        The least similar one; empty if there is none, or if the call fits neither the window nor the budget.
    """
    prompts, roles = search.prompts, search.episode.roles
    seed = search.episode.seed_for("hypothesis", len(search.rounds))

    def build(view: View) -> Request:
        asked = prompts.query_request(view, ("search",))
        return replace(asked, n=SAMPLES, temperature=TEMPERATURE, seed=seed, distinct=True)

    if not search.window.fits(build(search.bare())):
        return ""
    fitted = search.window.fit(build, search.view())
    try:
        [completion] = await roles.lm.generate([fitted.request])
    except BudgetExceededError:
        return ""
    tried = [words(one.query) for one in search.rounds]
    found: list[tuple[float, str]] = []
    for text in completion.texts:
        try:
            query = prompts.read_query(fitted.view, text).text
        except InvalidOutputError as error:
            roles.count_malformed(fitted.request.role, text, error)
            continue
        likeness = max((jaccard(words(query), one) for one in tried), default=0.0)
        if query and likeness < UNLIKE:
            found.append((likeness, query))
    return min(found, default=(0.0, ""))[1]
