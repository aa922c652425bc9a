"""The result of an episode: amounts in units, and the answer's value."""

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment
from tests.tape.tools.helpers import TOOLS, follow, script

CALLS: list[tuple[str, dict[str, Any]]] = [("multiply.exact", {"a": 3, "b": 4}), ("add", {"a": "#1", "b": 5})]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def result_of(**fields: Any) -> EpisodeResult:
    return EpisodeResult(end_state="success", success=True, **fields)


def test_what_was_spent_is_given_in_units() -> None:
    used = {"usd": 16_050, "seconds": 1_500, "tokens": 958, "steps": 3, "never declared": 4, "usd_unknown": None}
    spent = result_of(used=used).spent
    assert spent == {
        "usd": Decimal("0.01605"), "seconds": Decimal("1.5"), "tokens": 958, "steps": 3, "never declared": 4,
        "usd_unknown": None,
    }  # fmt: skip
    assert str(spent["usd"]) == "0.01605"
    capped = result_of(used={"steps": 2}, budget={"usd": 5, "steps": 3, "wall_seconds": 9}, wall_seconds=1.2345678)
    assert capped.spent == {"usd": 0, "steps": 2, "wall_seconds": Decimal("1.235")}
    assert "spent" not in result_of(used=used).model_dump(), "files keep their counts"


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_the_answer_is_its_value(agent: Any) -> None:
    env = ToolEnvironment("3 * 4 + 5?", TOOLS, budget=Budget.of(usd=1))
    result = agent(ScriptedLM(script(CALLS, act=follow(CALLS))), horizon=9).run(env)
    assert result.actions[-1] == "answer(value=17)"
    assert (result.answer, result.spent["usd"]) == (17, Decimal("0.021"))
    stopped = TapeAgent(ScriptedLM(script(CALLS))).run(env, budget=Budget.of(usd="0.001"))
    assert (stopped.end_state, stopped.answer) == ("infeasible", None)


@given(answer=JSON)
def test_an_answer_that_is_json_is_kept_as_it_is(answer: Any) -> None:
    result = result_of(answer=answer)
    assert result.answer == answer
    for dumped in (result.model_dump(), result.model_dump(mode="json")):
        line = json.dumps(dumped)
        assert EpisodeResult.model_validate(json.loads(line)).answer == answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({1, 2}, "{1, 2}"), (Decimal("1.5"), "1.5"), (math.nan, "nan"), ([math.inf], "[inf]"),
        ({(1, 2): 3}, "{(1, 2): 3}"), (Path("a"), "a"), ("\ud800", "\ud800"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_json_is_its_text_in_files(answer: Any, text: str) -> None:
    result = result_of(answer=answer)
    assert result.answer is answer
    for dumped in (result.model_dump(), result.model_dump(mode="json")):
        assert dumped["answer"] == text
        json.dumps(dumped, allow_nan=False)
