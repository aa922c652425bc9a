"""Files are short, need no file that needs them, and name things so that they can be told apart."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter

from tests.repo.sources import Source, sources

MOST_OF_A_FILE = 400
MOST_OF_A_FUNCTION = 70
FOR_EACH_FRAMEWORK = {"BoundedModel", "OutOfBudget"}
"""What every adapter has under the same name, for its framework."""


def imported(source: Source, known: dict[str, Source]) -> Iterator[str]:
    """The files that a file imports anywhere in it."""
    for node in source.imports:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            package = source.module if source.path.name == "__init__.py" else source.module.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (full if (full := f"{base}.{alias.name}") in known else base for alias in node.names)


def test_no_files_import_each_other() -> None:
    """For types alone neither, so that each can be read after those that it imports."""
    known = {source.module: source for source in sources("solvers", "tape", "envs", "experiments")}
    assert len(known) > 500
    graph = {name: {*imported(source, known)} & {*known} - {name} for name, source in known.items()}
    TopologicalSorter(graph).prepare()  # its error names the files of a circle


def test_no_file_and_no_function_is_long() -> None:
    files = [*sources("tape", "solvers", "envs", "tools")]
    assert len(files) > 300
    assert [source.path for source in files if source.lines > MOST_OF_A_FILE] == []
    lines = {
        f"{source.path}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for source in files
        for node in source.functions
    }
    assert {name: count for name, count in lines.items() if count > MOST_OF_A_FUNCTION} == {}


def test_a_public_class_name_stands_for_one_class() -> None:
    places = defaultdict[str, set[str]](set)
    for source in sources("tape", "solvers", "envs"):
        for node in source.classes:
            if node.col_offset == 0 and not node.name.startswith("_"):
                places[node.name].add(str(source.path))
    assert len(places) >= 1000, "they are there"
    assert {name: files for name, files in places.items() if len(files) > 1 and name not in FOR_EACH_FRAMEWORK} == {}


def test_a_local_name_says_what_it_holds() -> None:
    vague = {"one", "found"}
    files = sources("tape", "solvers", "envs", "experiments", "tools")
    assert [f"{source.path}:{line}" for source in files for name, line in source.named if name in vague] == []


def test_a_function_takes_at_most_six_parameters_that_a_caller_has_to_know() -> None:
    """Options with a default count in private functions alone: elsewhere they are the keywords of a decorator."""
    many = {}
    for source in sources("tape", "solvers", "envs", "experiments", "tools"):
        for node in source.functions:
            known = [given.arg for given in (*node.args.posonlyargs, *node.args.args)]
            private = node.name.startswith("_") and not node.name.startswith("__")
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            known += [given.arg for given, default in pairs if private or default is None]
            if len(set(known) - {"self", "cls"}) > 6:
                many[f"{source.path}: {node.name}"] = known
    assert many == {}
