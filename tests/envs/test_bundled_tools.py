"""The bundled tool model on its two environments: real episodes, here and through HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.lm.bundled import open_bundled
from tests.tape.helpers import without_times
from tests.tape.lm.endpoint import Endpoint

pytestmark = pytest.mark.slow


def run(environment: str, model: str, out: Path, *more: str, limit: int = 6) -> list[dict[str, Any]]:
    args = ["run", environment, "--model", model, "--out", str(out), "--quiet", "--limit", str(limit)]
    assert main([*args, "--tightness", "loose", *more]) == 0
    lines = without_times(out)
    assert all(not line["result"]["budget_violations"] for line in lines)
    return [line["result"] for line in lines]


@pytest.mark.parametrize("environment", ["gsm_hard", "musique"])
@pytest.mark.parametrize("agent", ["tape", "react", "plan_and_act_replan"])
def test_some_episodes_succeed_and_none_ends_by_a_fault(environment: str, agent: str, tmp_path: Path) -> None:
    results = run(environment, "bundled:tools", tmp_path, "--agent", agent, limit=6)
    assert sum(result["success"] for result in results) >= 1
    fine = {"success", "failure", "budget", "infeasible", "replan_limit"}
    assert {result["end_state"].partition(":")[0] for result in results} <= fine


@pytest.mark.parametrize("environment", ["gsm_hard", "musique"])
def test_episodes_through_http_are_those_without_it(environment: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    # Hosted models show no probabilities, so plans are judged by the answer alone in both.
    more = ("--batch", "1", "--score", "argmax")
    with Endpoint(open_bundled("tools")) as endpoint:
        name = f"openai:bundled:tools@{endpoint.url}#format=tools,concurrency=1"
        # Dollars are capped, so what a hosted model costs must be known, even if it is nothing.
        prices = tmp_path / "prices.json"
        table = {"schema": 1, "date": "2026-01-31", "source": "own server", "per_tokens": 1_000_000}
        table["models"] = {name: {"prompt": "0", "completion": "0"}}
        prices.write_text(json.dumps(table))
        hosted = run(environment, name, tmp_path / "http", *more, "--prices", str(prices), limit=3)
    local = run(environment, "bundled:tools", tmp_path / "local", *more, limit=3)
    same = ("actions", "end_state", "success", "steps", "replans", "malformed", "lm_calls", "measures")
    assert [{name: r[name] for name in same} for r in hosted] == [{name: r[name] for name in same} for r in local]


def test_the_same_command_gives_the_same_episodes_on_two_workers(tmp_path: Path) -> None:
    one = run("musique", "bundled:tools", tmp_path / "one", "--batch", "2", limit=4)
    two = run("musique", "bundled:tools", tmp_path / "two", "--batch", "2", "--workers", "2", limit=4)
    assert sorted(map(json.dumps, one)) == sorted(map(json.dumps, two))


def test_it_plays_no_sokoban_and_the_sokoban_models_call_no_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for environment, model in (("sokoban", "bundled:tools"), ("gsm_hard", "bundled:mini")):
        assert main(["run", environment, "--model", model, "--limit", "1", "--out", str(tmp_path / model[8:])]) == 2
        assert "prompt format" in capsys.readouterr().err
