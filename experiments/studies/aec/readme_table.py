"""The tables on ALFWorld in docs/results.md, from the committed episodes."""

from __future__ import annotations

from experiments.harness import episodes, published
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE_PLUS
from experiments.harness.places import RESULTS
from experiments.harness.standard import share
from experiments.studies.aec.methods import named
from tape.show.document import Table, table

MODEL = "household"


def alfworld_text() -> str:
    """What agents achieve under tight and loose budgets, and what those achieve and spend that check differently."""
    found = (agents_table(_read("alfworld")), checks_table(_read("aec")))
    return "\n".join("\n".join([table(one.head, one.rows), "", one.note, ""]) for one in found)


def _read(study: str) -> Measured:
    return published.of(RESULTS / study / episodes.FILE)[1]


def agents_table(measured: Measured) -> Table:
    """Success of every agent by games and budget."""
    settings = measured.settings()
    body = [
        (method, *(share(measured.success(setting, MODEL, method)) for setting in settings))
        for method in measured.methods()
    ]
    groups = {name: group for name, group in measured.groups.items() if f" / {MODEL} / " in name}
    sizes = {name.partition(" / ")[0]: group["episodes"] for name, group in groups.items()}
    note = (
        "Games won with as many commands as the fewest possible and 2 (tight) or 10 more (loose), 95 % intervals; n: "
        f"{', '.join(f'{name} {n}' for name, n in sizes.items())}. What is in every receptacle is told at the start, "
        f"which commands the engine admits is not. {TAPE_PLUS} `bundled:household`, M = 4. Episodes over budget: "
        f"{sum(group['budget_violations'] for group in groups.values())}. Made by `python -m "
        "experiments.studies.aec.alfworld --data DIR`."
    )
    return Table(("", *settings), tuple(body), note)


def checks_table(measured: Measured) -> Table:
    """What agents that check differently achieve and spend."""
    body = []
    for setting, model, method, name in measured.played():
        if model != MODEL:
            continue
        group = measured.groups[name]
        n, counted = group["episodes"], group["method"]
        made = counted.get("commitments", 0)
        committed = f"{counted.get('infeasible_commitments', 0)} of {made}" if made else "-"
        spent = (f"{group['mean_steps']:.1f}", f"{group['replans'] / n:.2f}", f"{counted.get('queries', 0) / n:.2f}")
        success = share(measured.success(setting, model, method))
        body.append((setting, method, str(n), success, *spent, committed, f"{group['lm_tokens'] / n:.0f}"))
    head = ("games", "agent", "n", "success", "steps", "replans", "queries", "infeasible commitments", "LM tokens")
    note = (
        "Only what the agent has seen is known; at most 50 commands; 95 % intervals; steps, replans, queries and "
        "tokens are means per episode. Which commands the engine admits is told to no agent. "
        f"{named(measured.methods())} Made by `python -m experiments.studies.aec.aec --data DIR`."
    )
    return Table(head, tuple(body), note)
