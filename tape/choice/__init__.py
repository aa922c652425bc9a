"""`select`: the best of some plans, or of the paths of a graph, that keeps every budget. NumPy alone is loaded."""

from tape.choice.answer import Choice, More, Scheduled, Why
from tape.choice.rules import AtLeast, AtMost, Before, Excludes, Requires
from tape.choice.select import schedule, select, select_in

__all__ = [
    "AtLeast",
    "AtMost",
    "Before",
    "Choice",
    "Excludes",
    "More",
    "Requires",
    "Scheduled",
    "Why",
    "schedule",
    "select",
    "select_in",
]
