"""What the certified trajectories of a run show (SDP section 4.2, figure 3): tables and a figure from traces alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tape.analysis.credit import by_kind
from tape.analysis.measures import (
    ENDS,
    MOST,
    STAGES,
    Trajectories,
    agreement,
    attempts_by_kind,
    cascades,
    certified_by_length,
    endings,
    failed,
    goals,
    progress,
    progress_by_kind,
    rejections,
    score_by_replans,
    task_of,
)
from tape.analysis.trajectories import Found
from tape.sdp.revalidation import checked, revalidate
from tape.show.document import Block, Figure, Section, Table

INTERVALS = (
    "Intervals are 95 %: Wilson's where nothing is repeated, else by bootstrap over episodes (of actions and verdicts) "
    "or tasks (of episodes)."
)


def measured(found: Trajectories) -> dict[str, Any]:
    """Everything about one configuration as plain values, for a JSON file."""
    exact = [checked(one) for one in found]
    flagged: Counter[str] = Counter()
    for one in exact:
        flagged.update(one.flagged)
    return {
        "episodes": len(found),
        "tasks": len({task_of(one) for one in found}),
        "successes": sum(one.ending.success for one in found),
        "goal_certified": sum(one.ending.goal_certified for one in found),
        "certificates": {
            "recomputed": sum(one.recomputed for one in exact),
            "unrecorded": sum(one.unrecorded for one in exact),
            **dict(sorted(flagged.items())),
        },
        "findings": sum(len(revalidate(one)) for one in found),
        "cascades": asdict(cascades(found)),
        "score_by_replans": [asdict(one) for one in score_by_replans(found)],
        "failed": len(failed(found)),
        "progress_of_failed": asdict(progress(found)),
        "progress_of_failed_by_kind": {kind: asdict(one) for kind, one in progress_by_kind(found).items()},
        "certified_of_failed_by_planned": certified_by_length(found),
        "rejections": rejections(found),
        "endings_of_failed": endings(found),
        "credit_by_kind": [asdict(one) for one in by_kind(found)],
        "verdicts": {how: asdict(one) for how, one in agreement(found).items()},
        "goal": asdict(goals(found)),
    }


def sections_of(found: Found, picture: Path | None = None) -> list[Section]:
    """The chapter of a report.

    Args:
        found: What the run holds.
        picture: The figure as a PNG file, if it was drawn.
    """
    own = found.trajectories
    blocks: list[Block] = [f"From traces alone. {INTERVALS}"]
    lost = {name: n for name, n in found.without.items() if n}
    if lost:
        listed = ", ".join(f"{n} of {name}" for name, n in lost.items())
        blocks.append(f"Left out, since they ended before there was a chain: {listed}.")
    blocks.append(_overview(own))
    if picture is not None:
        caption = "Cascade depth, score by replans, progress of failed runs, and verdicts beside the truth. "
        blocks.append(Figure(picture.stem, caption + INTERVALS, file=picture))
    return [Section("Certified subgoal chains", tuple(blocks)), *anatomy(own)]


ByName = Mapping[str, Trajectories]
"""Trajectories by configuration."""

Row = tuple[str, ...]


def anatomy(own: ByName) -> list[Section]:
    """What the trajectories are like, without what it takes recorded facts for.

    Args:
        own: The trajectories.
    """
    return [
        Section("Cascades", (_cascades(own),), 3),
        Section("Score by replans", (_replans(own),), 3),
        Section("How far failed episodes get", (_progress(own), _progress_kinds(own), _lengths(own)), 3),
        Section("Where attempts and episodes fail", (_rejections(own), _endings(own), _credit(own)), 3),
        Section("Verdicts beside the truth", (_verdicts(own), _goals(own)), 3),
    ]


def _overview(found: ByName) -> Table:
    def row(own: Trajectories) -> Row:
        one = measured(own)
        certificates = dict(one["certificates"])
        recomputed, unrecorded = certificates.pop("recomputed"), certificates.pop("unrecorded")
        flagged = ", ".join(f"{n} {how}" for how, n in certificates.items()) or "none"
        counts = (one["successes"], one["goal_certified"], recomputed, unrecorded, flagged, one["findings"])
        return (f"{one['episodes']} ({one['tasks']})", *map(str, counts))

    head = ("n (tasks)", "success", "goal certified", "certificates recomputed", "without facts", "flagged", "findings")
    note = (
        "Recomputed: deterministic certificates that follow again from the recorded facts. Without facts: "
        "deterministic ones that only the environment could repeat. Flagged: those that can be wrong. Findings: "
        "violated invariants of the trajectories (`docs/reference/methods/sdp-trajectories.md`)."
    )
    return _table(found, head, lambda own: [row(own)], note)


def _table(found: ByName, head: Sequence[str], rows: Callable[[Trajectories], Iterable[Row]], note: str = "") -> Table:
    """A table with some rows of each configuration."""
    listed = tuple((name, *row) for name, own in found.items() for row in rows(own))
    return Table(("configuration", *head), listed, note)


def _cascades(found: ByName) -> Table:
    def row(own: Trajectories) -> Row:
        one = cascades(own)
        shown = (str(one.deep.n), *(depth.shown for depth in one.depths), one.deep.shown)
        return (*shown, f"{one.without_completion.shown}, n = {one.without_completion.n}")

    depths = [f"k = {k}" for k in range(1, MOST)] + [f"k >= {MOST}"]
    note = "n: certifying actions. The last column leaves out actions after which the environment reported all as done."
    return _table(found, ("n", *depths, "k >= 2", "k >= 2 without completion"), lambda own: [row(own)], note)


def _replans(found: ByName) -> Table:
    head = (*(f"{count} replans" for count in range(MOST)), f"{MOST} or more")
    note = "Mean of the environment's measure `score`, where it has one, else success."
    return _table(found, head, lambda own: [tuple(f"{one.shown}, n = {one.n}" for one in score_by_replans(own))], note)


def _progress(found: ByName) -> Table:
    head = ("failed runs", "certified share of the chain")
    return _table(found, head, lambda own: [(str(progress(own).n), progress(own).shown)])


def _progress_kinds(found: ByName) -> Table:
    def rows(own: Trajectories) -> list[Row]:
        return [(kind, str(one.n), one.shown) for kind, one in progress_by_kind(own).items()]

    head = ("kind of predicate", "planned in failed runs", "certified")
    return _table(found, head, rows, "Planned: in the chain at the end.")


def _lengths(found: ByName) -> Table:
    def rows(own: Trajectories) -> list[Row]:
        return [(str(length), str(n), f"{k:.2f}") for length, (n, k) in certified_by_length(own).items()]

    return _table(found, ("length of the chain at the end", "failed runs", "predicates certified, mean"), rows)


def _rejections(found: ByName) -> Table:
    def rows(own: Trajectories) -> list[Row]:
        tried = attempts_by_kind(own)
        return [(kind, str(tried[kind]), *(str(by[stage]) for stage in STAGES)) for kind, by in rejections(own).items()]

    note = "Failed attempts of all runs, by the kind of their target; n: attempts at targets of the kind."
    return _table(found, ("kind of predicate", "n", *STAGES.values()), rows, note)


def _endings(found: ByName) -> Table:
    def rows(own: Trajectories) -> list[Row]:
        return [(kind, str(by.total()), *(str(by[end]) for end in ENDS)) for kind, by in endings(own).items()]

    note = "Failed runs, by the kind of the predicate at which they ended."
    return _table(found, ("stuck at", "n", *ENDS.values()), rows, note)


def _credit(found: ByName) -> Table:
    def rows(own: Trajectories) -> list[Row]:
        return [
            (one.name, str(one.certified), str(one.attempts), f"{one.rate:.2f}", f"{one.progress / len(own):.3f}")
            for one in by_kind(own)
        ]

    head = ("kind of predicate", "certified", "attempts", "certified per attempt", "progress per episode")
    return _table(found, head, rows, "An attempt is its target's kind; a cascade certifies other kinds too.")


def _verdicts(found: ByName) -> Table:
    def rows(own: Trajectories) -> list[Row]:
        return [
            (how, *(f"{s.shown}, n = {s.n}" for s in (one.precision, one.recall)), str(one.unknown))
            for how, one in agreement(own).items()
        ]

    note = (
        "Where the environment can tell the truth of a predicate, which no agent sees. Precision: of the certified, "
        "the true ones. Recall: of the true ones that were looked at, the certified."
    )
    return _table(found, ("judged by", "precision", "recall", "truth not known"), rows, note)


def _goals(found: ByName) -> Table:
    def row(own: Trajectories) -> Row:
        one = goals(own)
        return tuple(f"{s.shown}, n = {s.n}" for s in (one.agree, one.certified, one.judged, one.forced))

    head = ("goal certified agrees with success", "success where certified",
            "success where the validator certified it", "success of forced answers")  # fmt: skip
    note = "Forced: a final answer at a limit; these runs are in the last column alone."
    return _table(found, head, lambda own: [row(own)], note)
