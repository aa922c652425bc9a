"""The wheel, in an environment of its own with nothing but the core: what works, and what asks for which extra."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tests.places import ROOT

pytestmark = pytest.mark.slow

PACKAGES = ("tape", "solvers", "envs")
MOST_BYTES = 15_000_000
CORE = {"numpy", "pydantic", "networkx", "rich", "typing-extensions", "genai-prices", "jsonschema"}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# What asks for an extra, as an expression in a fresh process that has imported `tape.plugins` and nothing else.
ASKS = {
    "local": "load('tape.models', 'bundled')('nano')", "gguf": "load('tape.models', 'gguf')('a-file.gguf')",
    "smollm2": "load('tape.models', 'smollm2')('')", "solvers": "__import__('solvers').get('cp-sat')",
    "plots": "at('tape.plugins').require_extra('plots', 'matplotlib', what='it')",
    "search": "at('envs.search').bm25([at('envs.search').Passage('1', 'A title', 'a text')])",
    "dense": "at('envs.search').dense([at('envs.search').Passage('1', 'A title', 'a text')])",
    "ray": "at('tape.runner.workers').open_pool('ray:local')", "openai": "load('tape.models', 'vllm')('a-model')",
    "anthropic": "load('tape.models', 'anthropic')('a-model')", "otel": "at('tape.adapters.otel').provider()",
    "inspect": "at('tape.adapters.inspect_log').export(None)", "langchain": "at('tape.adapters.langchain')",
    "pydantic-ai": "at('tape.adapters.pydantic_ai')", "openai-agents": "at('tape.adapters.openai_agents')",
    "smolagents": "at('tape.adapters.smolagents')", "dspy": "at('tape.adapters.dspy')",
    "dbos": "at('tape.adapters.dbos')",
    "litellm": "at('tape.adapters.litellm')",
    "parquet": "at('tape.plugins').require_extra('parquet', 'pyarrow', what='it')",
    "mcp": "at('tape.cli.gateway').main(['gateway.toml'])",
    "serve": "at('tape.cli.serve').main(['a:b'])",
    "postgres": "at('tape.budget.stores').open_store('postgresql://nowhere/x')",
    "pddl": "load('tape.environments', 'pddl').require_installed()",
    "agentdojo": "load('tape.environments', 'agentdojo').tasks({})",
    "alfworld": "at('envs.alfworld.game.textworld_game')._engines()",
    "scienceworld": "at('envs.scienceworld.engine').task_table()",
}  # fmt: skip


ALL = """
import contextlib, io, json, sys
import tape, solvers, envs
from tape.cli import main
from tape.tools import tool
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    print(json.dumps([status, out.getvalue()]))
[getattr(tape, name) for name in dir(tape)]
print(json.dumps(tape.__file__))
"""
"""Commands, one after the other; then all public names."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from: a build leaves folders beside it, and the checkout may change meanwhile."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in (*PACKAGES, "experiments", "tests", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "results")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    # Compiling takes longer than all else here, and the checkout's own installation has done it.
    library = folder / "build" / f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}" / "solvers"
    library.mkdir(parents=True)
    for file in (ROOT / "solvers").glob("_native.*"):
        shutil.copy(file, library)
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    built = tmp_path_factory.mktemp("built")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(built), str(source))
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment that holds the wheel and links to what it requires, which is here already."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [site] = folder.glob("lib/python*/site-packages")
    for held in required(PROJECT["dependencies"]):
        for top in {file.parts[0] for file in held.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(str(held.locate_file(top)))
    path = folder / "bin" / "python"
    pip("--python", str(path), "install", "--no-deps", "--no-compile", str(wheel))
    return path


def required(texts: list[str]) -> Iterator[Distribution]:
    """What some requirements install, with all that this requires in turn."""
    seen, left = set[str](), texts
    while left:
        requirement = Requirement(left[0])
        left = left[1:]
        if requirement.name in seen or not (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(requirement.name)
        held = distribution(requirement.name)
        assert requirement.specifier.contains(held.version, prereleases=True), f"{requirement}: here is {held.version}"
        yield held
        left = [*left, *(held.requires or ())]


def pip(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def run(*argv: "str | Path", cwd: Path, text: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a program outside the checkout, to which no variable points, with a text as its input."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TAPE_"))}
    argv = tuple(map(str, argv))
    return subprocess.run(argv, cwd=cwd, env=environment, input=text, capture_output=True, text=True, check=False)


def test_the_wheel_holds_the_packages_and_all_their_data(source: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in held} == set(PACKAGES)
    files = {path.relative_to(source).as_posix() for name in PACKAGES for path in (source / name).rglob("*.*")}
    assert len(files) > 100
    assert files <= held
    assert wheel.stat().st_size <= MOST_BYTES, "checkpoints that only experiments use lie in experiments/weights"


def test_the_core_is_light(python: Path) -> None:
    required = {text.partition(">")[0] for text in PROJECT["dependencies"]}
    assert required == CORE
    code = "from importlib.metadata import distributions; print(*(item.name for item in distributions()))"
    listed = run(python, "-c", code, cwd=python.parent)
    names = {name.lower().replace("_", "-") for name in listed.stdout.split()}
    assert {*CORE, "tape-planner"} <= names
    assert not names & {"torch", "transformers", "outlines", "ortools", "pulp", "matplotlib", "gymnasium", "setuptools"}


def test_what_needs_no_extra_works(python: Path, tmp_path: Path) -> None:
    graph = PlanGraph()
    graph.fold(["home", "way", "goal"], ["go", "enter"])
    graph.set_reward("goal", 1.0, goal=True)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1}))
    graph.save(tmp_path / "graph.json", start="home")
    assert "commands:" in run(python.with_name("tape"), "--help", cwd=tmp_path).stdout
    commands = (
        ("run --help", 0, "sokoban"),
        ("run sokoban --help", 0, "--levels"),
        ("models", 0, "bundled:nano "),
        ("solvers", 0, "labelling"),
        ("prices gpt-4o-mini", 0, "openai:gpt-4o-mini"),
        ("solve graph.json --budget steps=2", 0, "OPTIMAL"),
        ("solve graph.json --budget steps=2 --solver labelling", 0, "OPTIMAL"),
        ("solve graph.json --budget steps=1", 1, "INFEASIBLE"),
    )
    done = run(python, "-c", ALL, cwd=tmp_path, text=json.dumps([arguments.split() for arguments, *_ in commands]))
    assert (done.returncode, done.stderr) == (0, "")
    *ends, place = map(json.loads, done.stdout.splitlines())
    for (arguments, status, words), (ended, printed) in zip(commands, ends, strict=True):
        assert ended == status, (arguments, printed)
        assert words in printed, arguments
    assert str(ROOT) not in place


def test_a_run_is_played_and_shown(python: Path, tmp_path: Path) -> None:
    tape = python.with_name("tape")
    played = run(tape, "run", "travelplanner", "--limit", "1", "--quiet", "--out", "a-run", cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    assert "pip install 'tape-planner[parquet]'" in played.stderr
    shown = run(tape, "show", "a-run", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "step 0" in shown.stdout
    assert "round-1.svg" in shown.stdout, "pictures of plan graphs need no extra"


def test_every_extra_is_asked_for_by_name(python: Path, tmp_path: Path) -> None:
    assert set(ASKS) == set(PROJECT["optional-dependencies"]) - {"all", "dev", "docs"}
    code = (
        "import importlib, json, sys; from tape.plugins import load\n"
        "at = importlib.import_module\n"
        "errors = {}\n"
        "for extra, ask in json.load(sys.stdin).items():\n"
        "    try: eval(ask)\n"
        "    except Exception as error: errors[extra] = f'{type(error).__name__}: {error}'\n"
        "print('ERRORS', json.dumps(errors))\n"
    )
    done = run(python, "-c", code, cwd=tmp_path, text=json.dumps(ASKS))
    assert done.returncode == 0, done.stderr
    errors = json.loads(done.stdout.split("ERRORS ")[1])
    for extra in ASKS:
        assert f"pip install 'tape-planner[{extra}]'" in errors.get(extra, "nothing"), errors
