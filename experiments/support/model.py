"""The demo's language model, which is scripted: it writes the same programs whatever the budget.

So what changes from cap to cap is not the model's doing. A real model is one line away: ``TapeAgent("openai:NAME")``.
"""

from __future__ import annotations

import re

from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM

CUSTOMER = 4711
QUESTION = "When does a refund of a double charge reach the customer?"
CHECK = "Can a refund still be made after the account is deleted?"

SHORT = f"""# Find the account, look up what to promise, delete it, answer.
account = find_duplicate({CUSTOMER})
refund = search("{QUESTION}")
gone = delete_account(account)
answer(f"{{gone}} {{refund}}")"""

THOROUGH = f"""# The same with everything looked up twice.
account = find_duplicate({CUSTOMER})
refund = search("{QUESTION}")
allowed = search("{CHECK}")
gone = delete_account(account)
answer(f"{{gone}} {{refund}} {{allowed}}")"""

STEPS = (
    f"find_duplicate({CUSTOMER})",
    f'search_meaning("{QUESTION}")',
    f'search_meaning("{CHECK}")',
    f'search_colleague("{QUESTION}")',
    "delete_account(r1)",
    'answer(f"{r5} {r4}")',
)
"""The thorough program line by line; the variants are the model's choice."""


def support_model() -> ScriptedLM:
    """A model that samples the short program three times in four, and step by step follows the thorough one."""
    return ScriptedLM(_reply)


def _reply(request: Request, sample: int) -> str:
    if request.role == "plan":
        return THOROUGH if sample % 4 == 1 else SHORT
    prompt = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    return STEPS[len(re.findall(r"^r\d+ = ", prompt, re.MULTILINE))]
