"""A planner in a process of its own: ``python -m envs.pddl.planner_child``; a line of input is the request in JSON.

Each plan is a line of output as soon as it is found, so that those that were found in time are kept. The last line says
how the planner ended. Its memory is limited from the start; the parent limits the time.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.pddl.errors import PddlError
from envs.pddl.several_plans import several_plans

if TYPE_CHECKING:
    from unified_planning.model import Problem


def main() -> None:
    """Answer the request."""
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    size = asked["memory"] << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # planners print what they do, and so do processes that they begin

    def tell(**line: Any) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    try:
        for plan in several_plans(_problem(asked), asked["planner"], asked["count"]):
            tell(**({"end": plan} if isinstance(plan, str) else {"plan": plan}))
    except MemoryError:
        tell(end="memory")
    except PddlError as error:
        tell(end="failed", said=str(error))
    except Exception as error:
        tell(end="failed", said=f"{type(error).__name__}: {error}".strip()[:500])


def _end_with_parent() -> None:
    """Wait until the other end of the input is gone, and end with the processes that a planner has begun."""
    while os.read(0, 1024):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _problem(asked: dict[str, Any]) -> Problem:
    import unified_planning.shortcuts as up

    up.get_environment().credits_stream = None
    from envs.pddl.reading import load_problem

    problem, _ = load_problem(Path(asked["domain"]), Path(asked["problem"]))
    _start_in(problem, asked["start"])
    return problem


def _start_in(problem: Problem, start: dict[str, Any] | None) -> None:
    """Let a problem begin in another state, of those that its actions lead to."""
    if start is None:
        return
    expressions, facts = problem.environment.expression_manager, {tuple(atom) for atom in start["facts"]}
    changing = {effect.fluent.fluent().name for action in problem.actions for effect in action.effects}

    def node(atom: Sequence[str]) -> Any:
        return problem.fluent(atom[0])(*(problem.object(name) for name in atom[1:]))

    for given, value in list(problem.explicit_initial_values.items()):
        atom = (given.fluent().name, *(argument.object().name for argument in given.args))
        if atom[0] in changing and value.is_bool_constant() and atom not in facts:
            problem.set_initial_value(given, expressions.FALSE())
    for atom in facts:
        problem.set_initial_value(node(atom), expressions.TRUE())
    for atom, value in start["numbers"]:
        problem.set_initial_value(node(atom), Fraction(value))


if __name__ == "__main__":
    main()
