"""What a whole run needs is checked before its first task: what cannot work costs one sentence, and no episode."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tape.cli import main
from tape.lm.bundled import card, sizes
from tape.plugins import names

ENVIRONMENTS = names("tape.environments")
NEEDED = {
    "alfworld": ("textworld", "alfworld"),
    "scienceworld": ("py4j", "scienceworld"),
    **dict.fromkeys(
        ("musique", "hotpotqa", "musique_search", "hotpot_search", "locomo", "repo_qa"), ("bm25s", "search")
    ),
    **dict.fromkeys(("sokoban", "gsm_hard"), ("llguidance", "local")),
}
"""By environment a module that plays it, with its default model; the last word is the extra that brings it."""
NEEDS_NOTHING = {"travelplanner", "tool_chains"}
BLOCKED = """
import sys
sys.modules.update(dict.fromkeys({modules!r}))
from tape.cli import main
sys.exit(main({argv!r}))
"""
SMALL = {"repo_qa": ["--package", "tape.budget"]}
"""A corpus that is indexed at once."""


def models() -> list[str]:
    """One bundled model of each prompt format, and those that come without weights."""
    by_format = {card(size).get("prompt_format", "compact"): f"bundled:{size}" for size in reversed(sizes())}
    return [*sorted(by_format.values()), "declared:first", "simulated:scienceworld"]


def command(environment: str, out: Path, *more: str) -> list[str]:
    return ["run", environment, *SMALL.get(environment, []), "--limit", "1", "--quiet", "--out", str(out), *more]


def refused(error: str) -> str:
    """The one sentence of a refusal; what was waited for stands before it."""
    *_, last = error.strip().splitlines()
    assert last.startswith("tape run: ")
    assert "Traceback" not in error
    return last


def ends(out: Path) -> list[tuple[str, str]]:
    file = out / "episodes.jsonl"
    results = [json.loads(line)["result"] for line in file.read_text().splitlines()] if file.exists() else []
    return [(result["end_state"], result["detail"]) for result in results]


def test_every_environment_is_tried() -> None:
    assert NEEDED.keys() | NEEDS_NOTHING == set(ENVIRONMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("environment", sorted(NEEDED))
def test_without_its_extra_no_task_is_begun(environment: str, tmp_path: Path) -> None:
    *modules, extra = NEEDED[environment]
    code = BLOCKED.format(modules=modules, argv=command(environment, tmp_path / "out"))
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert found.returncode == 2, found.stderr
    assert f"tape-planner[{extra}]" in refused(found.stderr)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_model_plays_or_is_refused(environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    played = []
    for number, model in enumerate(models()):
        out = tmp_path / str(number)
        code = main(command(environment, out, "--model", model, "--budget", "calls=6"))
        if code == 2:
            refused(capsys.readouterr().err)
            assert not out.exists(), model
        else:
            assert not {"model_error", "env_error", "solver_error"} & {end for end, _ in ends(out)}, (model, ends(out))
            played.append(model)
    assert played or environment in ("alfworld", "scienceworld", "hotpotqa")  # not installed, or by one agent alone


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_agent_plays_or_is_refused(environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agents = [[agent] for agent in names("tape.agents")]
    for number, agent in enumerate([*agents, *(["sdp", "--chain", chain] for chain in ("adapter", "sample"))]):
        out = tmp_path / str(number)
        code = main(command(environment, out, "--budget", "calls=6", "--agent", *agent))
        if code == 2:
            refused(capsys.readouterr().err)
            assert not out.exists(), agent
        else:
            assert not {"model_error", "env_error", "solver_error"} & {end for end, _ in ends(out)}, (agent, ends(out))


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        (["hotpotqa"], "ask for no plans and no actions: .*--agent sdp --chain adapter"),
        (["hotpotqa", "--agent", "sdp", "--chain", "adapter", "--on-limit", "final_answer"], "ask for no plans"),
        (["sokoban", "--agent", "sdp", "--chain", "adapter"], "has no operators of its own"),
        (["gsm_hard", "--world-model", "simulator"], "gsm_hard has no simulator"),
        (["gsm_hard", "--model", "simulated:scienceworld"], "no prompt format of these tools 'scienceworld'"),
        (["gsm_hard", "--agent", "cgdp"], "searches a corpus"),
    ],
)
def test_what_cannot_work_together_is_refused_beforehand(
    switches: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    environment, *more = switches
    assert main(command(environment, tmp_path / "out", *more)) == 2
    assert re.search(says, refused(capsys.readouterr().err))
    assert not (tmp_path / "out").exists()
