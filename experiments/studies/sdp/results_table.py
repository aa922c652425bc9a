"""The table of certified subgoal chains in docs/results.md, from the committed episodes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

from experiments.harness import episodes, published
from experiments.harness.matrix import split
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE_PLUS
from experiments.harness.places import RESULTS
from experiments.harness.standard import share
from experiments.studies.sdp import anatomy
from experiments.studies.sdp.settings import PATH, SDP
from tape.show.document import table

FOLDER = RESULTS / "sdp-declared"


def sdp_text(folder: Path = FOLDER) -> str:
    """The table, and how many certificates were right; empty if the comparison has not been published yet."""
    file = folder / episodes.FILE
    if not file.exists():
        return ""
    experiment, measured = published.of(file)
    columns = list(dict.fromkeys(split(name)[:2] for name in measured.groups))
    rows = [
        (method, *(share(measured.success(setting, model, method)) for setting, model in columns))
        for method in measured.methods()
    ]
    head = ("", *(f"{setting}, `{model}`" for setting, model in columns))
    sizes = ", ".join(f"{setting} {_n(measured, setting, model)}" for setting, model in columns)
    note = (
        f"Success with 95 % intervals; n: {sizes}. The same tasks, budgets, models and seeds for all. {TAPE_PLUS} "
        f"Made by `{experiment.command}`."
    )
    return "\n".join([table(head, rows), "", note, "", _calls(measured, columns), "", _certificates(measured), ""])


def _n(measured: Measured, setting: str, model: str) -> int:
    return max(group["episodes"] for name, group in measured.groups.items() if split(name)[:2] == (setting, model))


def _calls(measured: Measured, columns: list[tuple[str, str]]) -> str:
    """What a chain from one sample saves in calls of the model."""
    ratios = []
    for setting, model in columns:
        one, whole = (_mean_calls(measured, setting, model, method.label) for method in (SDP, PATH))
        if one is not None and whole:
            ratios.append((one / whole, f"{setting}, `{model}`"))
    if not ratios:
        return ""
    listed = "; ".join(f"{ratio:.2f} on {where}" for ratio, where in ratios)
    return f"LM calls an episode, {SDP.label} (one sampled chain) to {PATH.label} (the solver's path): {listed}."


def _mean_calls(measured: Measured, setting: str, model: str, method: str) -> float | None:
    name = measured.name(setting, model, method)
    if name is None:
        return None
    return fmean(sum(record["result"]["lm_calls"].values()) for record in measured.records[name])


def _certificates(measured: Measured) -> str:
    """How many certificates are false."""
    found, _ = anatomy.collect(measured)
    tally: Counter[str] = sum((anatomy.tally_of(own) for own in found.values()), Counter())
    return (
        f"Of {tally['deterministic']:,} deterministic certificates in {sum(map(len, found.values())):,} trajectories "
        f"{tally['deterministic false']} were false by the environment's own truth (it cannot tell of "
        f"{tally['deterministic unknown']}); of {tally['other']:,} that rest on the environment saying that all is "
        f"done {tally['other false']} were."
    )
