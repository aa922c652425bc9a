"""What a local model does not load: compilers, frameworks, hosted models. Asked of fresh processes."""

import subprocess
import sys

HEAVY = (
    "anthropic",
    "highspy",
    "httpx",
    "matplotlib",
    "openai",
    "ortools",
    "outlines",
    "outlines_core",
    "pandas",
    "pulp",
    "scipy",
    "sympy",
    "tape.aec",
    "tape.lm.hosted",
    "tape.sdp",
    "torch._dynamo",
    "torch._inductor",
    "torch.distributed.tensor",
    "transformers",
    "triton",
)

SAY = f"""
import sys
print(*[name for name in {HEAVY!r} if name in sys.modules or any(m.startswith(name + '.') for m in sys.modules)])
"""

GENERATE = """
import asyncio
from tape import open_model
from tape.lm.base import Choice, Regex, Request

model = open_model("bundled:nano")
prompt = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"
requests = [Request(prompt, 4, Regex("(?: [UDLR])+"), n=2, temperature=1.0), Request(prompt, 4, Choice((" U", " D")))]
answers = asyncio.run(model.generate(requests))
assert len(answers) == 2 and answers[1].texts[0] in (" U", " D"), answers
asyncio.run(model.score_options(requests[1:]))
"""

EPISODE = """
from tape.cli.main import main

main(["run", "sokoban", "--levels", "easy", "--limit", "1", "--model", "bundled:nano", "--quiet"])
"""


def loaded_by(program: str, folder: str = ".") -> list[str]:
    """The heavy modules in a fresh process after a program."""
    command = [sys.executable, "-c", program + SAY]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_generation_by_a_bundled_model_loads_neither_a_compiler_nor_transformers() -> None:
    assert loaded_by(GENERATE) == []


def test_an_episode_with_a_bundled_model_loads_nothing_that_it_does_not_use(tmp_path: str) -> None:
    assert loaded_by(EPISODE, tmp_path) == []


def test_the_package_alone_loads_neither_torch_nor_numpy() -> None:
    assert loaded_by("import tape") == []
    program = "import sys, tape\nprint(sorted({'torch', 'numpy', 'networkx', 'pydantic', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
