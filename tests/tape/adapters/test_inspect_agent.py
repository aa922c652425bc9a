"""Inspect under a guard: what it has and other frameworks do not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.agent import Agent, as_solver, handoff
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessageUser, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Solver
from inspect_ai.tool import Tool, ToolSource
from inspect_ai.util import LimitExceededError

from tape.adapters.inspect_agent import bounded_agent, bounded_model
from tape.errors import BudgetExceededError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.inspect import answers_of, loop, scripted, tools_of
from tests.tape.adapters.drivers.scripted import Truth, Turn, call, exactly, guard_of, truth_of

DONE = Turn("done")


def quick(times: int = 1) -> Turn:
    return Turn(calls=tuple(call("quick", query=str(number)) for number in range(times)))


def samples(solver: Agent | Solver, model: Model, log_dir: Path, number: int = 1) -> list[EvalSample]:
    """The samples of an evaluation without scores."""
    task = Task(dataset=[Sample(input="go", id=index) for index in range(number)], solver=solver)
    [log] = evaluate(task, model=model, display="none", log_dir=str(log_dir), score=False)
    assert log.status == "success", log.error
    return log.samples or []


def ask(truth: Truth, guard: Guard, **options: Any) -> ModelOutput:
    return asyncio.run(bounded_model(scripted(truth), guard).generate("go", **options))


def test_a_refused_model_call_is_a_limit_of_inspect() -> None:
    truth, guard = truth_of(quick(), quick(), quick()), guard_of("calls=2")
    with pytest.raises(LimitExceededError, match="model call refused: calls of the guard ledger") as ended:
        asyncio.run(loop(scripted(truth), tools_of(truth), guard))
    assert (ended.value.type, ended.value.limit, ended.value.value) == ("custom", 2, 3)
    assert isinstance(ended.value.__cause__, BudgetExceededError)
    exactly(guard, truth)


@pytest.mark.slow
def test_a_sample_whose_budget_is_spent_ends_and_its_log_holds_the_limit(tmp_path: Path) -> None:
    truth, guard = truth_of(*[quick()] * 9), guard_of("calls=9")
    solver = as_solver(bounded_agent(guard, tools_of(truth), budget="calls=2"))
    for sample in samples(solver, scripted(truth), tmp_path, 2):  # each has two calls of the nine of all
        assert (sample.limit.type, sample.limit.limit) == ("custom", 2)
        assert answers_of(sample.messages) == ["quick found it"] * 2
    assert truth.spent["calls"] == 4
    exactly(guard, truth)


@pytest.mark.slow
def test_a_handoff_ends_where_the_inner_budget_does(tmp_path: Path) -> None:
    inner = truth_of(*[quick()] * 9)
    truth = truth_of(Turn(calls=(call("transfer_to_bounded_agent"),)), Turn(calls=(call("submit", answer="done"),)))
    guard = guard_of("calls=9, usd=1")
    helper = bounded_agent(guard.within("calls=2", name="helper"), tools_of(inner), scripted(inner))
    [sample] = samples(bounded_agent(guard, [handoff(helper, description="Helps.")]), scripted(truth), tmp_path)
    assert sample.output.completion.endswith("done")
    assert inner.spent["calls"] == 2
    exactly(guard, truth, inner)


def test_a_source_of_tools_is_bounded() -> None:
    truth, guard = truth_of(quick(), quick(), DONE), guard_of("steps=1")

    class Source(ToolSource):
        async def tools(self) -> list[Tool]:
            return tools_of(truth)

    assert answers_of(asyncio.run(loop(scripted(truth), [Source()], guard)))[1].startswith("quick was not called")
    exactly(guard, truth)


def test_a_provider_does_not_compact_beside_the_guard() -> None:
    model = bounded_model(scripted(truth_of()), guard_of("calls=1"))
    with pytest.raises(NotImplementedError, match="no budget can bound it"):
        asyncio.run(model.compact([ChatMessageUser(content="go")], [], None))  # type: ignore[arg-type]


def test_the_model_that_was_given_stays_free() -> None:
    truth, guard = truth_of(Turn("x"), Turn("y")), guard_of("calls=0")
    model = scripted(truth)
    assert str(bounded_model(model, guard)) == str(model)
    assert asyncio.run(model.generate("go")).completion == "x"


@pytest.mark.parametrize(("cached", "least", "most"), [(30, 45, 45), (-39, 65, 2000), (float("nan"), 65, 2000)])
def test_cached_tokens_of_a_prompt_are_tokens_if_they_are_a_count(cached: Any, least: int, most: int) -> None:
    guard = guard_of("tokens=3000")
    output = ModelOutput.from_content("scripted", "x")
    tokens = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 0, "input_tokens_cache_read": cached}
    output.usage = ModelUsage.model_construct(**tokens)
    model = get_model("mockllm/scripted", custom_outputs=[output], memoize=False)
    asyncio.run(bounded_model(model, guard).generate("go"))
    assert least <= (guard.ledger.used["tokens"] or 0) <= most
