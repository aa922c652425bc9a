"""Properties of the house: what it weighs, and what a user sets."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tape import Ablations, TapeConfig
from tests.places import ROOT

LINES = {"tape/engine": 3_400, "tape/tools": 8_442, "experiments/studies": 4_000, "experiments": 14_000}


@pytest.mark.parametrize("folder", LINES)
def test_it_has_no_more_lines_than_it_may(folder: str) -> None:
    lines = sum(file.read_text("utf-8").count("\n") for file in (ROOT / folder).rglob("*.py"))
    assert lines <= LINES[folder]


def test_a_user_sets_sixteen_things_and_studies_vary_others() -> None:
    settings = set(TapeConfig.model_fields) - {"ablations", "methods"}
    assert len(settings) <= 16
    assert not settings & set(Ablations.model_fields)


def test_every_collaborator_of_the_planner_and_the_executor_is_given() -> None:
    for name in ("loop.py", "execute.py", "verification.py"):
        for node in ast.walk(ast.parse((ROOT / "tape" / "engine" / name).read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                kinds = [
                    ast.unparse(argument.annotation)
                    for argument in (*node.args.args, *node.args.kwonlyargs)
                    if argument.annotation
                ]
                assert not [kind for kind in kinds if "None" in kind], name


def test_nothing_below_names_a_module_above() -> None:
    for folder in ("trace", "protocols", "budget", "choice", "plan", "guard"):
        for file in (ROOT / "tape" / folder).rglob("*.py"):
            assert not re.search(r"import_module\(f?[\"']", file.read_text("utf-8")), file


def test_a_thin_agent_is_made_of_public_names_and_its_modules_fit_on_a_screen() -> None:
    script = ROOT / "examples" / "thin_agent.py"
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, check=True)
    said, *rooms, total = done.stdout.splitlines()
    assert said.startswith("1009650 population(")
    assert len(rooms) <= 24
    assert int(total.split()[0]) <= 250
    assert not re.search(r"^(methods|gateway|adapters|cli)", "\n".join(rooms).replace("tape.", ""), re.MULTILINE)
