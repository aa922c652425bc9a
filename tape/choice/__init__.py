"""`select`: the best of some plans, or of the paths of a graph, that keeps every budget. NumPy alone is loaded."""

from tape.choice.answer import Choice, More, Why
from tape.choice.select import select

__all__ = ["Choice", "More", "Why", "select"]
