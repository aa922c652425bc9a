"""Worked examples of word problems for general models: in our own words, none of a generated or public problem."""

from __future__ import annotations

from tape.tools.domain import ToolDomain
from tape.tools.prompts.programs import ProgramFormat

EXAMPLES = (
    (
        "Task: A hall has 34 rows of 28 seats. 59 seats are broken. How many people can sit down?\n"
        "End with answer(value: Any)",
        "all_seats = 34 * 28\nusable_seats = all_seats - 59\nanswer(usable_seats)",
    ),
    (
        "Task: Ann earns 12 dollars an hour, half as much as Tom. Tom works 40 hours and 25% of what he earns is tax. "
        "What is left to Tom?\nEnd with answer(value: Any)",
        "ann_per_hour = 12\ntom_per_hour = ann_per_hour * 2\ntom_earns = tom_per_hour * 40\n"
        "tax = tom_earns * 25 / 100\nanswer(tom_earns - tax)",
    ),
)
"""Problems and their programs. Names say what is computed: with comments the model computes in these, and wrongly."""


def chat_format(domain: ToolDomain) -> ProgramFormat:
    """The ``chat`` prompt format, with examples of arithmetic where the operators are tools."""
    operators = domain.words(()).operators
    return ProgramFormat(domain, EXAMPLES) if {"+", "-", "*", "/"} <= operators.keys() else ProgramFormat(domain)
