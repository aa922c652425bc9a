"""Real Sokoban episodes of the bundled LM through HTTP, played by the command line."""

from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.lm.bundled import open_bundled
from tests.tape.helpers import without_times
from tests.tape.lm.endpoint import Endpoint

pytest.importorskip("openai")

MODEL = "bundled:nano"


def run(model: str, out: Path, *more: str) -> list[dict[str, Any]]:
    """Play and return the results of the episodes."""
    arguments = ["run", "sokoban", "--levels", "easy", "--model", model, "--out", str(out), "--quiet"]
    assert main([*arguments, "--limit", "1", *more]) == 0
    lines = without_times(out)
    assert all(not line["result"]["budget_violations"] for line in lines)
    assert all(line["result"]["end_state"] != "model_error" for line in lines)
    return [line["result"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["tape", "react"])
def test_episodes_through_http_are_those_without_it(agent: str, tmp_path: Path) -> None:
    # One episode and one call at a time: rounding depends on the shape of a batch.
    # Only models on this machine draw without replacement.
    more = ("--agent", agent, "--batch", "1", *(("--ablation", "sampling=independent") if agent == "tape" else ()))
    with Endpoint(open_bundled(MODEL.split(":")[1])) as endpoint:
        hosted = run(f"openai:{MODEL}@{endpoint.url}#format=compact,concurrency=1", tmp_path / "http", *more)
    local = run(MODEL, tmp_path / "local", *more)
    same = ("actions", "end_state", "success", "steps", "replans", "mismatches", "malformed")
    assert [{name: r[name] for name in same} for r in hosted] == [{name: r[name] for name in same} for r in local]
    assert [r["lm_calls"] for r in hosted] == [r["lm_calls"] for r in local]
    asked = [body["response_format"]["json_schema"]["schema"] for body in endpoint.bodies]
    assert all(set(schema["properties"]) == {"answer"} for schema in asked)
