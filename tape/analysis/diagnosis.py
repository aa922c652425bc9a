"""The report of ``tape diagnose``: what became of the episodes of a run, and what its subgoal chains show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tape.analysis import audit_report, sdp_report
from tape.analysis.audit import Audited, audit
from tape.analysis.outcomes import LOST, Outcome, outcomes
from tape.analysis.sdp_figure import draw_figure
from tape.analysis.trajectories import Found, trajectories_in
from tape.errors import RunDirectoryError
from tape.files import replace_file
from tape.plugins import missing_extra
from tape.protocols.method import methods
from tape.runner.directory import RunDirectory
from tape.runner.summary import escaped
from tape.sdp.events import ChainEvent
from tape.show.document import Block, Bullets, Section, Table, write_report

TITLE = "Diagnosis of a run"


@dataclass(frozen=True)
class Diagnosis:
    """What a run shows.

    Attributes:
        title: The run, for people.
        outcomes: By configuration, in the order of the run.
        chains: Its certified trajectories; None if no episode has one.
        audited: What came out of checking its records again, by episode.
    """

    title: str
    outcomes: Sequence[Outcome]
    chains: Found | None
    audited: Sequence[Audited]

    def sections(self, picture: Path | None = None) -> list[Section]:
        """The report.

        Args:
            picture: The figure on the chains as a PNG file, if it was drawn.
        """
        chains = [] if self.chains is None else sdp_report.sections_of(self.chains, picture)
        return [*_general(self.title, self.outcomes), *audit_report.sections_of(self.audited), *chains]


def diagnose(run: Path, names: Sequence[str] | None = None, *, replay: bool = False) -> Diagnosis:
    """Read a run; no model and no oracle is asked.

    Args:
        run: The run directory.
        names: Only these configurations.
        replay: Also play the episodes again, where the environment declares that their actions may be.

    Raises:
        RunDirectoryError: There is no run, or it has no finished episode.
        UnknownNameError: It has no such configuration.
        TraceError: A trace is malformed.
    """
    directory = RunDirectory(run)
    found = outcomes(directory, names)
    if not found:
        raise RunDirectoryError(f"{run} holds no finished episode yet")
    chained = [one.configuration for one in found if ChainEvent.type in one.events]
    chains = trajectories_in(directory, chained) if chained else None
    audited = audit(directory, [one.configuration for one in found], replay=replay)
    return Diagnosis(directory.title() or run.resolve().name, found, chains, audited)


def write(found: Diagnosis, out: Path) -> list[Path]:
    """Write ``report.md``, ``report.html`` and ``diagnosis.json``, and a figure of subgoal chains where matplotlib is.

    Args:
        found: What a run shows.
        out: Where to.

    Returns:
        The files written, the report first.
    """
    picture: Path | None = None
    drawn: list[Path] = []
    if found.chains is not None and missing_extra("plots", "matplotlib") is None:
        picture = out / "plots" / "sdp_diagnostics.png"
        drawn = [picture.with_suffix(".svg")]
        draw_figure(found.chains.trajectories, [picture, *drawn])
    files = write_report(out, TITLE, found.sections(picture))
    chains = {} if found.chains is None else found.chains.trajectories
    record = {
        "run": found.title,
        "configurations": {one.configuration: one.as_data() for one in found.outcomes},
        "chains": {name: sdp_report.measured(own) for name, own in chains.items()},
        "records": audit_report.as_data(found.audited),
    }
    data = out / "diagnosis.json"
    replace_file(data, json.dumps(record, indent=1) + "\n")
    return [*files, *drawn, data]


def _general(title: str, found: Sequence[Outcome]) -> list[Section]:
    """What holds for every run."""
    first: list[Block] = [f"Of the run {title!r}, from its episodes and traces alone.", _overview(found)]
    if untraced := sum(one.untraced for one in found):
        first.append(f"{untraced} episodes have no trace; all counts but success, steps and end states leave them out.")
    sections = [
        Section("What there is", tuple(first)),
        Section("How episodes ended", (_by_kind("end state", found, lambda one: one.ends),), 3),
    ]
    if any(one.lost for one in found):
        stages = [*LOST.items(), *(item for method in methods() for item in method.stages.items())]
        meaning = Bullets(
            tuple(f"`{stage}`: {text}" for stage, text in stages if any(one.lost[stage] for one in found))
        )
        lost = _by_kind("where", found, lambda one: one.lost)
        sections.append(Section("Where failed episodes stopped", (lost, meaning), 3))
    if any(one.gaps for one in found):
        gaps = [f"`{gap}`: {text}" for method in methods() for gap, text in method.gaps.items()]
        blocks = (_by_kind("gap", found, lambda one: one.gaps), Bullets(tuple(gaps)))
        sections.append(Section("Gaps of searches", blocks, 3))
    if any(one.replans for one in found):
        sections.append(Section("Replans by reason", (_by_kind("reason", found, lambda one: one.replans),), 3))
    if any(one.malformed for one in found):
        quoted = tuple(f"{role}: `{_short(text)}`" for one in found for role, text in one.examples)
        answers = (_by_kind("role", found, lambda one: one.malformed), "For instance:", Bullets(quoted))
        sections.append(Section("Answers that could not be read", answers, 3))
    return sections


def _overview(found: Sequence[Outcome]) -> Table:
    rows = []
    for one in found:
        row = [escaped(one.configuration), f"{one.episodes} ({one.tasks})", one.success.shown, str(one.steps)]
        row += [_of(one.mismatches, one.planned), _of(one.left_plan, one.planned), str(one.replans.total())]
        rows.append((*row, str(one.malformed.total()), str(one.over_budget)))
    head = ("configuration", "n (tasks)", "success", "steps", "mismatches", "not as planned", "replans", "malformed")
    note = (
        "Success with its 95 % interval. Mismatches: the state was not as predicted; not as planned: another action "
        "was executed than planned; both beside the number of planned steps. Malformed: answers of the model "
        "that could not be read; each was survived. Over budget must be 0."
    )
    return Table((*head, "over budget"), tuple(rows), note)


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "-"


def _by_kind(what: str, found: Sequence[Outcome], of: Callable[[Outcome], Counter[str]]) -> Table:
    """How often each kind occurred, a column for every kind, the most frequent first."""
    total: Counter[str] = Counter()
    for one in found:
        total.update(of(one))
    kinds = [kind for kind, _ in total.most_common()]
    rows = [(escaped(one.configuration), *(str(of(one)[kind]) for kind in kinds)) for one in found]
    return Table((f"configuration \\ {what}", *map(escaped, kinds)), tuple(rows))


def _short(text: str, most: int = 100) -> str:
    """A text on one line, without the marks of a report."""
    plain = " ".join(text.replace("`", "'").split())
    return plain if len(plain) <= most else f"{plain[:most]} ..."
