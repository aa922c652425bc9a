"""``ask("question", value, ...)`` in programs: the model reads results for what no code finds in them."""

from __future__ import annotations

from typing import Any

from pydantic import create_model

from tape.budget import Resources
from tape.budget.prices import Fixed
from tape.plan.vocabulary import ASK
from tape.tools.calls import as_text
from tape.tools.results import LONGEST_TEXT, cut
from tape.tools.tool import Tool


def _texts(question: str, values: list[Any]) -> str:
    """What is read, one text below the other; of long ones the beginning."""
    del question
    return "\n\n".join(cut(as_text(value), LONGEST_TEXT // max(1, len(values))) for value in values)


ASKING = Tool(
    kind=ASK,
    variant="",
    function=_texts,
    arguments=create_model("ask_arguments", question=(str, ...), values=(list[Any], ...)),
    description="Read results for the answer to a question.",
    cost=Fixed(Resources()),
    reads=True,
    pure=True,
)
"""A step of its own, which costs what the model costs that reads."""
