"""Forged traces: none passes for what the environment did, whoever chains it anew; and what caught each."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.analysis.audit import Audited, audit_trace, played_in
from tape.analysis.by_replay import Played
from tape.plugins import load
from tape.runner.directory import RunDirectory
from tape.seeds import derive
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Judge, Line, Trace
from tests.tape.loaders import command

RUNS = {
    "sokoban, sampled": "sokoban --levels hard-dev --model bundled:nano-1500 --chain sample --limit 6",
    "sokoban, path": "sokoban --levels hard-dev --model bundled:nano-1500 --chain walk --limit 4",
    "alfworld, sampled": "alfworld --model bundled:household --chain sample --max-replans 50 --count 3",
    "alfworld, path": "alfworld --model bundled:household --chain walk --max-replans 50 --count 3",
    "trips, slot by slot": "travelplanner --model declared:random --chain adapter --tightness loose --count 4",
    "trips, path": "travelplanner --chain walk --count 2",
    "word problems, path": "gsm_hard --chain walk --tightness tight --limit 3",
    "questions, sampled": "musique --reader scripted --chain sample --tightness loose --limit 3",
}
"""Real runs of the agent sdp, on development tasks."""

SEED = 41
EVERY = 10
"""Of a hundred edits: how many the slow suite makes of the soak's thousand."""
LAYERS = ("schema", "links", "record", "books", "invariants", "grounding", "replay")


@dataclass(frozen=True)
class Episode:
    """A real episode, and what it was played in."""

    run: str
    lines: Trace
    record: Line
    played: Played


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    """The episodes of all runs."""
    return [one for name in RUNS for one in episodes_of(name, tmp_path_factory.mktemp("run") / "out")]


def episodes_of(name: str, out: Path) -> list[Episode]:
    """Play one of the runs."""
    environment, *rest = RUNS[name].split()
    assert command("run", environment, *rest, "--agent", "sdp", "--out", out, "--quiet") == 0
    directory = RunDirectory(out)
    found = []
    [spec] = directory.configurations().values()
    plugin = load("tape.environments", spec.environment)
    tasks = {task.digest: task for task in plugin.tasks(spec.options)}
    for record in directory.episodes():
        played = played_in(spec, tasks[record["digest"]], record["repeat"])
        found.append(Episode(name, forging.read(directory.trace_file(record["key"])), record, played))
    return found


def caught(lines: Trace, episode: Episode, file: Path, *, chained: bool, replay: bool = True) -> list[str]:
    """The layers that find something in a forged trace, the first one that is asked first."""
    record = forging.write(file, lines, deepcopy(episode.record), chained=chained)
    one = Audited("cell", episode.record["key"], episode.record["task"])
    audit_trace(one, file, record, episode.played if replay else None)
    rules = {finding.rule for finding in one.findings}
    layers = {rule if rule in LAYERS else "invariants" for rule in rules}
    return [layer for layer in LAYERS if layer in layers]


def sweep(episodes: list[Episode], count: int, seed: int, file: Path) -> dict[str, Any]:
    """Forge traces, each with one edit: as it is, and by a forger who chains it anew.

    Returns:
        What caught them, and what passed: by the words of the edit.
    """
    rng = Random(seed)
    first: dict[str, Counter[str]] = {"as written": Counter(), "chained anew": Counter()}
    alone, passed, edits = Counter[str](), Counter[str](), Counter[str]()
    by_run: dict[str, Counter[str]] = {}
    wrong = []
    for number in range(count):
        episode = episodes[number % len(episodes)]
        lines, done = forging.forged(episode.lines, rng)
        edits[done.partition(":")[0]] += 1
        found = caught(lines, episode, file, chained=False, replay=False)
        first["as written"][found[0] if found else "nothing"] += 1
        assert found, f"the hashes do not show: {done}"
        found = caught(lines, episode, file, chained=True)
        layer = found[0] if found else "nothing"
        first["chained anew"][layer] += 1
        by_run.setdefault(episode.run, Counter())[layer] += 1
        if len(found) == 1:
            alone[found[0]] += 1
        if not found:
            against = Judge(episode.played.make, derive(episode.played.seed, "environment")).against(lines)
            passed[done] += 1
            if against:
                wrong.append(f"{number}, {episode.run}, {done}: {against}")
    assert not wrong, "\n".join(wrong)
    return {
        "edits": count,
        "of each kind": edits,
        "caught first by": first,
        "caught by one layer alone": alone,
        "by run": by_run,
        "passed, as the environment's own replay confirms it": passed,
    }


@pytest.mark.slow
def test_what_was_really_played_has_no_findings(episodes: list[Episode], tmp_path: Path) -> None:
    for episode in episodes:
        assert caught(episode.lines, episode, tmp_path / "t.jsonl", chained=False) == []
        assert not Judge(episode.played.make, derive(episode.played.seed, "environment")).against(episode.lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", forging.NAMED)
def test_the_three_forgeries_that_once_passed_do_not(name: str, episodes: list[Episode], tmp_path: Path) -> None:
    edit, runs = forging.NAMED[name], Counter[str]()
    for number, episode in enumerate(episodes):
        lines = deepcopy(episode.lines)
        if not edit(lines, Random(number)):
            continue
        found = caught(lines, episode, tmp_path / "t.jsonl", chained=True)
        assert {"grounding", "replay"} & {*found}, (episode.run, number, found)
        judge = Judge(episode.played.make, derive(episode.played.seed, "environment"))
        assert judge.against(lines) or not hasattr(judge.make().domain, "ground")
        runs[episode.run.partition(",")[0]] += 1
    # Elsewhere failed runs are rare, or end without an action.
    assert ({"sokoban"} if name == "a" else {"sokoban", "alfworld", "trips"}) <= {*runs}


@pytest.mark.slow
def test_random_forgeries_pass_only_where_the_environment_confirms_them(
    episodes: list[Episode], tmp_path: Path
) -> None:
    figures = sweep(episodes, EVERY, SEED, tmp_path / "t.jsonl")
    assert sum(figures["caught first by"]["chained anew"].values()) == EVERY


@pytest.mark.soak
def test_1_000_random_forgeries(
    episodes: list[Episode], record_property: Callable[[str, object], None], tmp_path: Path
) -> None:
    count = int(os.environ.get("TAPE_FORGERIES", "1000"))
    figures = sweep(episodes, count, SEED + 1, tmp_path / "t.jsonl")
    record_property("edits", count)
    record_property("caught first by", json.dumps(figures["caught first by"], sort_keys=True))
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        (Path(folder) / "forged_traces.json").write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")
