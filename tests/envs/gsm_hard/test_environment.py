"""Word problems played with arithmetic tools: prices, errors and budgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.generator import generate
from envs.gsm_hard.plugin import PLUGIN
from envs.gsm_hard.problem import Problem, ProgramStep
from envs.gsm_hard.profiles import PROFILES, TIGHTNESSES, budget
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.cli import main
from tape.lm.scripted import ScriptedLM
from tape.tools.calls import call
from tape.tools.state import ToolState
from tests.envs.tool_scripts import arithmetic_script

PROBLEMS = generate("fresh", 12, seed=77)


@pytest.mark.parametrize("problem", PROBLEMS[:2], ids=lambda problem: problem.id)
@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent, PlanAndActAgent])
def test_with_exact_tools_and_the_right_program_every_agent_is_right(agent: type, problem: Problem) -> None:
    env = GsmHardEnvironment(problem)
    result = agent(arithmetic_script(problem, "exact")).run(env, budget=Budget.of(steps=20, usd=1, seconds=20))
    assert result.success, result
    assert result.steps == problem.operations + 1
    assert result.used["usd"] == 20_000 * problem.operations
    # Seconds are drawn, at most what is declared and at least half of it.
    assert 500 * problem.operations <= result.used["seconds"] <= 1000 * problem.operations
    assert not result.broken_declarations


@pytest.mark.parametrize("tightness", ["tight", "loose"])
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_tape_takes_the_best_variants_that_fit_whatever_the_model_names(profile: str, tightness: str) -> None:
    cheapest = PROFILES[profile].variants[0].name
    for problem in PROBLEMS[:2]:
        if {step.kind for step in problem.program or ()} - set(PROFILES[profile].kinds):
            continue
        caps = budget(PROFILES[profile], problem.operations, tightness)
        env = GsmHardEnvironment(problem, profile)
        result = TapeAgent(arithmetic_script(problem, cheapest), execution="forced").run(env, budget=caps)
        assert result.end_state in ("success", "failure")
        assert isinstance(result.answer, float | int), "the value, not the number of a result"
        assert not result.budget_violations
        better = [action for action in result.actions if ".quick" not in action and ".fast" not in action]
        assert len(better) > problem.operations // 2  # the answer is one of them


OPERATORS = """more = 6 + 5
left = more - 4
total = left * 3
each = total / 7
area = each ** 2
answer(factorial(area))"""


def test_operators_of_a_program_are_calls_of_tools_and_factorials_have_a_name() -> None:
    env = GsmHardEnvironment(Problem("p", "How many?", 362_880.0, None, 6))
    result = TapeAgent(ScriptedLM(lambda request, sample: OPERATORS)).run(
        env, budget=Budget.of(steps=20, usd=1, seconds=20)
    )
    assert result.success, result
    kinds = [action.partition(".")[0] for action in result.actions[:-1]]
    assert kinds == ["add", "subtract", "multiply", "divide", "power", "factorial"]


@pytest.mark.parametrize("text", ["answer(7 % 2)", "answer(7 // 2)", "answer(sum([7, 2]))"])
def test_arithmetic_that_is_no_tool_is_refused(text: str) -> None:
    d = GsmHardEnvironment(PROBLEMS[0]).prompt_format("chat")
    assert not d.read_plan(ToolState(), text).valid


def test_a_cheap_tool_is_wrong_as_often_as_declared() -> None:
    env, wrong = GsmHardEnvironment(Problem("p", "", 12.0, (ProgramStep("multiply", (3.0, 4.0)),), 1)), 0
    for seed in range(150):
        env.reset(seed)
        for action in (call("multiply", "quick", a=3.0, b=4.0).text, "answer(value=#1)"):
            env.step(action)
        wrong += not env.success()
    assert 0.2 - 0.1 < wrong / 150 < 0.2 + 0.1  # three standard deviations


def test_the_plugin_makes_tasks_with_budgets() -> None:
    options = {"data": None, "problems": "dev", "profile": "priced"}
    tight, free = (PLUGIN.tasks({**options, "tightness": name}) for name in ("tight", "none"))
    assert len(tight) == len({task.id for task in tight}) == 100
    assert {task.level_set for task in tight} == {"gsm-dev-tight"}
    assert all(set(task.budget) == {"seconds", "steps", "usd"} for task in tight)
    assert all(set(task.budget) == {"steps"} for task in free)
    assert [task.digest for task in tight] == [task.digest for task in free]


def test_the_command_line_plays_a_file_under_a_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, replies = tmp_path / "two.jsonl", tmp_path / "replies.json"
    rows = [{"input": f"What is {i} and {i}?", "code": "1 + 1", "target": 2.0 * i} for i in (3, 4)]
    data.write_text("\n".join(map(json.dumps, rows)))
    replies.write_text(json.dumps(["answer(add_exact(3, 3))"]))
    args = ["run", "gsm_hard", "--data", str(data), "--budget", "seconds=1.0,usd=0.03", "--agent", "open_loop"]
    assert main([*args, "--model", f"scripted:{replies}", "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "1/2 solved" in printed
    assert "of 1 s" in printed  # what was used of the budget
    [group] = json.loads((tmp_path / "run" / "summary.json").read_text())["groups"]
    assert (group["budget_violations"], group["mean_used"]["usd"]) == (0, 20_000)


@pytest.mark.parametrize("name", sorted(PROFILES))
@pytest.mark.parametrize("operations", range(1, 13))
def test_budgets_leave_something_to_decide(name: str, operations: int) -> None:
    profile = PROFILES[name]
    tight, loose = (budget(profile, operations, tightness) for tightness in TIGHTNESSES)
    assert set(tight) == set(loose) == {kind for variant in profile.variants for kind in variant.worst}
    assert tight["steps"] == loose["steps"] == 2 * operations + 3
    assert tight["seconds"] < loose["seconds"]
    for variant, fits in ((profile.variants[0], True), (profile.variants[-1], False)):
        all_calls = sum((variant.worst for _ in range(operations)), Resources())
        assert all((all_calls[kind] or 0) <= tight[kind] for kind in tight) == fits


def test_the_formula_by_example() -> None:
    assert budget(PROFILES["priced"], 4, "tight") == Budget.of(steps=11, seconds="1.0", usd="0.012")
    assert budget(PROFILES["priced"], 4, "loose") == Budget.of(steps=11, seconds="3.4", usd="0.065")
    assert budget(PROFILES["paper"], 5, "tight") == Budget.of(steps=13, seconds="2.6")
    assert budget(PROFILES["paper"], 5, "loose") == Budget.of(steps=13, seconds="4.2")
    for operations, tightness, message in ((0, "tight", "at least one operation"), (3, "snug", "tight, loose")):
        with pytest.raises(GsmHardError, match=message):
            budget(PROFILES["paper"], operations, tightness)
