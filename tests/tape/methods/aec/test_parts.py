"""Gates, the predictor, the query runner, traces and totals of AEC, each alone."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.methods.aec.controller import Controller
from tape.methods.aec.gating import (
    BeliefStore,
    Commit,
    GiveUp,
    PredictedValue,
    Query,
    QueryAllGate,
    Simulate,
    ThresholdGate,
    discretised,
    gate_of,
    remainder,
)
from tape.methods.aec.method import AecMethod
from tape.methods.aec.predictor import EnsemblePredictor
from tape.methods.aec.settings import AecSettings
from tape.methods.aec.state import EpistemicState
from tape.protocols import Task
from tape.runner.derived import rows
from tape.runner.spec import RunSpec
from tape.runner.summary import summarise, table
from tests.tape.methods.aec.toy import BoxDomain, BoxModel, BoxWorld, begun, gem_in, locked, play

OPEN = (False, False)
NUMBERS = {"hypotheses": 5, "margin": 0.3, "uncertainty": 0.1, "query_budget": 7, "ensemble": 9}
CHOICES = {"gate": "query_all", "commit": "belief"}
CHANGED: list[dict[str, Any]] = [{name: value} for name, value in (NUMBERS | CHOICES).items()]
"""Every setting of verification, each changed alone."""


@pytest.mark.parametrize(
    ("mu", "sigma", "value"),
    [(0.9, 0.1, True), (0.89, 0.1, None), (0.1, 0.1, False), (0.11, 0.1, None), (1.0, 0.21, None), (0.5, 0.0, None)],
)
def test_a_prediction_is_believed_where_it_is_clear(mu: float, sigma: float, value: bool | None) -> None:
    assert discretised(PredictedValue(None, mu, sigma), 0.4, 0.2) is value


class Hyp:
    """What a gate looks at."""

    def __init__(self, *missing: int) -> None:
        self.missing = {gem_in(i): True for i in missing}


def decide(gate: Any, beliefs: dict[int, tuple[float, bool]], *hypotheses: Hyp, asks: tuple[int, ...] = (0, 1)) -> Any:
    store = BeliefStore()
    for i, (mu, adopted) in beliefs.items():
        store.predicted(gem_in(i), mu, 0.1)
        if adopted:
            store.simulate(gem_in(i))
    return gate.next(hypotheses, store, {gem_in(i): Resources() for i in asks})


def test_thresholds() -> None:
    gate, blind = ThresholdGate(0.4, 0.2, grounded=True), ThresholdGate(0.4, 0.2, grounded=False)
    ready, first, second = Hyp(), Hyp(0, 1), Hyp(1)
    assert decide(gate, {}, ready, first) == Commit(ready)  # type: ignore[arg-type]
    assert decide(gate, {0: (0.5, False), 1: (0.99, False)}, first, second) == Query(gem_in(0))
    assert decide(gate, {0: (0.99, False), 1: (0.5, False)}, first, second) == Simulate(gem_in(0))
    assert decide(gate, {0: (0.99, True), 1: (0.5, False)}, first, second) == Query(gem_in(1))
    assert decide(gate, {0: (0.99, True), 1: (0.99, True)}, first, second) == Query(gem_in(0))  # the trap
    assert decide(blind, {0: (0.99, True), 1: (0.99, True)}, first) == Commit(first)  # type: ignore[arg-type]
    assert decide(blind, {0: (0.5, False), 1: (0.5, False)}, first, asks=()) == Simulate(gem_in(0))


def test_the_ablations_query_or_simulate_everything() -> None:
    ready, first = Hyp(), Hyp(0, 1)
    assert decide(QueryAllGate(), {}, ready, first) == Query(gem_in(0))
    assert decide(QueryAllGate(), {}, ready, first, asks=()) == Commit(ready)  # type: ignore[arg-type]
    assert isinstance(decide(QueryAllGate(), {}, first, asks=()), GiveUp)
    assert decide(gate_of(AecSettings(gate="simulate_all")), {0: (0.5, False)}, Hyp(0)) == Simulate(gem_in(0))


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_what_is_left_of_a_plan(actions: list[int], done: list[int]) -> None:
    plan, past = [str(a) for a in actions], [str(d) for d in done]
    left = list(remainder(plan, past))
    same = len(plan) - len(left)
    assert plan[:same] == past[:same]
    assert plan[same:] == left
    assert not left or same == len(past) or left[0] != past[same]


def test_an_ensemble_counts_votes_and_asks_once_for_the_same_facts() -> None:
    answers = iter(["0", "0", "1", "hm", "yes", "yes", "yes", "yes"])
    model = ScriptedLM(lambda request, sample: next(answers))
    episode = begun(BoxWorld(0, OPEN), model)
    facts = EpistemicState(episode, BoxDomain(2)).grounded
    predictor = EnsemblePredictor(episode.roles, 4, 0)
    asked = [gem_in(0), locked(1), gem_in(1)]
    estimates = asyncio.run(predictor.predict(asked, facts))
    assert [estimate.mu for estimate in estimates] == pytest.approx([2.5 / 4, 4.5 / 5, 1.5 / 4])
    assert estimates[0].sigma == pytest.approx((0.625 * 0.375 / 4) ** 0.5)
    assert episode.roles.malformed == 1
    assert asyncio.run(predictor.predict(asked[:2], facts)) == estimates[:2]
    assert len(model.requests) == 2
    assert {request.role for request in model.requests} == {"predict"}
    assert {request.n for request in model.requests} == {4}


def test_gate_and_predictor_are_roles_that_a_subclass_replaces() -> None:
    asked: list[Any] = []

    class Sharp(AecMethod):
        def predictor(self, episode: Any) -> Any:
            return self

        async def predict(self, predicates: Any, facts: Any) -> list[tuple[float, float]]:
            asked.extend(predicates)
            return [(0.99, 0.0)] * len(predicates)

    class Mine(TapeAgent):
        def verification(self, *parts: Any) -> Any:
            return Sharp("aec", AecSettings, "--verify aec").verification(*parts)

    model = BoxModel(1, OPEN, plans=["unlock 1; open 1; take 1"])
    result = Mine(model, execution="forced", aec=True).run(BoxWorld(1, OPEN))
    assert result.success
    assert gem_in(1) in asked
    assert "predict" not in result.lm_calls
    episode: Any = begun(BoxWorld(0, OPEN), model)
    with pytest.raises(ConfigError, match="ThresholdGate needs predictions"):
        Controller(episode, None, None, ThresholdGate(0.4, 0.2, grounded=True))  # type: ignore[arg-type]


class Aimless(BoxDomain):
    def goals(self) -> list[Any]:
        return []


class Broken(BoxDomain):
    def query(self, state: Any, predicate: Any) -> Any:
        raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("domain", "start", "end"),
    [
        (Aimless(2), "", "Aimless declares no goal: goals() must name at least one alternative"),
        (Broken(2), "no query for", "could be computed: RuntimeError: no idea"),
    ],
)
def test_faults_of_the_declarations_end_one_episode(domain: BoxDomain, start: str, end: str) -> None:
    result, _ = play(BoxWorld(0, OPEN, domain), BoxModel(0, OPEN))
    assert (result.end_state, result.steps) == ("env_error", 0)
    assert result.detail.startswith(start)
    assert end in result.detail


def spec_of(config: TapeConfig) -> RunSpec:
    return RunSpec(environment="sokoban", agent="tape", config=config, model="m", model_identity="m")


def test_totals_are_in_summary_table_and_rows() -> None:
    result, _ = play(BoxWorld(0, OPEN), BoxModel(0, OPEN))
    line = {
        **dict.fromkeys(("cell", "environment", "task", "key", "agent", "model"), "x"), "level_set": "boxes",
        "digest": "d", "repeat": 0, "result": result.model_dump(),
    }  # fmt: skip
    [group] = summarise({"x": spec_of(TapeConfig(aec=True))}, [line])
    assert group["method"] == {name: count for name, count in result.method.items() if isinstance(count, int)}
    assert f"x, boxes, per episode: {result.method['queries']:.2f} queries" in table([group])
    assert rows([line])[0]["queries"] == result.method["queries"]
    plain = {**line, "result": {**line["result"], "method": {}}}
    assert "queries" not in rows([plain])[0]
    assert "queries" not in table(summarise({"x": spec_of(TapeConfig())}, [plain]))


def test_every_setting_changes_the_keys_of_episodes_and_is_read_back() -> None:
    task = Task("t", "boxes", Budget(), "d")
    assert "aec" not in spec_of(TapeConfig()).model_dump()["config"]
    specs = [spec_of(TapeConfig(aec=settings)) for settings in (None, True, *CHANGED)]
    assert len(CHANGED) == len(AecSettings.model_fields)
    assert len({spec.episode_key(task, 0) for spec in specs}) == len(specs)
    assert [RunSpec.model_validate_json(spec.model_dump_json()) for spec in specs] == specs
    assert TapeAgent.most_lm_calls(TapeConfig(aec=True), 5, 5) is None
    assert spec_of(TapeConfig(aec=True)).episode_key(task, 0) == spec_of(TapeConfig(aec={})).episode_key(task, 0)


class Strict(BoxDomain):
    def admissible(self, state: Any) -> list[str]:
        return [f"{verb} {i}" for verb in ("open", "take") for i in range(2)]


def test_a_query_whose_next_step_is_not_admitted_stops_there() -> None:
    model = BoxModel(0, OPEN, plans=["open 0; take 0"])
    result, _ = play(BoxWorld(0, OPEN, Strict(2)), model, aec={"gate": "query_all"})
    # A lid cannot be rattled here, so the next open predicate is asked, by opening the box.
    assert (result.end_state, result.actions, result.method["queries"]) == ("success", ["open 0", "take 0"], 1)
