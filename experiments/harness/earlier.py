"""Published studies and benchmarks whose programme is gone: what made them, and the last commit that has it.

Their episodes and reports stay as they were anchored. Of a report, the tables that every report has are still computed
again from the episodes; all else in it is held by its anchor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from experiments.harness import episodes, excerpts
from experiments.harness.document import Section, Table, markdown, table
from experiments.harness.places import RESULTS
from experiments.harness.standard import differences_table, results_table
from tape.reading import read_text

LAST = "f087f432"
"""The last commit with the programmes of these studies, but for those of :data:`BEFORE`."""

BEFORE: Mapping[str, str] = {"aec_sweep": "ee2ff51"}
"""Studies whose programme was gone before."""

STUDIES: Mapping[str, str] = {
    "aec_calibration": "experiments.studies.aec.calibration",
    "aec_errors": "experiments.studies.aec.errors",
    "aec_models": "experiments.studies.aec.models",
    "aec_refine": "experiments.studies.aec.refine",
    "aec_sweep": "experiments.studies.aec.sweep",
    "agentdojo": "experiments.studies.tools.agentdojo",
    "alfworld": "experiments.studies.aec.alfworld",
    "bench_schedules.json": "experiments.benches.schedules",
    "bench_solvers.json": "experiments.benches.solvers",
    "bfcl": "experiments.studies.tools.bfcl",
    "cgdp_budget": "experiments.studies.cgdp.budget",
    "cgdp_gaps": "experiments.studies.cgdp.gaps",
    "cgdp_gate": "experiments.studies.cgdp.gate",
    "cgdp_interventions": "experiments.studies.cgdp.interventions",
    "cgdp_lm_gates": "experiments.studies.cgdp.lm_gates",
    "cgdp_long_transcripts": "experiments.studies.cgdp.long_transcripts",
    "cgdp_public": "experiments.studies.cgdp.public",
    "cgdp_repository": "experiments.studies.cgdp.repository",
    "development": "experiments.studies.tape.development",
    "general_lm": "experiments.studies.general.general",
    "general_lm_grounds": "experiments.studies.general.general",
    "general_lm_others": "experiments.studies.general.general",
    "reproduce": "experiments.studies.tape.reproduce",
    "sdp_ablation": "experiments.studies.sdp.ablation",
    "sdp_ablation-cascades": "experiments.studies.sdp.ablation",
    "sdp_validators.md": "experiments.studies.sdp.validators",
    "tool_chains.json": "experiments.studies.tools.chains",
    "travelplanner": "experiments.studies.travelplanner.travelplanner",
    "travelplanner-baselines": "experiments.studies.travelplanner.travelplanner",
    "web_qa": "experiments.studies.sdp.web",
}
"""By what is published, or was: the module that made it."""

ALL, PAIRS = "All configurations", "Paired differences"


def computed_again(folder: Path, report: str) -> str:
    """The report of a study whose programme is gone, with the tables that follow from its episodes computed again.

    Args:
        folder: The study's folder; a folder in it may hold a part of the study, which is a chapter of the report.
        report: The report's name.

    Raises:
        RunDirectoryError: A file of episodes is damaged.
    """
    file = folder / report
    chapters = read_text(file).split("\n## ")
    for path in sorted(folder.rglob(episodes.FILE)):
        measured, about = episodes.read(path)
        at = next(i for i, chapter in enumerate(chapters) if re.search(rf"{about['module']}[` ]", chapter))
        pairs = [
            (row["levels"], row["model"].strip("`"), row["method"], row["minus"])
            for row in excerpts.rows_of(chapters[at], PAIRS)
        ]
        for title, made in ((ALL, results_table(measured)), (PAIRS, differences_table(measured, pairs))):
            chapters[at] = _replaced(chapters[at], title, made)
    return "\n## ".join(chapters)


def _replaced(chapter: str, title: str, made: Table) -> str:
    """A chapter with another table under a heading; as it is where it has no such heading."""
    before, heading, rest = chapter.partition(f"\n### {title}\n")
    _, end, after = rest.partition("\n### ")
    text = markdown("", [Section(title, (made,), level=3)]).partition("\n\n")[2]
    return f"{before}\n{text}{end}{after}" if heading else chapter


def text() -> str:
    """The table of docs/reference/experiments.md."""
    rows = []
    for name, module in sorted(STUDIES.items()):
        there = RESULTS / name
        link = f"[{name}](../experiments/results/{name}{'/report.md' if there.is_dir() else ''})"
        commit = BEFORE.get(name, LAST)
        rows.append((f"`{module}` of commit `{commit}`", link if there.exists() else name))
    return table(("programme", "results"), rows) + "\n\n"
