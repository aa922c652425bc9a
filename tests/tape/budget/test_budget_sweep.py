"""Fault injection: simulated episodes in threads against what was really spent.

Ledgers that several processes share are swept in ``test_ledger_schedules``.

No hard cap is overspent but by a broken declaration, which is reported at once; nothing that is set aside stays so.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tape.budget import Budget, Ledger, Payer, Resources
from tape.protocols.result import END_STATES, EpisodeResult
from tape.trace import CostAboveBoundEvent, TraceWriter
from tests.tape.budget.sweep_parts import Faults, Model, Simulated, Tools, Truth, drawn_budget

AT_ONCE = 20


async def play(seed: int, counts: Counter[str], payer: Payer | None = None) -> tuple[EpisodeResult, Truth]:
    """One simulated episode, checked against what its parts really spent."""
    rng = random.Random(seed)
    faults, truth, budget = Faults.drawn(rng), Truth(), drawn_budget(rng)
    trace = TraceWriter("sweep")
    result = await Simulated(Model(rng, faults, truth)).arun(
        Tools(rng, faults, truth), budget=budget, seed=seed, trace=trace, payer=payer
    )
    check(result, truth, budget, trace)
    counts["episodes"] += 1
    counts[result.end_state.split(":")[0]] += 1
    counts["broken declarations"] += truth.broken
    counts["overspent by a broken declaration"] += bool(result.budget_violations)
    return result, truth


def check(result: EpisodeResult, truth: Truth, budget: Budget, trace: TraceWriter) -> None:
    assert result.end_state.split(":")[0] in END_STATES
    # Nothing is lost: what ended is booked as it was, what failed at its worst case.
    assert Resources(result.used) == truth.used + truth.worst
    assert Resources(result.paid) == truth.paid + truth.worst
    assert result.unproven == {kind: n for kind, n in truth.worst.items() if kind not in ("calls", "steps")}
    broken = [event for event in trace.events if isinstance(event, CostAboveBoundEvent)]
    assert bool(broken) == bool(truth.broken) == bool(result.broken_declarations)
    assert all(event.used > event.declared for event in broken)
    over = {kind for kind, cap in budget.items() if result.used.get(kind, 0) > cap}
    assert over == set(result.budget_violations)
    assert over <= {event.kind for event in broken}, "a hard cap was overspent"


async def play_all(seeds: range, counts: Counter[str], payer: Payer | None = None) -> Resources:
    """Some at once, all on one ledger; returns what they paid."""
    total = Resources()
    for first in range(seeds.start, seeds.stop, AT_ONCE):
        some = range(first, min(first + AT_ONCE, seeds.stop))
        for result, _ in await asyncio.gather(*(play(seed, counts, payer) for seed in some)):
            total = total + Resources(result.paid)
    return total


def sweep(seeds: range, share: float, counts: Counter[str]) -> None:
    """Simulated episodes in three threads under one run's ledger, which has enough or only for a part."""
    cap = {kind: int(count * share) for kind, count in (("usd", len(seeds) * 1500), ("coal", len(seeds) * 40))}
    run = Ledger(Budget(cap), name="run")
    third = len(seeds) // 3
    parts = [range(seeds.start + i * third, seeds.start + (i + 1) * third if i < 2 else seeds.stop) for i in range(3)]
    with ThreadPoolExecutor(3) as pool:
        own: list[Counter[str]] = [Counter() for _ in parts]
        done = list(pool.map(lambda item: asyncio.run(play_all(item[0], item[1], run)), zip(parts, own, strict=True)))
    assert run.used == sum(done, Resources()), "a settlement was lost"
    assert not any(run.reserved.values())
    assert set(run.overspent()) <= set(run.violations), "the run's cap was overspent"
    for count in own:
        counts.update(count)


@pytest.mark.parametrize(
    ("share", "seeds"),
    [
        (0.3, range(400)),
        (100.0, range(400)),
        *(
            pytest.param(share, range(first, first + 2500), marks=pytest.mark.soak)
            for first, share in zip(range(100_000, 110_000, 2500), (0.2, 0.5, 1.0, 100.0), strict=True)
        ),
    ],
)
def test_no_cap_is_overspent_whatever_goes_wrong(
    share: float, seeds: range, caplog: pytest.LogCaptureFixture, record_property: Callable[[str, object], None]
) -> None:
    caplog.set_level("ERROR", "tape.budget")
    counts: Counter[str] = Counter()
    sweep(seeds, share, counts)
    assert counts["episodes"] == len(seeds)
    assert counts["success"] > 15
    assert counts["env_error"] > 6
    assert counts["model_error"] > 6
    assert counts["broken declarations"] > 25
    assert counts["budget"] > (150 if share < 1 else 60)
    for name, count in sorted(counts.items()):
        record_property(name, count)
