"""The baselines on scripted models: what each samples, when it replans, which roles it uses, what it may spend."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SimulatorWorldModel
from envs.sokoban.plugin import PLUGIN, SokobanPlugin
from envs.sokoban.state import State, step
from envs.sokoban.xsb import write
from tape import (
    BestOfNPlanAndActAgent,
    BestOfNReactAgent,
    OpenLoopAgent,
    PlanAndActAgent,
    PlanAndActReplanAgent,
    ReactAgent,
    TapeAgent,
    TapeAllStepAgent,
    trace,
)
from tape.budget import Budget
from tape.cli import main
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.base import LanguageModel, Regex, Request
from tape.plugins import load, names
from tape.protocols import Action, Prediction
from tape.protocols import State as AbstractState
from tape.protocols.result import END_STATES
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.runner import Runner
from tape.runner.spec import RunSpec
from tape.runner.workers import InProcess
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play, state_of

PLANNERS = [name for name in names("tape.agents") if not load("tape.agents", name).searches]
BEST_OF_N = (BestOfNReactAgent, BestOfNPlanAndActAgent)
PLAN_AND_ACT = (PlanAndActAgent, BestOfNPlanAndActAgent)
ENDLESS = (ReactAgent, BestOfNReactAgent, *PLAN_AND_ACT)
AGENTS = (*ENDLESS, PlanAndActReplanAgent, OpenLoopAgent, TapeAgent, TapeAllStepAgent)
BY_LM = "experiments.ablations.selectors:LmSelector"
ABLATIONS = tuple(
    {"execution": execution, "ablations": {"selector": selector, "replan": replan}}
    for selector, execution, replan in product((BY_LM, "solver"), ("free", "constrained"), (False, True))
)


class Wanderer(SimulatedModel):
    """Random plans and moves, some predictions wrong and some answers unreadable; the same for the same request."""

    def _answer(self, request: Request, sample: int) -> str:
        rng = random.Random(f"{request.role}:{request.prompt}:{request.seed}:{sample}")
        if rng.random() < 0.05 and request.role != "score":
            return "hm"
        if request.role == "plan":
            return "".join(f" {move}" for move in rng.choices("UDLR", k=rng.randint(1, 6)))
        if request.role == "next" and rng.random() < 0.2:
            return " invalid"
        if request.role == "act" and isinstance(request.constraint, Regex) and "U|D" in request.constraint.pattern:
            move = rng.choice("UDLR")
            return f" next: move {move} action: {move}"
        return super()._answer(request, sample)


class Candidates(SimulatedModel):
    """Samples the given actions, and scores what each leads to with a word; no word: predicted to be invalid."""

    def __init__(self, actions: Sequence[str], words: dict[str, str]) -> None:
        self.actions = actions
        after = {action: step(ROOM, ROOM.start, action) for action in "UDLR"}
        self.words = {after[action]: f" {word}" for action, word in words.items()}
        wrong = {(ROOM.start, action): " invalid" for action in "UDLR" if action not in words}
        super().__init__(ROOM, wrong=wrong)

    def _answer(self, request: Request, sample: int) -> str:
        if request.role == "act":
            move = self.actions[sample]
            return f" next: move {move} action: {move}"
        if request.role == "score":
            assert isinstance(request.prompt, str)
            return self.words.get(state_of(ROOM, request.prompt), " open")
        return super()._answer(request, sample)


class Forbidden:
    """A world model that must not be used."""

    async def predict(self, pairs: Sequence[tuple[AbstractState, Action]]) -> list[Prediction]:
        raise AssertionError("the simulator was used")

    rollout: Any = predict


def of_type(events: Sequence[trace.Event], kind: type[trace.Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def asked(model: SimulatedModel, role: str) -> list[Request]:
    return [request for request in model.requests if request.role == role]


@given(
    agent=st.sampled_from(AGENTS),
    ablation=st.sampled_from(ABLATIONS),
    caps=st.fixed_dictionaries(
        {"steps": st.integers(0, 8)}, optional={"tokens": st.integers(0, 1500), "calls": st.integers(0, 40)}
    ),
    seed=st.integers(0, 2**32),
    horizon=st.none() | st.integers(1, 6),
)
def test_no_agent_exceeds_a_budget(
    agent: type[TapeAgent], ablation: dict[str, Any], caps: dict[str, int], seed: int, horizon: int | None
) -> None:
    if agent is not TapeAgent:
        ablation = {}
    options = {**ablation, "budget": Budget(caps), "seed": seed, "horizon": horizon, "num_plans": 3}
    result, events = play(level=ROOM, steps=9, agent=agent, model=Wanderer(ROOM), **options)
    assert all(result.used.get(kind, 0) <= cap for kind, cap in caps.items())
    assert not result.budget_violations
    assert not result.broken_declarations
    assert result.end_state.split(":")[0] in END_STATES
    assert result.success == (result.end_state == "success")
    assert result.used.get("calls", 0) == sum(result.lm_calls.values())
    assert result.used.get("tokens", 0) == result.lm_tokens
    assert result.used.get("steps", 0) == result.steps == len(of_type(events, trace.ActedEvent))
    assert horizon is None or result.steps <= horizon


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent is not OpenLoopAgent])
def test_nothing_is_asked_where_nothing_can_be_done(agent: type[TapeAgent]) -> None:
    empty, _ = play(steps=0, agent=agent)
    assert (empty.end_state, empty.lm_calls) == ("budget:steps", {})
    plans = [" U", " D"]
    acted = {ReactAgent: 2, PlanAndActAgent: 2, BestOfNReactAgent: 2, BestOfNPlanAndActAgent: 2}.get(agent)
    limited, _ = play(level=ROOM, steps=9, agent=agent, model=SimulatedModel(ROOM, plans=plans), horizon=2)
    assert limited.steps <= 2
    assert acted is None or limited.lm_calls["act"] == acted


@pytest.mark.parametrize("agent", [*ENDLESS, TapeAllStepAgent])
def test_an_episode_without_an_end_is_refused(agent: type[TapeAgent]) -> None:
    for budget in (None, Budget.of(usd=1)):  # no step costs money
        with pytest.raises(ConfigError, match="needs a horizon, or a budget of something that every action spends"):
            play(steps=None, agent=agent, budget=budget)
    assert play(steps=None, agent=agent, horizon=3)[0].success


@pytest.mark.parametrize("agent", AGENTS)
def test_unreadable_answers_are_counted_and_end_in_a_named_state(agent: type[TapeAgent]) -> None:
    class Mumbling(SimulatedModel):
        def _answer(self, request: Request, sample: int) -> str:
            return super()._answer(request, sample) if request.role == "score" else "hm"

    result, _ = play(agent=agent, model=Mumbling(CORRIDOR))
    assert result.steps == 0
    assert result.malformed > 0
    expected = dict.fromkeys((OpenLoopAgent, TapeAgent, TapeAllStepAgent), "no_plan")
    assert result.end_state == expected.get(agent, "invalid_output")


@pytest.mark.parametrize("name", PLANNERS)
def test_no_agent_uses_the_simulator_by_default_and_the_run_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("the simulator was used")

    monkeypatch.setattr(SokobanPlugin, "simulator", forbidden)
    monkeypatch.setattr(SimulatorWorldModel, "__init__", forbidden)
    [group] = run_by_name(name, tmp_path / "run", Wanderer(ROOM))
    assert (group["agent"], group["episodes"], group["budget_violations"]) == (name, 2, 0)
    assert "model_error" not in group["end_states"]
    for episode in ("1", "2"):
        assert main(["show", str(tmp_path / "run"), episode, "--no-pictures"]) == 0
        shown = capsys.readouterr().out
        assert f"{name} with scripted" in shown
        assert "(planned None)" not in shown
        assert name not in {agent.name for agent in BEST_OF_N} or " actions sampled (" in shown


@pytest.mark.parametrize("agent", AGENTS)
def test_a_configured_simulator_is_used_by_agents_with_a_world_model(agent: type[TapeAgent]) -> None:
    simulator = SimulatorWorldModel(CORRIDOR)
    if agent in (ReactAgent, PlanAndActAgent, OpenLoopAgent):
        simulator = Forbidden()  # type: ignore[assignment]
    else:
        with pytest.raises(AssertionError, match="was used"):
            play(agent=agent, world_model="simulator", simulator=Forbidden())
    result, _ = play(agent=agent, world_model="simulator", simulator=simulator)
    assert (result.success, "next" in result.lm_calls) == (True, False)


@pytest.mark.parametrize(
    ("agent", "shown", "planned", "plans"),
    [
        (ReactAgent, ["", "", ""], [None, None, None], []),
        *((agent, [" U R ->", " R ->", ""], ["U", "R", None], [[["U", "R"]]]) for agent in PLAN_AND_ACT),
    ],
)
def test_the_rest_of_the_one_plan_is_shown_and_the_model_may_deviate(
    agent: type[TapeAgent], shown: list[str], planned: list[str | None], plans: list[Any]
) -> None:
    model = SimulatedModel(CORRIDOR, plans=[" U R"])
    result, events = play(agent=agent, model=model)
    assert (result.end_state, result.actions) == ("success", ["R", "R", "R"])
    assert (result.lm_calls.get("plan", 0), result.replans, result.mismatches) == (len(plans), 0, 0)
    assert [str(request.prompt).partition(" plan:")[2] for request in asked(model, "act")] == shown
    acted = of_type(events, trace.ActedEvent)
    assert [(e.text, e.planned) for e in acted] == [("next: move R", action) for action in planned]
    assert [e.plans for e in of_type(events, trace.PlansSampledEvent)] == plans


@given(seed=st.integers(0, 2**32))
def test_replanning_happens_exactly_on_a_mismatch_or_at_a_plans_end(seed: int) -> None:
    class Truthful(Wanderer):
        def _answer(self, request: Request, sample: int) -> str:
            if request.role == "next":
                return SimulatedModel._answer(self, request, sample)
            return super()._answer(request, sample)

    _, events = play(level=ROOM, steps=9, agent=PlanAndActReplanAgent, model=Truthful(ROOM), seed=seed, max_replans=4)
    state: State = ROOM.start
    plan: list[str] = []
    expected: str | None = None
    for event in events:
        if isinstance(event, trace.PlansSampledEvent):
            assert event.start == key_of(state)
            plan = valid_part(state, event.plans[0])
        elif isinstance(event, trace.ActedEvent):
            assert expected is None, "a plan that no longer holds was followed"
            assert event.planned == (plan[0] if plan else None)
            predicted = key_of(after(state, plan.pop(0))) if plan else None
            state = after(state, event.action)
            if predicted not in (None, key_of(state)):
                expected = "mismatch"
            elif not plan:
                expected = "ended"
        elif isinstance(event, trace.MismatchEvent):
            assert expected == "mismatch"
        elif isinstance(event, trace.ReplannedEvent):
            assert event.reason == expected
            expected = None


def after(state: State, action: str) -> State:
    return step(ROOM, state, action) or state


def key_of(state: State) -> str:
    return f"player {ROOM.coordinate(state.player)} box {ROOM.coordinate(state.boxes[0])}"


def valid_part(state: State, plan: list[str]) -> list[str]:
    """A plan up to its first invalid action."""
    for i, action in enumerate(plan):
        if step(ROOM, state, action) is None:
            return plan[:i]
        state = after(state, action)
    return plan


def test_a_plan_is_cut_where_the_world_model_calls_it_invalid() -> None:
    # Nothing is left of the second one, so one step is taken without a plan.
    for plans, reasons, planned in (
        ([" R U R"], ["ended", "ended"], ["R", "R", "R"]),
        ([" U R", " R R"], ["ended"], [None, "R", "R"]),
    ):
        model = SimulatedModel(CORRIDOR, plans=plans)
        result, events = play(agent=PlanAndActReplanAgent, model=model)
        assert (result.end_state, result.actions, result.mismatches) == ("success", ["R", "R", "R"], 0)
        assert [e.reason for e in of_type(events, trace.ReplannedEvent)] == reasons
        assert [e.planned for e in of_type(events, trace.ActedEvent)] == planned


def test_replanning_ends_at_its_limit() -> None:
    model = Candidates(["U"] * 9, {"U": "open"})
    options = {"level": ROOM, "steps": 50, "agent": PlanAndActReplanAgent}
    result, events = play(**options, model=model, max_replans=2)
    assert (result.end_state, result.replans) == ("replan_limit", 2)
    assert len(of_type(events, trace.PlansSampledEvent)) == 3
    with pytest.raises(ConfigError, match="use plan_and_act"):
        play(**options, ablations={"replan": False})


@pytest.mark.parametrize("agent", BEST_OF_N)
@pytest.mark.parametrize(
    ("actions", "words", "chosen"),
    [
        ("UURD", {"U": "open", "R": "solved", "D": "hopeless"}, "R"),  # the highest score, though sampled once
        ("DURU", {"U": "open", "R": "open", "D": "open"}, "U"),  # a tie: the most sampled
        ("DUUD", {"U": "open", "D": "open"}, "D"),  # a tie of both: the first
        ("UUUD", {"D": "hopeless"}, "D"),  # invalid comes after hopeless
        ("DUUR", {}, "U"),  # all invalid: the most sampled
        ("xxRD", {"R": "open", "D": "open"}, "R"),  # what cannot be read has no vote
    ],
)
def test_the_best_of_n(agent: type[TapeAgent], actions: str, words: dict[str, str], chosen: str) -> None:
    model = Candidates(actions, words)
    result, events = play(level=ROOM, steps=9, agent=agent, model=model, horizon=1)
    assert result.actions == [chosen]
    assert result.malformed == actions.count("x")
    [request] = asked(model, "act")
    assert (request.n, request.temperature) == (4, 0.3)
    distinct = set(actions) - {"x"}
    assert result.lm_calls["next"] == len(distinct)
    assert result.lm_calls.get("score", 0) == len(distinct & set(words))
    [sampled] = of_type(events, trace.ActionsSampledEvent)
    assert sampled.actions == list(actions.replace("x", ""))
    assert (sampled.chosen, [a for a, s in sampled.scores.items() if s is not None]) == (
        chosen,
        [a for a in sampled.scores if a in words],
    )


def test_one_sample_makes_best_of_n_the_agent_itself() -> None:
    for function, many in ((ReactAgent, BestOfNReactAgent), (PlanAndActAgent, BestOfNPlanAndActAgent)):
        for seed in range(2):
            runs = [
                play(level=ROOM, steps=9, agent=agent, model=Wanderer(ROOM), num_plans=1, seed=seed)[0]
                for agent in (function, many)
            ]
            assert runs[0].actions == runs[1].actions


def test_all_step_replanning_is_a_name_for_the_switch() -> None:
    named, events = play(agent=TapeAllStepAgent, level=ROOM, steps=6)
    switched, _ = play(agent=TapeAgent, level=ROOM, steps=6, ablations={"replan_every_step": True})
    times = {"wall_seconds", "solver_seconds"}
    assert named.model_dump(exclude=times) == switched.model_dump(exclude=times)
    assert named.replans + 1 == named.steps == len(of_type(events, trace.GraphFoldedEvent))
    with pytest.raises(ConfigError, match="contradicts replan off"):
        play(agent=TapeAllStepAgent, ablations={"replan": False})


@pytest.mark.parametrize("ablation", ABLATIONS, ids=lambda a: "-".join(map(str, a.values())))
def test_the_eight_combinations(ablation: dict[str, Any]) -> None:
    assert play(**ablation)[0].actions == ["R", "R", "R"]
    # The first push is mispredicted, so the path ends a move short.
    first = step(CORRIDOR, CORRIDOR.start, "R")
    assert first is not None
    model = SimulatedModel(CORRIDOR, wrong={(first, "R"): " (2,3) (2,5)"}, plans=[" R R", " R"])
    result, events = play(model=model, **ablation, num_plans=1)
    free = [r for r in asked(model, "act") if "U|D" in r.constraint.pattern]  # type: ignore[union-attr]
    assert len(free) == (len(asked(model, "act")) if ablation["execution"] == "free" else 0)
    assert bool(asked(model, "select")) == (ablation["ablations"]["selector"] == BY_LM)
    if ablation["ablations"]["replan"]:
        assert (result.end_state, result.mismatches, result.replans) == ("success", 1, 1)
        return
    assert (result.end_state, result.mismatches, result.replans) == ("failure", 0, 0)
    [path] = of_type(events, trace.PathSelectedEvent)
    assert len(result.actions) == len(path.actions) == 2, "the episode ends with its path"
    assert not of_type(events, trace.MismatchEvent) + of_type(events, trace.ReplannedEvent)


def run_by_name(name: str, path: Path, model: LanguageModel) -> list[dict[str, Any]]:
    write(path.parent / "room.xsb", [ROOM])
    options = {"levels": str(path.parent / "room.xsb"), "slack": 3}
    config = TapeConfig(num_plans=3, temperature=1.0, max_replans=3)
    named = {"model": model.name, "model_identity": model.identity, "repeats": 2}
    spec = RunSpec(environment="sokoban", options=options, agent=name, config=config, **named)
    configuration = Configuration(spec.label(), spec, tuple(PLUGIN.tasks(options)))
    return Runner([configuration], RunDirectory(path), InProcess(lambda _: model)).run()
