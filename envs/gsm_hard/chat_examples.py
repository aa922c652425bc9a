"""Worked examples of word problems for general models: in our own words, none of a generated or public problem."""

from __future__ import annotations

from tape.tools.domain import ToolDomain
from tape.tools.prompts.programs import ProgramFormat

EXAMPLES = (
    (
        "Tools: add(a, b), subtract(a, b), multiply(a, b), divide(a, b)\n"
        "Task: A hall has 34 rows of 28 seats. 59 seats are broken. How many people can sit down?\n"
        "End with answer(value: Any)",
        "# All seats are 34 times 28; the 59 broken ones are taken away.\nseats = 34 * 28\nanswer(seats - 59)",
    ),
    (
        "Tools: add(a, b), subtract(a, b), multiply(a, b), divide(a, b)\n"
        "Task: Of the 5,400 litres in a tank 3% run out. How many litres are left?\nEnd with answer(value: Any)",
        "# What runs out is 5400 times 3 divided by 100; the rest is left.\nout = 5400 * 3 / 100\nanswer(5400 - out)",
    ),
)
"""Problems and their programs; the operators are tools."""


def chat_format(domain: ToolDomain) -> ProgramFormat:
    """The ``chat`` prompt format, with examples of arithmetic where the operators are tools."""
    operators = domain.words(()).operators
    return ProgramFormat(domain, EXAMPLES) if {"+", "-", "*", "/"} <= operators.keys() else ProgramFormat(domain)
