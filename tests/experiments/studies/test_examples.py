"""Examples from traces: the first that fit, and what they say is what the oracle says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from envs.sokoban.simulator import is_solved, step
from envs.sokoban.state import ACTIONS, State
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, REACT
from experiments.studies.tape import examples
from experiments.studies.tape.catalogue import find
from experiments.studies.tape.error_analysis import Judge, Judges
from experiments.studies.tape.levels import EASY
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tape.trace import ActedEvent, Event, ObservedEvent
from tests.experiments.synthetic import make_run

BUDGET = 8


def moves(judge: Judge, *, well: bool) -> Iterator[Event]:
    """An episode that always plans a best move, and executes it or a worst one."""

    def cost(action: str) -> float:
        found = judge.oracle.cost_to_go(step(judge.level, state, action) or state)
        return 99 if found is None else found

    state: State = judge.level.start
    for done in range(BUDGET):
        yield ObservedEvent(step=done, key=judge.domain.key(state), picture="", remaining={"steps": BUDGET - done})
        if is_solved(judge.level, state):
            return
        best = min(ACTIONS, key=cost)
        action = best if well else max(ACTIONS, key=cost)
        yield ActedEvent(step=done + 1, action=action, text=f" next: {action} ", planned=best, cost={"steps": 1})
        state = step(judge.level, state, action) or state


def measured(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Measured, Judges]:
    """A run in which the paper's algorithm solves all but the first level, and the others solve none."""
    directory = RunDirectory(make_run(find(name), path, lambda method, level, _: method == PAPER.label and level > 0))
    found = Measured.load(directory, write_derived(directory))
    judges, traces = Judges(), {}
    for records in found.records.values():
        for record in records:
            file = directory.trace_file(record["key"])
            file.parent.mkdir(exist_ok=True)
            file.touch()
            judge = judges.of(record["level_set"], record["digest"])
            traces[file] = list(moves(judge, well=record["result"]["success"]))
    monkeypatch.setattr(examples, "read_trace", traces.__getitem__)
    return found, judges


@pytest.mark.usefixtures("stand_ins")
def test_the_first_level_that_only_one_of_two_solves_is_told_move_by_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = measured(tmp_path / "run", "sokoban", monkeypatch)
    [section] = examples.two_trajectories(found, EASY, REACT.label, PAPER.label)
    table = section.blocks[0]
    second = found.records[f"{EASY} / nano-750 / {PAPER.label}"][2]
    assert second["task"] in table.note  # type: ignore[union-attr]
    rows = table.rows  # type: ignore[union-attr]
    assert [row[0] for row in rows] == ["8", "7", "6", "5", "4", "3", "2", "1"]
    assert [row[4] for row in rows] == ["5", "4", "3", "2", "1", "0", "", ""], "six moves of a shortest solution"
    lost = [row[2].startswith("**") for row in rows]
    assert lost[-1]
    assert lost == sorted(lost), "what is out of reach stays so"
