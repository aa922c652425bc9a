"""Why an agent did what it did, from the trace of an episode alone: no model, no environment.

For each planning round (:func:`rounds`): the path that was followed beside the best others on the same graph, which
budget decided, and what a little more of it would have bought. :func:`about` describes the episode as a whole. What
cannot be rebuilt from a trace is marked, never guessed.

Read it in this order: ``spans.py`` finds the rounds in the event log, ``rebuilt.py`` solves a recorded selection again
and compares, ``selections.py`` asks what would be selected under other budgets, ``relaxations.py`` how little more
would change it; ``rounds.py`` puts it together as ``data.py``, and ``words.py`` writes it.
"""

from tape.analysis.why.data import BudgetLine, Candidate, Needs, Relaxation, Round
from tape.analysis.why.rounds import rounds
from tape.analysis.why.spans import PathEnd
from tape.analysis.why.words import about

__all__ = ["BudgetLine", "Candidate", "Needs", "PathEnd", "Relaxation", "Round", "about", "rounds"]
