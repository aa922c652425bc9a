"""A noun has one meaning: a public class name stands for one class of the packages."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.places import ROOT

FOR_EACH_FRAMEWORK = {"BoundedModel", "OutOfBudget"}
"""What every adapter has under the same name, for its framework."""


def test_each_names_one_class() -> None:
    places = defaultdict[str, set[str]](set)
    for top in ("tape", "solvers", "envs"):
        for file in (ROOT / top).rglob("*.py"):
            for node in ast.parse(file.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(str(file.relative_to(ROOT)))
    assert len(places) >= 1000, "they are there"
    assert {name: files for name, files in places.items() if len(files) > 1 and name not in FOR_EACH_FRAMEWORK} == {}


def test_a_local_name_says_what_it_holds() -> None:
    vague = {"one", "found"}
    places = []
    for top in ("tape", "solvers", "envs", "experiments", "tools"):
        for file in (ROOT / top).rglob("*.py"):
            nodes = [*ast.walk(ast.parse(file.read_text("utf-8")))]
            fields = {id(line.target) for line in nodes if isinstance(line, ast.AnnAssign)}
            for node in nodes:
                stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields
                if (stored and node.id in vague) or (isinstance(node, ast.arg) and node.arg in vague):
                    places.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not places
