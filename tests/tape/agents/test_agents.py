"""TAPE and the open loop on scripted models: every branch of algorithm 1."""

import json
from pathlib import Path

import pytest

from envs.sokoban.domain import SimulatorWorldModel
from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.state import State
from envs.sokoban.xsb import parse
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger, Resources
from tape.errors import ConfigError, PluginError, UnknownCostError, UnknownNameError
from tape.lm.scripted import ScriptedLM
from tape.plugins import load
from tape.protocols import Score
from tape.trace import (
    ActedEvent,
    FinishedEvent,
    GraphFoldedEvent,
    LedgerEvent,
    MismatchEvent,
    PathSelectedEvent,
    read_trace,
)
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play

START = CORRIDOR.start


@pytest.mark.parametrize("execution", ["constrained", "forced", "free"])
def test_a_perfect_model_solves_the_level(execution: str) -> None:
    result, events = play(execution=execution)
    assert (result.end_state, result.success, result.actions) == ("success", True, ["R", "R", "R"])
    assert result.replans == result.mismatches == result.malformed == 0
    assert not result.budget_violations
    assert result.used["steps"] == 3
    assert ("act" in result.lm_calls) == (execution != "forced")
    assert isinstance(events[-1], FinishedEvent)


def test_a_wrong_prediction_is_contradicted_and_never_believed_again() -> None:
    # The model believes that the first push leaves the box where it was.
    first = State(START.player + 1, START.boxes)
    model = SimulatedModel(CORRIDOR, wrong={(first, "R"): " (2,3) (2,5)"})
    result, events = play(model=model)
    assert result.success
    assert result.mismatches == result.replans == 1
    [mismatch] = [e for e in events if isinstance(e, MismatchEvent)]
    assert mismatch.predicted != mismatch.observed
    asked = [r.prompt for r in model.requests if r.role == "next"]
    assert len(asked) == len(set(asked)), "a transition was predicted twice"
    graphs = [e for e in events if isinstance(e, GraphFoldedEvent)]
    edges = graphs[-1].graph["links"]
    assert any(e["certified"] for e in edges)
    [wrong] = [e for e in edges if e["refuted"]]
    assert (wrong["action"], wrong["target"]) == ("R", mismatch.predicted)


def test_an_observed_bump_is_kept_as_invalid() -> None:
    # The only plan bumps into the wall; the model thinks that it moves on to a solved state.
    model = SimulatedModel(CORRIDOR, wrong={(START, "U"): " (2,4) (2,5)"}, plans=[" U"])
    result, events = play(model=model, steps=4, max_replans=3)
    assert not result.success
    assert result.actions == ["U"]
    paths = [e for e in events if isinstance(e, PathSelectedEvent) and e.actions]
    assert len(paths) == 1, "the contradicted edge was selected again"
    assert result.end_state == "infeasible"


def test_an_action_wrongly_called_invalid_is_tried_at_last() -> None:
    wrong = {(START, "R"): " invalid"}
    result, events = play(model=SimulatedModel(CORRIDOR, wrong=wrong))
    assert result.success
    assert result.partial_walk
    assert result.mismatches == 0
    assert any(isinstance(e, PathSelectedEvent) and e.selector == "probe" for e in events)
    given_up, _ = play(model=SimulatedModel(CORRIDOR, wrong=wrong), ablations={"probe": False})
    assert (given_up.end_state, given_up.steps) == ("infeasible", 0)
    # What was tried in vain is not tried again.
    bump, _ = play(model=SimulatedModel(CORRIDOR, plans=[" U"]), steps=4)
    assert (bump.end_state, bump.actions) == ("infeasible", ["U"])


def test_the_actors_call_is_part_of_an_edges_cost_under_a_cap() -> None:
    cap = 100_000
    for execution, expected in (("constrained", True), ("forced", False)):
        _, events = play(budget=Budget({"tokens": cap}), execution=execution)
        [graph] = [e.graph for e in events if isinstance(e, GraphFoldedEvent)]
        assert all((e["cost"].get("tokens", 0) > 0) == expected for e in graph["links"])


def test_a_planning_reserve_is_kept_from_the_selector() -> None:
    result, events = play(steps=5, planning_reserve={"steps": 2})
    selected = next(e for e in events if isinstance(e, PathSelectedEvent))
    assert (selected.problem["budget"], result.success) == ({"steps": 3}, True)
    short, _ = play(steps=1, planning_reserve={"steps": 2})
    assert (short.end_state, short.steps) == ("budget:steps", 0)
    for reserve in ({"steps": -1}, {"gold": 1}):
        with pytest.raises(ConfigError, match=r"steps|gold"):
            play(planning_reserve=reserve)


def test_a_run_wide_ledger_caps_all_episodes_together() -> None:
    run = Ledger(Budget({"steps": 4}), name="run")
    first, _ = play(parent=run)
    second, _ = play(parent=run)
    assert first.success
    assert (second.end_state, second.used["steps"]) == ("budget:steps", 1)
    assert run.used["steps"] == 4


class Stubborn(SimulatedModel):
    """Answers every request of some roles with the same words."""

    def __init__(self, words: str, *roles: str) -> None:
        super().__init__(CORRIDOR)
        self._words, self._roles = words, roles or ("plan", "next", "act")

    def _reply(self, request, sample):  # type: ignore[no-untyped-def]
        return self._words if request.role in self._roles else super()._reply(request, sample)


def test_a_role_that_is_always_wrong_does_not_decide_alone() -> None:
    mumbling, _ = play(model=Stubborn("hm", "act"), execution="free")
    assert (mumbling.end_state, mumbling.malformed) == ("invalid_output", 4)
    # Under the constraint the model has no choice of action.
    assert play(model=Stubborn("hm", "act"))[0].success
    # A start that is scored as solved does not end the episode.
    hopeful, _ = play(model=Stubborn(" solved", "score"), steps=6)
    assert (hopeful.success, hopeful.steps >= 3) == (True, True)


def test_infeasible_resamples_then_follows_the_best_partial_path_or_stops() -> None:
    # The only plan is too long for the budget.
    long = [" L R U D R R R"]
    level = ROOM
    for on_infeasible, partial in (("partial", True), ("stop", False)):
        model = SimulatedModel(level, plans=long)
        result, events = play(
            level=level, model=model, steps=3, on_infeasible=on_infeasible, max_replans=0, ablations={"extend": 0}
        )
        assert result.partial_walk == partial
        assert len([r for r in model.requests if r.role == "plan"]) == 3
        statuses = [e.status for e in events if isinstance(e, PathSelectedEvent)]
        assert statuses[:3] == ["INFEASIBLE"] * 3
        assert partial or (result.end_state, result.steps) == ("infeasible", 0)


def test_a_path_that_ends_without_success_counts_as_a_replan() -> None:
    model = SimulatedModel(ROOM, plans=[" U", " D"])
    result, _ = play(level=ROOM, model=model, steps=50, max_replans=4)
    assert (result.end_state, result.replans, result.steps) == ("replan_limit", 4, 5)


def test_the_simulator_is_an_explicit_choice() -> None:
    for settings in ({"world_model": "simulator"}, {"simulator": SimulatorWorldModel(CORRIDOR)}):
        with pytest.raises(ConfigError, match="simulator"):
            play(**settings)


def test_open_loop_executes_its_one_plan_blindly() -> None:
    result, _ = play(agent=OpenLoopAgent)
    assert result.success
    assert sum(result.lm_calls.values()) == 1
    lost, _ = play(agent=OpenLoopAgent, model=SimulatedModel(CORRIDOR, plans=[" U R"]))
    assert (lost.end_state, lost.actions) == ("failure", ["U", "R"])


def test_an_already_solved_level_needs_nothing() -> None:
    [solved] = parse("#####\n#####\n#@* #\n#####\n#####\n")
    result, _ = play(level=solved, model=SimulatedModel(solved), steps=0)
    assert (result.end_state, result.steps, result.lm_calls) == ("success", 0, {})


def test_the_trace_has_the_whole_episode(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    result = TapeAgent(SimulatedModel(CORRIDOR)).run(SokobanEnvironment(CORRIDOR, 4), trace=path)
    events = list(read_trace(path))
    finished = events[-1]
    assert isinstance(finished, FinishedEvent)
    assert finished.result["actions"] == result.actions == [e.action for e in events if isinstance(e, ActedEvent)]
    ledger = [e for e in events if isinstance(e, LedgerEvent)]
    reserved, settled = ([e for e in ledger if e.what == what] for what in ("reserve", "settle"))
    assert [e.purpose for e in reserved] == [e.purpose for e in settled]
    assert {e.purpose for e in reserved} >= {"lm:plan", "lm:act", "step:R"}
    for before, after in zip(reserved, settled, strict=True):
        assert all((after.amounts[kind] or 0) <= (before.amounts[kind] or 0) for kind in before.amounts)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))


def test_observed_transitions_are_used_wherever_a_plan_comes_back_to_them() -> None:
    # R from the start is mispredicted once; later plans that pass through it must follow what was observed.
    model = SimulatedModel(ROOM, wrong={(ROOM.start, "R"): " (1,3) (2,4)"}, plans=[" R", " L R R R"])
    result, events = play(level=ROOM, model=model, steps=20, num_plans=1, max_replans=3)
    assert result.mismatches == 1
    assert result.success
    graphs = [e for e in events if isinstance(e, GraphFoldedEvent)]
    wrong = [e for g in graphs[1:] for e in g.graph["links"] if e["refuted"]]
    assert wrong
    assert not any(e["votes"] for e in wrong), "a contradicted transition was predicted again"


def test_under_a_token_cap_a_selected_path_is_never_refused_on_the_way() -> None:
    for execution in ("constrained", "free"):
        whole, _ = play(level=ROOM, steps=8, execution=execution)
        for cap in range(100, whole.lm_tokens + 400, 67):
            result, events = play(
                level=ROOM, steps=8, execution=execution, budget=Budget({"tokens": cap}), ablations={"resample": 0}
            )
            assert result.used.get("tokens", 0) <= cap
            selected = [e for e in events if isinstance(e, PathSelectedEvent) and e.actions]
            if selected:
                assert result.steps >= len(selected[0].actions), (execution, cap, result.end_state)


def test_broken_environments_and_scorers_end_the_episode_not_the_run() -> None:
    class Broken(SokobanEnvironment):
        def step(self, action):  # type: ignore[no-untyped-def]
            raise OSError("cable cut")

    class NoGoalCheck(SokobanEnvironment):
        def success(self):  # type: ignore[no-untyped-def]
            raise OSError("sensor lost")

    for environment, fault, steps in ((Broken, "cable cut", 1), (NoGoalCheck, "sensor lost", None)):
        result = TapeAgent(SimulatedModel(CORRIDOR)).run(environment(CORRIDOR, 5))
        assert (result.end_state, result.success, fault in result.detail) == ("env_error", False, True)
        assert result.used.get("steps") == steps, "a failed step is charged its worst case"

    class Unscorable(TapeAgent):
        def scorer(self, episode):  # type: ignore[no-untyped-def]
            class Nan:
                async def score(self, states, remaining):  # type: ignore[no-untyped-def]
                    return [Score(float("nan"), float("nan")) for _ in states]

            return Nan()

    assert Unscorable(SimulatedModel(CORRIDOR)).run(SokobanEnvironment(CORRIDOR, 5)).end_state == "solver_error"


def test_an_unknown_cost_under_a_cap_is_refused_at_the_start() -> None:
    class Metered(SokobanEnvironment):
        def __init__(self) -> None:
            super().__init__(CORRIDOR, 5)
            self.domain.cost = lambda state, action: Resources({"steps": 1, "usd": None})  # type: ignore[method-assign]

    model = SimulatedModel(CORRIDOR)
    with pytest.raises(UnknownCostError, match="U costs an unknown amount of usd"):
        TapeAgent(model).run(Metered(), budget=Budget.of(usd=1))
    assert not model.requests
    assert TapeAgent(model).run(Metered()).success


def test_an_option_that_there_is_not_is_named() -> None:
    agent = ReactAgent(ScriptedLM([" L"], prompt_format="compact"))
    for wrong, near in (("bugdet", "budget"), ("aprove", "approve")):
        with pytest.raises(TypeError, match=f"there is no option {wrong}=; did you mean {near}="):
            agent.run(SokobanEnvironment(CORRIDOR, 4), **{wrong: None})
    with pytest.raises(TypeError, match="there is no option seed="):
        agent.resume("nowhere", seed=5)  # type: ignore[call-arg]


def test_an_agent_is_named_by_its_class() -> None:
    assert load("tape.agents", "tape.agents.react:ReactAgent") is ReactAgent
    wrong = {
        "json:loads": "is no class of an agent",
        "nowhere.x:Y": "cannot be loaded",
        "tape.agents.react:No": "cannot",
    }
    for name, why in wrong.items():
        with pytest.raises(PluginError, match=why):
            load("tape.agents", name)
    with pytest.raises(UnknownNameError):
        load("tape.agents", "my-agents:X")
