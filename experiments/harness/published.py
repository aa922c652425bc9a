"""What the repository keeps of studies: written from published episodes alone, checked against them, written again.

A study that is played by :func:`experiments.harness.cli.main` gets all of this with ``--publish``: its episodes go to
``NAME/episodes.parquet``; the report is made of what is read from there. So nothing can be published that cannot be
recomputed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.evidence.grounds import GROUNDS
from experiments.harness import anchors, earlier, episodes
from experiments.harness.differences import Difference, differences
from experiments.harness.document import markdown, write_report
from experiments.harness.experiment import Experiment, PaperValue
from experiments.harness.measured import Measured
from experiments.harness.standard import sections_of
from tape.errors import RunDirectoryError
from tape.files import replace_file

REPORT = "report.md"
PARTS = tuple(field.name for field in fields(Experiment) if field.type in ("str", "int", "tuple[str, ...]"))
"""Fields of an experiment in which a part of it may differ from its module's own."""

Texts = Mapping[str, str]
"""What is derived: texts by file name within the folder of results."""

OWN: Mapping[str, str] = {"toy": "experiments.studies.toy.report"}
"""Folders of results whose files a module makes itself, by its function ``texts(folder, draw=False) -> Texts``."""

KEPT: Mapping[str, str] = {
    "toy/toy.json": "a simulation without episodes: exact probabilities and seeded draws, in full",
    "bench_solvers.json": "times of solvers, instance by instance, in full; they differ from machine to machine",
    "bench_rcsp.json": "times of shortest paths, instance by instance, measured once",
    "bench_core.json": "times of the search before and after its parts became one, instance by instance, measured once",
    "bench_ledger.json": "a shared ledger at its cap, with simulated time, and its speed, measured once; no episodes",
    "bench_ledger_links.json": "a ledger with and without linked lines, by turns, measured once; no episodes",
    "bench_choices.json": "times of choices as graphs grow, and of proofs, measured once; no episodes",
    "bench_litellm.json": "LiteLLM's proxy with a ledger and with its own budget, measured once; no episodes",
    "bench_schedules.json": "times and gaps of schedules, and times of typed tools at once, measured once",
    "sdp_validators.md": "counts of verdicts on generated cases; no episodes are played",
    "test_set_runs.json": "the register of runs on the test sets; each entry is anchored",
    "tool_chains.json": "counts by method, level and kind of change of seeded problems; a command plays them again",
    "langgoap.json": "counts and times of planning beside LangGOAP on seeded tasks, measured once",
    "budget_scenarios.json": "what scripted models and tools counted in each scenario, run by run, once; no episodes",
    "cgdp_alignment.json": "shares of questions that grounding by subject refuses, counted once; no episodes",
    "cgdp_repo_recall.json": "shares of questions whose evidence one search brings, counted once; no episodes",
    "cgdp_retrieval.json": "shares of questions whose evidence one search brings, counted once; no episodes",
    "local_lm.json": "times of a run and of the same requests by other decoders, measured once",
    "constraints.json": "times of masks, constraint by constraint, measured once",
    "web_qa_measure.json": "our measure beside AssistantBench's scorer on made-up answers; a test scores them again",
    "roles.json": "what models answered in each role, counted; no episodes are played",
    "evidence/gsm_hard_development.json": "a real model on development problems, without parts of the agent, once",
    **{f"evidence/{name}.json": "episodes with a real model; `make evidence` replays them" for name in GROUNDS},
    "bfcl_conversations.json": "conversations of BFCL with a real model, one by one, measured once",
    "gsm_hard_json.json": "answers of a real model with plans as JSON, by an earlier version, measured once",
    "own_tools_ablations.json": "the shop without parts of the agent, question by question, measured once",
    "own_tools.json": "answers of a real model to questions over tools, question by question, measured once",
    "effects/schedules.json": "counts of simulated schedules of workers; a seed plays each again",
    "effects/schedules_agents.json": "the same with whole agents",
    "effects/killed_file.json": "what came of runs whose workers were killed, on a file, counted once",
    "effects/killed_postgresql.json": "the same on PostgreSQL, counted once",
    "effects/killed_langgraph.json": "the same of LangGraph, counted once",
    "effects/killed_dbos.json": "the same of pydantic-ai under DBOS, counted once",
    "effects/dbos_kills.json": "the same of our agents under DBOS, counted once",
    anchors.FILE: "the chain of anchors; it says what was published, and when",
    "recorded.json": "figures of programmes that are gone or measured by hand, with date and commit",
}
"""Published files that are no tables of episodes, and what they are instead."""


def publish(experiment: Experiment, measured: Measured, folder: Path) -> list[Path]:
    """Write what the repository keeps of a run; the same episodes give the same bytes.

    Args:
        experiment: The study.
        measured: Its run.
        folder: The folder of all results.

    Returns:
        The files, the report first.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RunDirectoryError: A table takes something from elsewhere, and not by ``Measured.note`` or ``Measured.rows``.
    """
    timeless = replace(measured, times=False)
    sections_of(experiment, timeless)  # fills the notes
    kept = episodes.write(folder / experiment.name / episodes.FILE, timeless, about(experiment))
    written = [*_write(kept[0]), *kept]
    anchors.add(folder, [experiment.name], "published")
    return written


def write_again(results: Path) -> list[Path]:
    """Make every derived file anew from published episodes, figures too; nothing is played."""
    written = [path for file in _standard(results) for path in _write(file)]
    for name, module in OWN.items():
        if (results / name).is_dir():
            for path, text in _own(module)(results / name, draw=True).items():
                replace_file(results / name / path, text)
                written.append(results / name / path)
    return written


def check(results: Path) -> list[Difference]:
    """Recompute all that is published and compare; empty where every value follows from the episodes.

    Figures are not compared: they are drawn from the same values, by another program.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    result: list[Difference] = []
    derived: dict[str, str] = {}
    makers: list[tuple[str, Callable[[], Texts]]] = [
        (file.parent.name, partial(derive, file)) for file in _standard(results)
    ]
    makers += [
        (name, partial(_own(module), results / name)) for name, module in OWN.items() if (results / name).is_dir()
    ]
    makers += [
        (name, partial(_earlier, results / name)) for name in earlier.STUDIES if (results / name / REPORT).is_file()
    ]
    for name, texts in makers:
        try:
            derived |= {f"{name}/{path}": text for path, text in texts().items()}
        except RunDirectoryError as error:
            result.append(_missing(f"{name}/{REPORT}", str(error)))
    for name, text in derived.items():
        path = results / name
        if path.is_file():
            result += differences(name, path.read_text(encoding="utf-8"), text)
        else:
            result.append(Difference(name, "", "", "", "no such file", "a file"))
    known = {*derived, *KEPT, *(difference.file for difference in result)}
    why = "no published episodes that it follows from; play the study with --publish"
    return [*result, *(_missing(name, why) for name in _texts(results) if name not in known)]


def derive(file: Path) -> Texts:
    """The text that follows from a file of episodes: the report."""
    experiment, measured = of(file)
    return {REPORT: markdown(experiment.title, sections_of(experiment, measured))}


def of(file: Path) -> tuple[Experiment, Measured]:
    """A study and what it measured, from its file of episodes.

    Raises:
        RunDirectoryError: There is none, or it is none of ours.
    """
    measured, about = episodes.read(file)
    changed: dict[str, Any] = dict(about["told"])
    for name in ("models", "differs"):
        if name in changed:
            changed[name] = tuple(changed[name])
    if "paper" in changed:
        changed["paper"] = tuple(PaperValue(**value) for value in changed["paper"])
    base: Experiment = importlib.import_module(about["module"]).EXPERIMENT
    return replace(base, **changed), measured


def about(experiment: Experiment) -> dict[str, Any]:
    """The module of a study, and the fields in which this part of it differs; for :func:`of`."""
    base: Experiment = importlib.import_module(experiment.module).EXPERIMENT
    mine, its = ({name: getattr(item, name) for name in (*PARTS, "paper")} for item in (experiment, base))
    changed = {name: value for name, value in mine.items() if value != its[name]}
    if "paper" in changed:
        changed["paper"] = [asdict(value) for value in experiment.paper]
    return {"module": experiment.module, "told": changed}


def _write(file: Path) -> list[Path]:
    experiment, measured = of(file)
    return write_report(file.parent, experiment.title, sections_of(experiment, measured), html_too=False)


def _earlier(folder: Path) -> Texts:
    return {REPORT: earlier.computed_again(folder, REPORT)}


def _own(module: str) -> Callable[..., Texts]:
    function: Callable[..., Texts] = importlib.import_module(module).texts
    return function


def _standard(results: Path) -> Iterator[Path]:
    """The files of episodes of all studies that are published the common way."""
    files = sorted(results.glob(f"*/{episodes.FILE}"))
    return (file for file in files if file.parent.name not in {*OWN, *earlier.STUDIES})


def _texts(results: Path) -> list[str]:
    paths = (path for path in results.rglob("*") if path.suffix in (".json", ".md") and path.is_file())
    return sorted(str(path.relative_to(results)) for path in paths)


def _missing(name: str, why: str) -> Difference:
    return Difference(name, "", "", "", "figures", why)
