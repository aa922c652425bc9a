"""The demo's language model, which is scripted: it writes the same programs whatever the budget.

So what changes from cap to cap is not the model's doing. A real model is one line away: ``TapeAgent("openai:NAME")``.
"""

from __future__ import annotations

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
    f"account = find_duplicate({CUSTOMER})",
    f'refund = search_meaning("{QUESTION}")',
    f'allowed = search_meaning("{CHECK}")',
    f'other = search_colleague("{QUESTION}")',
    "gone = delete_account(account)",
    'answer(f"{gone} {other}")',
)
"""The thorough program line by line; the variants are the model's choice."""


def support_model() -> ScriptedLM:
    """A model that samples the short program three times in four, and step by step follows the thorough one."""
    return ScriptedLM(_reply)


def _reply(request: Request, sample: int) -> str:
    if request.role == "plan":
        return THOROUGH if sample % 4 == 1 else SHORT
    names = [line.partition(" = ")[0] for line in STEPS[:-1]]
    shown = [message.content for message in request.prompt if not isinstance(message, str)]
    return STEPS[sum(text.startswith(f"{name} = ") and "\nNext line" in text for name in names for text in shown)]
