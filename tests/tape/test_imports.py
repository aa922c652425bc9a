"""What may be imported when; fresh processes."""

import subprocess
import sys
from pathlib import Path

import pytest

EXTRA = (
    *("tape.aec", "tape.cgdp", "tape.sdp", "tape.engine.ablations"),
    *("tape.lm.hosted", "tape.show.draw", "tape.show.plots", "matplotlib"),
)
"""What a plain TAPE episode of a local model has no use for."""
HEAVY = ("torch", "transformers", "outlines", "ortools", "pulp", "matplotlib", "gym", "gymnasium", "rich", "pydantic")


def loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys; print('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split("MODULES")[1].split())


def test_the_command_lines_help_loads_nothing_heavy() -> None:
    code = "from tape.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit: pass"
    assert not loaded(code) & {*HEAVY, "numpy", "networkx", "envs", "solvers"}


def test_import_tape_needs_neither_environments_nor_heavy_packages() -> None:
    assert not loaded("import tape, tape.budget") & {*HEAVY, "envs", "experiments", "numpy", "networkx"}


def test_a_plan_graph_is_selected_without_any_lm() -> None:
    code = "import solvers; from tape import PlanGraph; g = PlanGraph(); g.fold([0, 1], ['a'])"
    assert not loaded(code) & {"torch", "transformers", "outlines", "ortools", "pulp", "matplotlib", "envs"}


@pytest.mark.parametrize(
    "code",
    ["import solvers", "from solvers import PathProblem, solve; solve(PathProblem(1, [], [1], [], [], 0, {0}, 1))"],
    ids=["imported", "solving"],
)
def test_the_solvers_need_numpy_alone(code: str) -> None:
    found = {name.partition(".")[0] for name in loaded(code) - loaded("")}
    assert "solvers" in found
    assert found - sys.stdlib_module_names <= {"solvers", "numpy"}


@pytest.mark.slow
def test_a_plain_episode_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    command = ["run", "sokoban", "--levels", "easy", "--limit", "1", "--model", "bundled:nano-750", "--quiet"]
    command += ["--out", str(tmp_path / "run")]
    found = loaded(f"from tape.cli import main\nassert main({command!r}) == 0")
    assert "tape.engine.loop" in found
    assert not [name for name in found if name.startswith(tuple(f"{extra}." for extra in EXTRA)) or name in EXTRA]


@pytest.mark.parametrize(
    "environment", ["alfworld", "gsm_hard", "musique", "scienceworld", "sokoban", "tool_chains", "travelplanner"]
)
def test_environments_load_no_method(environment: str) -> None:
    found = loaded(f"import envs.{environment}.plugin, envs.{environment}.environment")
    assert not [name for name in found if name.startswith(EXTRA)]


@pytest.mark.parametrize("name", ["TapeAgent", "PlanGraph", "Budget", "open_model"])
def test_public_names_resolve(name: str) -> None:
    import tape

    assert getattr(tape, name).__name__ == name


def test_unknown_names_are_attribute_errors() -> None:
    import tape

    with pytest.raises(AttributeError, match="nonsense"):
        _ = tape.nonsense
