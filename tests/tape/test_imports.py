"""What may be imported when; fresh processes."""

import subprocess
import sys
from pathlib import Path

import pytest

import tape

EXTRA = (
    *("tape.methods.aec", "tape.methods.cgdp", "tape.methods.sdp"),
    *("tape.lm.hosted", "tape.show.draw", "matplotlib"),
)
"""What a plain TAPE episode of a local model has no use for."""
COMPILING = {"outlines", "outlines_core", "sympy", "transformers", "triton"}
COMPILING |= {"torch._dynamo", "torch._inductor", "torch.distributed.tensor"}
CLIENTS = {"anthropic", "httpx", "openai"}
SOLVERS = {"highspy", "ortools", "pandas", "pulp", "scipy"}
HEAVY = {"torch", "transformers", "outlines", "matplotlib", "gym", "gymnasium", "rich", "pydantic", *SOLVERS}
HEAVY |= {"genai_prices"}

GENERATE = """
import asyncio
from tape import open_model
from tape.lm.base import OneOf, Regex, Request

model = open_model("bundled:nano")
prompt = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"
requests = [Request(prompt, 4, Regex("(?: [UDLR])+"), n=2, temperature=1.0), Request(prompt, 4, OneOf((" U", " D")))]
answers = asyncio.run(model.generate(requests))
assert len(answers) == 2 and answers[1].texts[0] in (" U", " D"), answers
asyncio.run(model.score_options(requests[1:]))
"""
HELP = """
from tape.cli import main
try:
    main(['--help'])
except SystemExit:
    pass
"""
GRAPH = "import solvers, tape.tools; from tape import PlanGraph; g = PlanGraph(); g.fold([0, 1], ['a'])"


def loaded(code: str) -> set[str]:
    """The modules of a fresh process after a program."""
    script = f"{code}\nimport sys; print('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split("MODULES")[1].split())


def used(names: set[str], texts: set[str]) -> list[str]:
    """Which packages are among the modules, whole or in part."""
    return [name for name in names if any(text == name or text.startswith(f"{name}.") for text in texts)]


@pytest.mark.parametrize(
    ("code", "without"),
    [
        (HELP, {*HEAVY, "numpy", "networkx", "envs", "solvers"}),
        ("import tape, tape.budget", {*HEAVY, *CLIENTS, "envs", "experiments", "numpy", "networkx"}),
        (GRAPH, {*SOLVERS, "torch", "transformers", "outlines", "matplotlib", "envs", "mcp", "anyio"}),
    ],
    ids=["help", "import", "tools and a plan graph without any LM"],
)
def test_what_is_not_used_is_not_loaded(code: str, without: set[str]) -> None:
    assert not used(without, loaded(code))


def test_the_solvers_need_numpy_alone() -> None:
    code = "from solvers import PathProblem, solve; solve(PathProblem(1, [], [1], [], [], 0, {0}, 1))"
    texts = {name.partition(".")[0] for name in loaded(code) - loaded("")}
    assert "solvers" in texts
    assert texts - sys.stdlib_module_names <= {"solvers", "numpy"}


@pytest.mark.slow
def test_a_plain_episode_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    command = ["run", "sokoban", "--levels", "easy", "--limit", "1", "--model", "bundled:nano-750", "--quiet"]
    command += ["--out", str(tmp_path / "run")]
    texts = loaded(f"from tape.cli import main\nassert main({command!r}) == 0\n{GENERATE}")
    assert "tape.engine.loop" in texts
    assert not used({*EXTRA, *COMPILING, *CLIENTS, *SOLVERS, "genai_prices"}, texts)


def test_environments_load_no_method() -> None:
    names = ("alfworld", "gsm_hard", "musique", "scienceworld", "sokoban", "tool_chains", "travelplanner")
    texts = loaded("\n".join(f"import envs.{name}.plugin, envs.{name}.environment" for name in names))
    assert not [name for name in texts if name.startswith(EXTRA)]


def test_public_names_resolve_and_unknown_ones_are_attribute_errors() -> None:
    for name in ("TapeAgent", "PlanGraph", "Budget", "open_model"):
        assert getattr(tape, name).__name__ == name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tape.nonsense
