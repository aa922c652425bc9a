"""From traces to decisions: hand-made traces, an independent search as judge, real agents, run directories."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape.lm.registry
from envs.sokoban.oracle import oracle_for
from envs.sokoban.simulator import is_solved, step
from envs.sokoban.state import ACTIONS, Level, State
from envs.sokoban.xsb import parse, write
from experiments.studies.tape.error_analysis import Judge, error_table, judge_episode, judge_run, main, markdown
from experiments.studies.tape.error_rates import JudgedEpisode, error_rates
from tape import ReactAgent, TapeAgent
from tape.cli import main as tape_main
from tape.lm.base import Request
from tape.runner.directory import RunDirectory
from tape.trace import ActedEvent, Event, LedgerEvent, ObservedEvent, PathSelectedEvent, PlansSampledEvent, StartedEvent
from tests.profiles import examples
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play

# T* = 3: the box is two to the right of the player, the goal two to the right of the box.
NEAR = 3


def judge_of(level: Level) -> Judge:
    return Judge(level, "digest", oracle_for(level))


def trace_of(level: Level, budget: int | None, acts: Sequence[tuple[str | None, str]], **config: object) -> list[Event]:
    """A trace as agents write it; each act is the thought (None: no call was made) and the executed action."""
    judge, state = judge_of(level), level.start
    events: list[Event] = [StartedEvent(config={"horizon": None, **config}, budget={})]
    for done, (thought, action) in enumerate([*acts, ("", "")]):
        remaining = {} if budget is None else {"steps": budget - done}
        events.append(ObservedEvent(step=done, key=judge.domain.key(state), picture="", remaining=remaining))
        if done == len(acts):
            break
        if thought is not None:
            events.append(LedgerEvent(what="settle", purpose="lm:act", amounts={"calls": 1}))
        text, planned = (thought, None) if thought is not None else ("", action)
        events.append(ActedEvent(step=done + 1, action=action, text=text, planned=planned, cost={"steps": 1}))
        state = step(level, state, action) or state
    return events


def judged(level: Level, events: Sequence[Event]) -> JudgedEpisode:
    return judge_episode(events, judge_of(level), success=False)


def test_decisions_of_a_hand_made_trace() -> None:
    acts = [
        ("next: move U", "L"),  # both blocked, which costs the one spare step
        ("next: move R", "R"),
        ("next: move L", "R"),  # the intention would be too late, the push is not
        ("hm", "L"),  # no move named; too late now
        ("next: push R", "R"),  # nothing is viable any more
    ]
    episode = judged(CORRIDOR, trace_of(CORRIDOR, NEAR + 1, acts))
    shown = [
        (d.step, d.remaining, d.state_viable, d.intended, d.intended_viable, d.executed, d.executed_viable)
        for d in episode.decisions
    ]
    assert shown == [
        (0, 4, True, "U", True, "L", True), (1, 3, True, "R", True, "R", True), (2, 2, True, "L", False, "R", True),
        (3, 1, True, None, None, "L", False), (4, 0, False, "R", False, "R", False),
    ]  # fmt: skip
    assert episode.horizon == NEAR


def test_the_horizon_counts_as_a_budget_and_without_either_only_dead_ends_are_lost() -> None:
    acts = [("next: move L", "L"), ("next: move R", "R")]
    for budget, horizon, remaining in ((9, 4, 4), (4, 9, 4), (None, 4, 4), (None, None, None)):
        first, second = judged(CORRIDOR, trace_of(CORRIDOR, budget, acts, horizon=horizon)).decisions
        assert (first.remaining, second.remaining) == (remaining, None if remaining is None else remaining - 1)
        assert (first.executed_viable, second.executed_viable) == (True, True)
    with_corner = judged(ROOM, trace_of(ROOM, None, [(None, a) for a in "DRRUUUL"]))
    assert [d.executed_viable for d in with_corner.decisions] == [True] * 3 + [False] * 4, "the push up is final"


def test_draws_are_first_actions_of_plans_from_the_current_state_that_a_path_was_selected_from() -> None:
    events = trace_of(CORRIDOR, NEAR, [(None, "R")])
    here, elsewhere = events[1].key, events[-1].key  # type: ignore[attr-defined]

    def plans(start: str, *sampled: str) -> PlansSampledEvent:
        return PlansSampledEvent(start=start, plans=[list(plan) for plan in sampled], valid=[True] * len(sampled))

    numbers: dict[str, Any] = {"objective": 0, "bound": 0, "consumption": {}, "problem": {}, "seconds": 0}
    path = PathSelectedEvent(selector="s", status="optimal", partial=False, actions=["R"], nodes=[], **numbers)
    planning = [plans(here, "RRR", "LR", ""), plans(elsewhere, "L"), path, plans(here, "R"), path]
    assert judged(CORRIDOR, [*events[:2], *planning, *events[2:]]).draws == (True, False, False, True)
    assert judged(CORRIDOR, [*events[:2], plans(here, "L"), *events[2:]]).draws == (), "no path was selected"
    lost = trace_of(CORRIDOR, NEAR - 1, [])
    assert judged(CORRIDOR, [*lost, plans(here, "R"), path]).draws == (), "not in a viable state"


@cache
def distance(level: Level, state: State) -> int | None:
    """Breadth-first search forward, which shares no code with the oracle."""
    seen, ring, depth = {state}, [state], 0
    while ring:
        if any(is_solved(level, s) for s in ring):
            return depth
        ring = [n for s in ring for a in ACTIONS if (n := step(level, s, a)) is not None]
        ring = [n for n in dict.fromkeys(ring) if n not in seen]
        seen.update(ring)
        depth += 1
    return None


ONE = parse("######\n#  . #\n# $  #\n#@   #\n######\n")[0]
TWO = parse("######\n#.   #\n# $$ #\n# @ .#\n######\n")[0]


@examples(60)
@given(
    st.sampled_from([ONE, TWO]),
    st.integers(0, 14),
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from(ACTIONS)), max_size=14),
)
def test_judgements_agree_with_an_independent_search(level: Level, budget: int, acts: list[tuple[str, str]]) -> None:
    state, kept = level.start, []
    for intended, executed in acts[:budget]:
        if is_solved(level, state):
            break
        kept.append((intended, executed))
        state = step(level, state, executed) or state
    episode = judged(level, trace_of(level, budget, [(f"next: move {i}", e) for i, e in kept]))
    state = level.start
    for done, ((intended, executed), decision) in enumerate(zip(kept, episode.decisions, strict=True)):
        left = budget - done
        viable = {
            a for a in ACTIONS if (d := distance(level, step(level, state, a) or state)) is not None and d <= left - 1
        }
        assert decision.intended_viable == (intended in viable)
        assert decision.executed_viable == (executed in viable)
        assert decision.state_viable == bool(viable)
        state = step(level, state, executed) or state


class Slip(SimulatedModel):
    """Thinks right and writes something else."""

    def _answer(self, request: Request, sample: int) -> str:
        answer = super()._answer(request, sample)
        return answer.replace("action: R", "action: L") if request.role == "act" else answer


def test_a_slip_of_the_pen_is_a_sampling_error_unless_execution_is_constrained() -> None:
    _, events = play(CORRIDOR, 4, ReactAgent, Slip(CORRIDOR))
    rates = error_rates([judged(CORRIDOR, events)])
    assert rates["sampling_error"].value == 1.0
    assert (rates["delta_b"].count, rates["delta_b"].n) == (1, 2), "the first slip costs the spare step, the second all"
    assert rates["planning_error_viable"].value == 0.0
    _, events = play(CORRIDOR, 4, TapeAgent, Slip(CORRIDOR), execution="free", ablations={"replan": False})
    assert error_rates([judged(CORRIDOR, events)])["sampling_error"].value == 1.0


# Run directories, with a real model.


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("react", "plan_and_act", "open_loop", "tape"):
        command = f"run sokoban --levels hard --limit 4 --repeats 2 --model bundled:nano-750 --agent {agent} --quiet"
        assert tape_main([*command.split(), "--out", str(folder / agent)]) == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["react", "plan_and_act", "open_loop", "tape"])
def test_the_table_of_a_real_run(runs: Path, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was opened")

    monkeypatch.setattr(tape.lm.registry, "open_model", refuse)
    directory = RunDirectory(runs / agent)
    [row] = error_table(directory)
    lines = directory.episodes()
    steps = sum(line["result"]["steps"] for line in lines)
    assert (row["agent"], row["episodes"]) == (agent, 8)
    assert row["success"]["count"] == sum(line["result"]["success"] for line in lines)
    assert row["nonviable_executed"]["n"] == steps
    assert row["unparsed"]["value"] == 0.0, "constrained thoughts can always be read"
    assert 0 < row["planning_error_viable"]["value"] < row["planning_error"]["value"] < 1
    if agent in ("open_loop", "tape"):
        assert row["sampling_error"]["value"] == 0.0, "by construction"
    assert (row["draw_error"]["n"] > 0) == (agent == "tape")
    assert {bound["horizon"] for bound in row["bounds"]} == {10}
    assert all(bound["success"] <= bound["path"] + 1e-12 for bound in row["bounds"])
    # Every episode that was lost took its first non-viable action in a viable state, and no success took any.
    for episode in judge_run(directory)[row["cell"]]:
        if episode.success:
            assert all(decision.executed_viable for decision in episode.decisions)
        elif episode.decisions:
            order = [decision.executed_viable for decision in episode.decisions]
            assert order == sorted(order, reverse=True)


@pytest.mark.slow
def test_the_command_prints_tables_and_finds_levels_that_moved(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(runs / "tape")]) == 0
    shown = capsys.readouterr().out
    [row] = error_table(RunDirectory(runs / "tape"))
    assert markdown([row]) in shown
    write(tmp_path / "levels.xsb", [CORRIDOR, ROOM])
    command = f"run sokoban --model bundled:nano-750 --agent react --quiet --levels {tmp_path}/levels.xsb"
    assert tape_main([*command.split(), "--out", str(tmp_path / "run")]) == 0
    (tmp_path / "levels.xsb").rename(tmp_path / "moved.xsb")
    capsys.readouterr()
    assert main([str(tmp_path / "run")]) == 2
    assert "levels.xsb" in capsys.readouterr().err
    assert main([str(tmp_path / "run"), "--levels", "hard"]) == 2
    assert "--levels" in capsys.readouterr().err
    assert main([str(tmp_path / "run"), "--levels", str(tmp_path / "moved.xsb")]) == 0
    assert main([str(tmp_path / "nothing")]) == 2
