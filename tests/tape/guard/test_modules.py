"""What a guard loads: it stands below the gateway, and knows nothing of servers, solvers and models."""

from __future__ import annotations

import subprocess
import sys

MOST = 40
PROGRAM = """
import sys
from tape import Guard
guard = Guard("1 step", tools={"look": {"usd": "$0.01"}})
with guard.tool("look") as call:
    call.answered()
print(guard.left()["left"], *(name for name in sys.modules if name.split(".")[0] in ("tape", "solvers", "envs")))
print(*sys.modules)
"""


def test_a_guard_loads_few_modules() -> None:
    own, all_ = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    ).stdout.split("\n")[:2]
    assert own.startswith("{'steps': 0} tape")
    assert len(own.split("} ")[1].split()) <= MOST, own
    assert "solvers" not in own
    assert not {"mcp", "httpx", "transformers", "torch", "networkx"} & {*all_.split()}
