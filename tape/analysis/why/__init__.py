"""Why an agent did what it did, from the trace of an episode alone: no model, no environment.

For each planning round (:func:`rounds`): the path that was followed beside the best others on the same graph, which
budget decided, and what a little more of it would have bought. :func:`about` describes the episode as a whole. What
cannot be rebuilt from a trace is marked, never guessed.

Read it in this order: ``spans.py`` finds the rounds in the event log, ``rebuilt.py`` solves a recorded selection again
and compares, ``selections.py`` asks what would be selected under other budgets, ``relaxations.py`` how little more
would change it, ``needs.py`` what a path would need where none fits; ``rounds.py`` puts it together as ``data.py``, and
``words.py`` writes it.
"""

from tape.analysis.why.about import about
from tape.analysis.why.data import BudgetLine, Candidate, Relaxation, Round
from tape.analysis.why.needs import Needs
from tape.analysis.why.rounds import rounds
from tape.analysis.why.spans import PathEnd

__all__ = ["BudgetLine", "Candidate", "Needs", "PathEnd", "Relaxation", "Round", "about", "rounds"]
