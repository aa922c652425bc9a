"""What may be imported when; fresh processes."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("name", ["TapeAgent", "PlanGraph", "Budget", "open_model"])
def test_public_names_resolve(name: str) -> None:
    import tape

    assert getattr(tape, name).__name__ == name


def test_unknown_names_are_attribute_errors() -> None:
    import tape

    with pytest.raises(AttributeError, match="nonsense"):
        _ = tape.nonsense
