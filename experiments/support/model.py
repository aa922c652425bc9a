"""The demo's language model, which is scripted: it writes the same plans whatever the budget, and judges each right.

So what changes from cap to cap is not the model's doing. A real model is one line away: ``TapeAgent("openai:NAME")``.
"""

from __future__ import annotations

import json
from typing import Any

from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM

CUSTOMER = 4711
QUESTION = "When does a refund of a double charge reach the customer?"
CHECK = "Can a refund still be made after the account is deleted?"

_ANSWER = "answer"

SHORT: list[tuple[str, dict[str, Any]]] = [
    ("find_duplicate", {"customer": CUSTOMER}),
    ("search.meaning", {"question": QUESTION}),
    ("delete_account", {"account": "#1"}),
    (_ANSWER, {"value": "#3 #2"}),
]
"""Find the account, look up what to promise, delete, answer."""

THOROUGH: list[tuple[str, dict[str, Any]]] = [
    ("find_duplicate", {"customer": CUSTOMER}),
    ("search.meaning", {"question": QUESTION}),
    ("search.meaning", {"question": CHECK}),
    ("search.colleague", {"question": QUESTION}),
    ("delete_account", {"account": "#1"}),
    (_ANSWER, {"value": "#5 #4"}),
]
"""The same with everything looked up twice."""


def support_model() -> ScriptedLM:
    """A model that samples the short plan three times in four, and step by step follows the thorough one."""
    return ScriptedLM(_reply)


def _reply(request: Request, sample: int) -> str:
    if request.role == "plan":
        return _plan(THOROUGH if sample % 4 == 1 else SHORT)
    if request.role == "score":
        return "right"
    prompt = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    done = sum(f"\n#{number} " in prompt for number in range(1, len(THOROUGH)))
    tool, arguments = THOROUGH[done]
    return json.dumps({"thought": f"step {done + 1}", "call": {"tool": tool, "arguments": arguments}})


def _plan(calls: list[tuple[str, dict[str, Any]]]) -> str:
    *made, (_, last) = calls
    return json.dumps(
        {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in made], "answer": last["value"]}
    )
