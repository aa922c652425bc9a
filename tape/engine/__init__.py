"""The engine: TAPE from a state and a budget to the next action.

Begin with ``loop.py``, algorithm 1 of the paper. What a line of it does is one file, in this order:

| line | file | what it does |
|---|---|---|
| 2, 11 | ``episode.py`` | one live episode: the only way to environment, ledger and trace |
| 3 | ``project.py`` | the model reads what an observation leaves open |
| 4 | ``sample.py`` | M plans, and plans from inside the graph |
| 5 | ``predict.py`` | where plans lead: world models, and the memory of what was observed |
| 5 | ``fold.py``, ``graph.py`` | rollouts become one plan graph; ``graph_file.py`` is its form in files |
| 6 | ``cost.py``, ``score.py`` | costs on edges, rewards on nodes |
| 7 | ``select.py`` | the best path within all budgets; ``graph_problem.py`` writes the problem that is solved |
| 7 | ``infeasible.py`` | why no path fits, and the least caps that would do |
| 8-12 | ``execute.py``, ``act.py`` | the path is followed; each action is written under its constraint |
| 13-14 | ``compare.py`` | what was observed against what was predicted |
| 15 | ``replan.py`` | limits of replanning, and selecting anew on the same graph |

``settings.py`` has every switch, ``result.py`` what an episode comes to, ``context.py`` the model and its prompts.
``unseen.py`` is for domains in which plans rest on what has not been seen. ``verification.py`` is how a method such as
AEC, which the engine does not import, says whether a path may be committed to. ``ablations/`` is loaded only where a
setting asks for it.

Two exceptions go through all of it. :class:`tape.errors.BudgetExceededError`: a call or an action does not fit, and
nothing was spent. :class:`tape.engine.episode.EpisodeEnded`: the episode is over. Docstrings name them only where there
is more to say.
"""

from tape.plugins import check_not_shadowed

check_not_shadowed("solvers")
