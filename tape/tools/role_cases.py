"""Cases with known answers for the roles that general models play on tools: what environments' cases share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tape.protocols.prompt_format import OfferedPath
from tape.protocols.role_cases import RoleCase, choice_case, offered_path
from tape.tools.calls import Call, answer
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.state import ToolState


def state_after(calls: Iterable[Call], results: Iterable[Any] = ()) -> ToolState:
    """The state after calls that were made and gave results; without results, as a plan predicts it."""
    state, known = ToolState(), iter(results)
    for made in calls:
        result = next(known, None)
        state = state.with_call(made, None if result is None else json.dumps(result))
    return state


def score_case(name: str, form: ProgramFormat, calls: Sequence[Call], *, good: bool) -> RoleCase:
    """A case of calls after which the last result is the answer.

    Args:
        name: The case's id.
        form: Asks for the score.
        calls: Those of the plan.
        good: Whether they answer the question.
    """
    request, _ = form.score_request(replace(state_after(calls), answer=f"#{len(calls)}"))
    return choice_case("score", name, request, "right" if good else "wrong")


def offered_calls(calls: Sequence[Call]) -> OfferedPath:
    """Calls and the answer as the engine shows them; every path ends alike, so that the model has to judge."""
    actions = [*(made.text for made in calls), answer(f"#{len(calls)}").text]
    return offered_path(actions, [*(f"{i} results" for i in range(1, len(actions))), "answered"])
