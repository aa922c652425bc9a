"""Every script's matrix: the same levels, budgets and seeds for all methods, shared episodes, honest bounds."""

import importlib
from collections import defaultdict

import pytest

from experiments.harness import methods
from experiments.harness.matrix import most_calls, split
from experiments.studies.tape.catalogue import NAMES, find
from experiments.studies.tape.levels import EASY, HARD
from tape.agents.base import Agent
from tape.engine.ablations import PAPER, Ablations, changed
from tape.engine.settings import TapeConfig
from tape.plugins import load, names
from tape.runner.configurations import checked
from tests.experiments.synthetic import options


@pytest.mark.parametrize("name", NAMES)
def test_all_methods_meet_the_same_tasks_budgets_seeds_and_temperature(name: str) -> None:
    experiment = find(name)
    rules: dict[tuple[str, str], set[object]] = defaultdict(set)
    configurations = checked(experiment.configurations(options(models=experiment.models)))
    for configuration in configurations:
        setting, model, _ = split(configuration.name)
        seeds = tuple(configuration.spec.episode_seed(task, 0) for task in configuration.tasks)
        caps = tuple(tuple(configuration.spec.caps(task).items()) for task in configuration.tasks)
        spec = configuration.spec
        rules[setting, model].add(
            (seeds, caps, spec.model, spec.seed, spec.repeats, spec.batch, spec.config.temperature)
        )
        assert spec.repeats == 2
        assert len(configuration.tasks) == 3
        assert spec.config.temperature == 0.3
        assert spec.config.num_plans == 4
    assert all(len(rule) == 1 for rule in rules.values())
    assert [m.removeprefix("bundled:") for m in experiment.models] == list(dict.fromkeys(model for _, model in rules))


def test_episodes_are_shared_between_experiments() -> None:
    def keys(name: str, setting: str = "") -> set[str]:
        configurations = checked(find(name).configurations(options()))
        return {
            job.key
            for configuration in configurations
            if split(configuration.name)[0].startswith(setting)
            for job in configuration.jobs()
        }

    assert keys("headline") & keys("sokoban", HARD)
    assert not keys("headline") & keys("sokoban", EASY)


def test_the_additions_together_are_what_the_paper_does_not_have() -> None:
    assert {name: value for _, off in methods.ADDITIONS for name, value in off.items()} == changed(PAPER)
    assert sum(len(off) for _, off in methods.ADDITIONS) == len(changed(PAPER)), "none is named twice"
    assert all(getattr(Ablations(), name) != value for name, value in changed(PAPER).items())


def test_the_simulator_is_always_labelled() -> None:
    for name in NAMES:
        for configuration in find(name).configurations(options()):
            simulated = configuration.spec.config.world_model == "simulator"
            assert simulated == ("(simulator): upper bound" in configuration.name)


def test_the_bounds_on_lm_calls_by_hand() -> None:
    config = TapeConfig(num_plans=2, ablations={"resample": 0, "extend": 0, "requery_threshold": 0.0}, max_replans=1)

    def most(name: str, config: TapeConfig = config) -> int | None:
        agent: type[Agent] = load("tape.agents", name)
        return agent.most_lm_calls(config, 3, 5)

    assert most("open_loop") == 1
    assert most("react") == 3 * 12
    assert most("plan_and_act") == 1 + 3 * 12
    assert most("best_of_n_react") == 3 * (12 + 2 + 2)
    assert most("plan_and_act_replan") == 2 * (1 + 5) + 3 * 12
    states = 2 * 2 * 5
    assert most("tape") == 2 + states + (states + 3 + 1) + (3 + 3)
    assert most("tape", config.model_copy(update={"execution": "forced"})) == 2 + states + states + 4
    assert most("tape", config.ablated(selector="experiments.ablations.selectors:LmSelector")) is None
    assert most("tape", config.ablated(replan=False)) == 1 + 10 + 10 + 4 + 6
    assert most("tape", config.model_copy(update={"world_model": "simulator"})) == 2 + states + 4 + 6
    every = most("tape", config.ablated(replan_every_step=True))
    assert most("tape_all_step") == every == 3 + 30 + 30 + 4 + 6


def test_every_agent_knows_a_bound_but_those_whose_validators_may_ask_too() -> None:
    assert load("tape.agents", "sdp").most_lm_calls(TapeConfig(), 4, 4) is None
    for name in set(names("tape.agents")) - {"sdp"}:
        agent: type[Agent] = load("tape.agents", name)
        few, many = agent.most_lm_calls(TapeConfig(), 4, 4), agent.most_lm_calls(TapeConfig(), 12, 12)
        assert 1 <= (few or 0) <= (many or 0)
    [configuration, *_] = find("sokoban").configurations(options())
    assert most_calls(configuration, configuration.tasks[0]) == 1


STUDIES = (
    *(f"tape.{name}" for name in NAMES),
    *("sdp.sdp", "aec.aec", "cgdp.memory"),
)


@pytest.mark.parametrize("study", STUDIES)
def test_the_command_of_a_report_names_its_own_module(study: str) -> None:
    module = importlib.import_module(f"experiments.studies.{study}")
    assert module.EXPERIMENT.module == module.__name__
    assert module.EXPERIMENT.command.startswith(f"python -m {module.__name__}")
