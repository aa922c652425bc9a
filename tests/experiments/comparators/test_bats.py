"""ReAct with a budget tracker: what it reads, and where it cannot be."""

from __future__ import annotations

import pytest

from envs.sokoban.environment import SokobanEnvironment
from experiments.comparators.bats import BatsAgent, tracked
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, tool
from tests.tape.helpers import CORRIDOR


def test_the_level_is_that_of_the_budget_of_which_least_is_left() -> None:
    assert tracked({"steps": 10}, {"steps": 7}).splitlines() == [
        "Budget so far:",
        "- steps: 3 steps used of 10 steps, 7 steps left",
        "Level: HIGH: there is room to look around where that helps.",
    ]
    caps = {"steps": 10, "usd": 20_000}
    assert "Level: MEDIUM" in tracked(caps, {"steps": 10, "usd": 10_000})
    assert "Level: LOW" in tracked(caps, {"steps": 2, "usd": 20_000})
    assert "Level: CRITICAL" in tracked(caps, {"steps": 0, "usd": 20_000})
    assert "Level: CRITICAL" in tracked({"usd": 0}, {"usd": 0})


def test_the_model_reads_it_before_each_action() -> None:
    prompts: list[str] = []

    @tool(usd="0.01")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def model(request: Request, sample: int) -> str:
        prompts.append(request.prompt[-1].content if not isinstance(request.prompt, str) else request.prompt)
        return "add(1, 2)" if len(prompts) == 1 else "answer(r1)"

    result = BatsAgent(ScriptedLM(model)).run(ToolEnvironment("Add 1 and 2.", [add], budget="$0.01, 4 steps"))
    assert (result.end_state, result.answer) == ("success", 3)
    assert [prompt.splitlines()[-1].split(":")[1] for prompt in prompts] == [" HIGH", " CRITICAL"]
    assert "- usd: $0.01 used of $0.01, $0 left" in prompts[1]


def test_a_model_that_reads_no_chat_is_refused() -> None:
    with pytest.raises(ConfigError, match="which bundled:nano-750 does not read; use react"):
        BatsAgent("bundled:nano-750").run(SokobanEnvironment(CORRIDOR, 4))
