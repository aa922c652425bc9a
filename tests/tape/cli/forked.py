"""A program that starts commands as copies of itself: it has begun and imported in odd surroundings once for all.

Each line of standard input is JSON: words of a command line, a folder to be in, and files for what the command writes.
The exit status goes to the descriptor that the first argument names. A copy ends as every interpreter does.
"""

import contextlib
import importlib
import json
import os
import sys
from typing import Any

IMPORTED = (
    "envs.sokoban.plugin", "solvers.labelling", "tape.agents.open_loop",
    "tape.analysis.probe.report", "tape.analysis.why", "tape.gateway.audit", "tape.gateway.gateway",
    "tape.gateway.serving", "tape.adapters.inspect_log", "tape.adapters.otlp", "tape.budget.stores",
    "tape.lm.listed_prices", "tape.runner.runner", "tape.show.frontier", "tape.show.view.page",
)  # fmt: skip


def copied(asked: dict[str, Any], told: int) -> int | None:
    """The exit status of a command; None in the copy that is to run it."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(told)
    places = ((os.devnull, os.O_RDONLY), (asked["out"], os.O_WRONLY), (asked["err"], os.O_WRONLY))
    for number, (place, how) in enumerate(places):
        opened = os.open(place, how | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(asked["cwd"])
    # As Python decodes the words of a command line here, which need not be UTF-8.
    sys.argv = ["tape", *(os.fsdecode(word.encode("utf-8", "surrogateescape")) for word in asked["words"])]
    return None


def main() -> None:
    """Answer until there is no more to be asked."""
    requests, told = os.fdopen(os.dup(0), "rb"), int(sys.argv[1])
    for name in IMPORTED:
        with contextlib.suppress(ImportError):  # an extra that is not installed
            importlib.import_module(name)
    for line in requests:
        status = copied(json.loads(line), told)
        if status is None:
            break
        os.write(told, b"%d\n" % status)
    else:
        return
    from tape.cli import main as tape

    sys.exit(tape())


if __name__ == "__main__":
    main()
