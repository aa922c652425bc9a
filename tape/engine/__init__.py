"""The engine: TAPE from a state and a budget to the next action.

Begin with ``loop.py``, algorithm 1 of the paper. The other files implement its lines, in this order:

| line | file | what it does |
|---|---|---|
| 2, 11 | ``episode.py`` | is the only access to the environment, the ledger and the trace of one episode |
| 3 | ``project.py`` | lets the model read what an observation leaves open |
| 4 | ``sample.py`` | samples M plans, and further plans from inside the graph |
| 5 | ``predict.py`` | predicts where plans lead, and remembers observed transitions |
| 5 | ``fold.py`` | folds rollouts into one plan graph (``tape/choice/graph.py``) |
| 6 | ``cost.py``, ``score.py`` | put costs on edges and rewards on nodes |
| 7 | ``select.py`` | selects the best path within all budgets |
| 7 | ``infeasible.py`` | explains why no path fits, and which caps would suffice |
| 8-12 | ``execute.py``, ``act.py`` | follow the path; write each action under its constraint |
| 13-14 | ``compare.py`` | compares the observed state with the predicted one |
| 15 | ``replan.py`` | limits replanning; selects again on the same graph |

``settings.py`` declares what a user sets, ``ablations.py`` what only studies vary, ``context.py`` the model and its
prompts. ``unseen.py`` weighs what plans assume in partially observable domains, ``in_turn.py`` is the order of actions.
``verification.py`` is the interface of methods such as AEC that decide whether a path may be committed to; the engine
imports none of them. Every collaborator has a plain default, and what only some environments need is one object
(``tape/protocols/hooks.py``) whose default does nothing.

Two exceptions pass through every file. :class:`tape.errors.BudgetExceededError`: a call or an action does not fit, and
nothing was spent. :class:`tape.engine.episode.EpisodeEnded`: the episode is over. A docstring names them only if it
adds something.
"""

from tape.plugins import check_not_shadowed

check_not_shadowed("solvers")
