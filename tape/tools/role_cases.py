"""Cases with known answers for the roles that general models play on tools: what environments' cases share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tape.protocols.role_cases import RoleCase, choice_case
from tape.tools.calls import Call
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.state import ToolState


def state_after(calls: Iterable[Call], results: Iterable[Any] = ()) -> ToolState:
    """The state after calls that were made and gave results; without results, as a plan predicts it."""
    state, known = ToolState(), iter(results)
    for made in calls:
        result = next(known, None)
        state = state.with_call(made, None if result is None else json.dumps(result))
    return state


def program_text(calls: Sequence[Call], final: str = "", *, first: int = 1, each: bool = True) -> str:
    """Calls as the program that makes them; the k-th result is named ``rk``.

    Args:
        calls: With ``#k`` for results, in texts too.
        final: What is answered, such as ``#2`` or JSON; empty where the program does not answer.
        first: The number of the first call's result.
        each: Tools are named with their variants, as prompts of agents that choose variants show them.
    """
    lines = []
    for number, made in enumerate(calls, first):
        name = f"{made.kind}_{made.variant}" if made.variant and each else made.kind
        given = ", ".join(f"{key}={_value_text(value)}" for key, value in made.args)
        lines.append(f"r{number} = {name}({given})")
    return "\n".join([*lines, *([f"answer({_value_text(final)})"] if final else [])])


_NAMED = re.compile(r"#([1-9][0-9]*)")


def _value_text(value: str) -> str:
    """A value of a call in a program."""
    if _NAMED.fullmatch(value):
        return f"r{value[1:]}"
    known = json.loads(value)
    if isinstance(known, str) and _NAMED.search(known):
        shown = json.dumps(known.replace("{", "{{").replace("}", "}}"), ensure_ascii=False)
        return "f" + _NAMED.sub(lambda match: f"{{r{match[1]}}}", shown)
    return python_text(known)


def python_text(value: Any) -> str:
    """A value of JSON as a program has it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(name)}: {python_text(held)}' for name, held in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(python_text, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def score_case(name: str, form: ProgramFormat, calls: Sequence[Call], *, good: bool) -> RoleCase:
    """A case of calls after which the last result is the answer."""
    request, _ = form.score_request(replace(state_after(calls), answer=f"#{len(calls)}"))
    return choice_case("score", name, request, "right" if good else "wrong")
