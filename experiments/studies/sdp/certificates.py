"""Whether the certificates of the study on SDP are true.

A trajectory is published with its episode, without what no table is made of: texts, facts and the states' fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from experiments.harness.document import Section, Table
from experiments.harness.measured import Measured, Record
from experiments.studies.sdp.reader import NotSdpError
from experiments.studies.sdp.revalidation import checked, revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory

Plain = dict[str, Any]


def collect(measured: Measured) -> tuple[dict[str, list[CertifiedTrajectory]], dict[str, Counter[str]]]:
    """The trajectories by configuration, and what re-validating them gives; without configurations that have none."""
    trajectories: dict[str, list[CertifiedTrajectory]] = {}
    counts: dict[str, Counter[str]] = {}
    for name, records in measured.records.items():
        if measured.specs[name].agent != "sdp":
            continue
        for record in records:
            noted = measured.note(record, "trajectory", partial(_noted, measured, record))
            if noted is not None:
                trajectories.setdefault(name, []).append(CertifiedTrajectory.model_validate(noted["made"]))
                counts.setdefault(name, Counter()).update(noted["checked"])
    return trajectories, counts


def sections(measured: Measured) -> list[Section]:
    """The certificates; nothing where no episode has a chain."""
    trajectories, counts = collect(measured)
    return (
        [Section("Certificates beside the truth", (certificates(trajectories, counts),), level=3)]
        if trajectories
        else []
    )


def certificates(
    trajectories: Mapping[str, Sequence[CertifiedTrajectory]], counts: Mapping[str, Mapping[str, int]]
) -> Table:
    """How many certificates there are of each kind, and how many of them are false.

    Args:
        trajectories: Trajectories by configuration.
        counts: Of each the certificates that follow again from recorded facts, and the findings of re-validation.
    """
    rows, total = [], Counter[str]()
    for name, own in trajectories.items():
        tally = tally_of(own)
        tally.update(counts[name])
        total.update(tally)
        rows.append(_row(name, len(own), tally))
    rows.append(_row("all", sum(map(len, trajectories.values())), total))
    note = (
        "False: the environment, which knows what no agent sees, says otherwise. Others rest on the environment saying "
        "that all is done or on a model, and can be wrong. Follows again: from the facts that the trace records. "
        "Findings: violated invariants of the trajectories (`docs/reference/methods/sdp-trajectories.md`)."
    )
    head = ("configuration", "trajectories", "deterministic", "of these false", "truth unknown", "follows again")
    return Table((*head, "others", "of these false", "truth unknown", "findings"), tuple(rows), note)


def tally_of(own: Sequence[CertifiedTrajectory]) -> Counter[str]:
    """Certificates by what they rest on, and these by the truth."""
    tally = Counter[str]()
    for judged in (judged for trajectory in own for judged in trajectory.certified):
        kind = "deterministic" if judged.check.how == "deterministic" else "other"
        truth = {True: "true", False: "false", None: "unknown"}[judged.check.truth]
        tally.update([kind, f"{kind} {truth}"])
    return tally


def _row(name: str, n: int, tally: Mapping[str, int]) -> tuple[str, ...]:
    shown = ("deterministic", "deterministic false", "deterministic unknown", "recomputed")
    shown += ("other", "other false", "other unknown", "findings")
    return (name, str(n), *(str(tally.get(what, 0)) for what in shown))


def _noted(measured: Measured, record: Record) -> Plain | None:
    """A trajectory and the result of re-validating it; None where the episode has no chain."""
    where = {name: record[name] for name in ("cell", "environment", "task", "digest", "repeat")}
    try:
        trace = CertifiedTrajectory.from_trace(measured.directory.trace_file(record["key"]), **where)
    except NotSdpError:
        return None
    counts = {"recomputed": checked(trace).recomputed, "findings": len(revalidate(trace))}
    return {"made": essential(trace), "checked": counts}


def essential(trajectory: CertifiedTrajectory) -> Plain:
    """A trajectory without what no table is made of; states and targets keep whether they are the same."""
    made: Plain = trajectory.model_dump(mode="json")
    made["seal"] = ""
    made["origin"] |= {"config": {}, "budget": {}}
    made["ending"] |= {"actions": []}
    nodes: dict[str, str] = {}
    texts: dict[str, str] = {}
    for plan in made["plans"]:
        plan["targets"] = [_target(target, texts) for target in plan["targets"]]
    for move in made["moves"]:
        move |= {"text": "", "reason": "", "action": None if move["action"] is None else ""}
        for side in ("before", "after"):
            node = nodes.setdefault(move[side]["node"], str(len(nodes)))
            move[side] = {"certified": [""] * len(move[side]["certified"]), "fields": {}, "node": node}
        for judged in move["judged"]:
            judged["target"] = _target(judged["target"], texts)
            judged["check"] = {key: judged["check"][key] for key in ("holds", "how", "truth")}
    return made


def _target(target: Mapping[str, Any], texts: dict[str, str]) -> Plain:
    text = texts.setdefault(target["text"], str(len(texts)))
    return {"text": text, "kind": target["kind"], "goal": target["goal"]}
