"""Forged records: an edit passes only in a field that is listed as not checked, whoever chains the lines anew."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.analysis.audit import Audited, audit, audit_trace, played_in
from tape.analysis.by_replay import NOT_CHECKED, Played
from tape.plugins import load
from tape.runner.directory import RunDirectory
from tape.trace import Event, read_trace
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Line, Trace
from tests.tape.loaders import command

RUNS: dict[str, tuple[str, ...]] = {
    "tape": (
        "sokoban --levels hard-dev --model bundled:nano-1500 --limit 3",
        "sokoban --agent react --levels hard-dev --model bundled:nano-1500 --limit 1",
        "travelplanner --tightness loose --limit 1",
    ),
    "aec": (
        "alfworld --verify aec --gate thresholds --limit 3",
        "alfworld --verify aec --gate simulate_all --limit 2",
        "sokoban --levels hard-dev --model bundled:nano-1500 --verify aec --limit 2",
    ),
    "sdp": (
        "sokoban --agent sdp --levels hard-dev --model bundled:nano-1500 --chain sample --limit 4",
        "alfworld --agent sdp --model bundled:household --chain walk --max-replans 50 --count 2",
        "travelplanner --agent sdp --model declared:random --chain adapter --tightness loose --count 2",
    ),
    "cgdp": (
        "musique_search --agent cgdp --limit 3",
        "musique_search --agent cgdp --context-tokens 384 --gate voi --verify aec --limit 3",
        "musique_search --agent cgdp --select solver --depths 5,10 --budget tokens=4000 --limit 2",
        "musique_search --agent ircot --memory freeform --gate f_j0.6_u0.3_p2 --limit 3",
    ),
}
"""Real runs of each method, on development tasks."""

SEED = 41
FEW = 6
"""Edits a method that the slow suite makes of the soak's thousand."""
SECURITY = Path(__file__).parents[3] / "SECURITY.md"


@dataclass(frozen=True)
class Episode:
    """A real episode, and what it was played in."""

    directory: RunDirectory
    lines: Trace
    events: list[Event]
    record: Line
    played: Played


Play = Callable[[str], list[Episode]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays a run, each once."""
    return cache(lambda run: episodes_of(run, tmp_path_factory.mktemp("run") / "out"))


@pytest.fixture(scope="module", params=RUNS)
def episodes(request: pytest.FixtureRequest, play: Play) -> list[Episode]:
    """The first episode of each run of a method; the soak takes all."""
    return [episode for run in RUNS[request.param] for episode in play(f"{run.rpartition(' ')[0]} 1")]


def episodes_of(run: str, out: Path) -> list[Episode]:
    """Play a run."""
    environment, *rest = run.split()
    assert command("run", environment, *rest, "--out", out, "--quiet") == 0
    directory = RunDirectory(out)
    [spec] = directory.configurations().values()
    plugin = load("tape.environments", spec.environment)
    tasks = {task.digest: task for task in plugin.tasks(spec.options)}
    found = []
    for record in directory.episodes():
        played = played_in(spec, tasks[record["digest"]], record["repeat"])
        file = directory.trace_file(record["key"])
        found.append(Episode(directory, forging.read(file), [*read_trace(file)], record, played))
    return found


def rules(lines: Trace, episode: Episode, file: Path, *, chained: bool, replay: bool) -> set[str]:
    """The rules that a forged trace breaks."""
    record = forging.write(file, lines, deepcopy(episode.record), chained=chained)
    one = Audited("configuration", episode.record["key"], episode.record["task"])
    audit_trace(one, file, record, episode.played if replay else None)
    return forging.rules(one)


def of_record(record: Line, episode: Episode) -> set[str]:
    """The rules that a forged record breaks."""
    file = episode.directory.path / "episodes.jsonl"
    before = file.read_bytes()
    try:
        file.write_text(json.dumps(record) + "\n")
        return {rule for one in audit(episode.directory) for rule in forging.rules(one)}
    except Exception:
        return {"schema"}
    finally:
        file.write_bytes(before)


def sweep(episodes: list[Episode], count: int, seed: int, file: Path) -> dict[str, Any]:
    """Forge records, each with one edit, by a forger who chains the lines anew.

    Returns:
        What caught them, and what passed: by field.
    """
    rng = Random(seed)
    caught, listed, open_in_the_file = Counter[str](), Counter[str](), Counter[str]()
    fields: set[str] = set()
    wrong = []
    for number in range(count):
        episode = episodes[number % len(episodes)]
        if number % 10 == 9:
            record, field = forging.forged_record(episode.record, rng)
            found = of_record(record, episode)
            level = "record"
        else:
            lines, field = forging.forged(episode.lines, rng)
            found, level = rules(lines, episode, file, chained=True, replay=False), "from the file"
            if not found:
                open_in_the_file[field] += 1
                found, level = rules(lines, episode, file, chained=True, replay=True), "by replay"
        fields.add(field)
        if not found and level == "by replay" and [*read_trace(file)] == episode.events:
            level, found = "nothing changes when it is read", {"none"}  # a default that was left out
        caught[level if found else "nothing"] += 1
        if not found and any(field == name or field.startswith(f"{name}.") for name in NOT_CHECKED):
            listed[field] += 1
        elif not found:
            wrong.append(f"{number}, {episode.directory.path}, {field}")
    assert not wrong, "\n".join(wrong)
    return {
        "edits": count, "fields and kinds of edits": len(fields), "caught first": caught,
        "of those that the file alone does not show": open_in_the_file,
        "passed, in fields that are listed as not checked": listed, "passed, in fields that follow from others": 0,
    }  # fmt: skip


@pytest.mark.slow
def test_what_was_really_played_has_no_findings(episodes: list[Episode], tmp_path: Path) -> None:
    for episode in episodes:
        assert not rules(episode.lines, episode, tmp_path / "t.jsonl", chained=False, replay=True)
        changed = deepcopy(episode.lines)
        changed[0]["task"] += " forged"
        assert "links" in rules(changed, episode, tmp_path / "t.jsonl", chained=False, replay=False)


@pytest.mark.slow
def test_random_forgeries_pass_only_in_fields_that_are_listed(episodes: list[Episode], tmp_path: Path) -> None:
    figures = sweep(episodes, FEW, SEED, tmp_path / "t.jsonl")
    assert figures["caught first"].total() == FEW


@pytest.mark.soak
@pytest.mark.parametrize("method", RUNS)
def test_1_000_random_forgeries_of_each_method(
    method: str, play: Play, record_property: Callable[[str, object], None], tmp_path: Path
) -> None:
    count = int(os.environ.get("TAPE_FORGERIES", "1000"))
    played = [episode for run in RUNS[method] for episode in play(run)]
    for episode in played:
        assert not rules(episode.lines, episode, tmp_path / "t.jsonl", chained=False, replay=True)
    figures = sweep(played, count, SEED + 1, tmp_path / "t.jsonl")
    record_property("edits", count)
    record_property("caught first", json.dumps(figures["caught first"], sort_keys=True))
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        file = Path(folder) / "forged_traces.json"
        written = json.loads(file.read_text()) if file.exists() else {}
        kept = {name: written[name] for name in RUNS if name in written}
        file.write_text(json.dumps(kept | {method: figures}, indent=2, sort_keys=True) + "\n")


def test_the_fields_that_are_not_checked_are_listed_for_users() -> None:
    text = SECURITY.read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([a-z_.]+)` \| (.+) \|$", text, re.MULTILINE))
    assert listed == dict(NOT_CHECKED)
