"""Examples from traces for the reports: one sampling error (the paper's table 3), two trajectories (its figure 7).

Which examples are shown is a rule and no choice: the first ones, in the order of levels, that fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from envs.sokoban.simulator import step
from envs.sokoban.state import Level, State
from experiments.harness.matrix import split
from experiments.harness.measured import Measured, Record
from experiments.studies.tape.error_analysis import Judge, Judges
from tape.show.document import Section, Table
from tape.trace import ActedEvent, ObservedEvent, read_trace

Row = dict[str, Any]


def sampling_errors(measured: Measured, methods: Sequence[str]) -> list[Section]:
    """Per method the first move that was not the planned one and put the goal out of reach; nothing without any."""
    rows = measured.rows("sampling_errors", lambda: _errors(measured, methods))
    if not rows:
        return []
    head = ("method", "model", "level", "step", "state", "thought and action", "planned", "executed")
    note = (
        "Per method the first move, in the order of levels, that is another than that of the plan which the agent was "
        "shown, and after which the goal is out of reach within the budget though it was not before. Cells are (row, "
        "column) from the top left."
    )
    table = Table(head, tuple(tuple(row[name] for name in row) for row in rows), note)
    return [Section("An example of a sampling error (table 3 in the paper)", (table,), level=3)]


def two_trajectories(measured: Measured, setting: str, loser: str, winner: str) -> list[Section]:
    """One level that one method loses and another one solves, move by move; nothing if there is none."""
    rows = measured.rows("two_trajectories", lambda: _pair(measured, setting, loser, winner))
    if not rows:
        return []
    first = rows[0]
    head = ("steps left", f"{loser}: move", "needed after it", f"{winner}: move", "needed after it")
    moves = tuple(tuple(str(row[name]) for name in ("left", "a", "a_after", "b", "b_after")) for row in rows)
    note = (
        f"`{first['level']}` with `{first['model']}`, the first level of `{setting}` that {loser} loses and {winner} "
        f"solves: {first['start']}. Needed are the moves of a shortest solution from there; **in bold** where they are "
        "more than are left. One level shows what is counted, and proves nothing."
    )
    return [Section(f"{loser} and {winner} on one level (figure 7 in the paper)", (Table(head, moves, note),), level=3)]


def _errors(measured: Measured, methods: Sequence[str]) -> list[Row]:
    judges = Judges()
    found: dict[str, Row] = {}
    for name, records in measured.records.items():
        _, model, method = split(name)
        if method not in methods or method in found:
            continue
        for record in records:
            judge = judges.of(record["level_set"], record["digest"])
            for state, left, acted in _moves(measured, record, judge):
                spoilt = judge.viable(state, left) and not judge.action_viable(state, acted.action, left)
                if acted.planned not in (None, acted.action) and spoilt:
                    where = _state(judge.level, state)
                    found[method] = {
                        "method": method, "model": f"`{model}`", "level": record["task"], "step": str(acted.step),
                        "state": where, "said": f"`{acted.text.strip()}`", "planned": acted.planned,
                        "executed": acted.action,
                    }  # fmt: skip
                    break
            if method in found:
                break
    return [found[method] for method in methods if method in found]


def _pair(measured: Measured, setting: str, loser: str, winner: str) -> list[Row]:
    judges = Judges()
    for model in measured.models():
        names = [measured.name(setting, model, method) for method in (loser, winner)]
        if None in names:
            continue
        ours, theirs = ({(r["digest"], r["repeat"]): r for r in measured.records[name or ""]} for name in names)
        for key, record in ours.items():
            other = theirs.get(key)
            if other is None or record["result"]["success"] or not other["result"]["success"]:
                continue
            judge = judges.of(record["level_set"], record["digest"])
            a, b = ([*_steps_of(measured, one, judge)] for one in (record, other))
            if a and b:
                head = {"level": record["task"], "model": model, "start": _state(judge.level, judge.level.start)}
                blank = ("", "")
                return [
                    {**head, "left": (a if i < len(a) else b)[i][0]}
                    | dict(zip(("a", "a_after"), a[i][1:] if i < len(a) else blank, strict=True))
                    | dict(zip(("b", "b_after"), b[i][1:] if i < len(b) else blank, strict=True))
                    for i in range(max(len(a), len(b)))
                ]
    return []


def _steps_of(measured: Measured, record: Record, judge: Judge) -> Iterator[tuple[int, str, str]]:
    """Per move: the steps that were left, the move, and the moves that are needed after it."""
    for state, left, acted in _moves(measured, record, judge):
        cost = judge.oracle.cost_to_go(step(judge.level, state, acted.action) or state)
        needed = "no solution" if cost is None else str(cost)
        yield left, acted.action, needed if cost is not None and cost < left else f"**{needed}**"


def _moves(measured: Measured, record: Record, judge: Judge) -> Iterator[tuple[State, int, ActedEvent]]:
    """The moves of an episode with the state and the steps left before each; nothing without its trace."""
    file = measured.directory.trace_file(record["key"])
    state, left = judge.level.start, 0
    for event in read_trace(file) if file.exists() else ():
        if isinstance(event, ObservedEvent):
            left = event.remaining["steps"] or 0
        elif isinstance(event, ActedEvent):
            yield state, left, event
            state = step(judge.level, state, event.action) or state


def _state(level: Level, state: State) -> str:
    player, boxes, goals = (
        " ".join(str(divmod(cell, level.cols)) for cell in cells)
        for cells in ((state.player,), state.boxes, level.goals)
    )
    return f"player {player}, box {boxes}, goal {goals}"
