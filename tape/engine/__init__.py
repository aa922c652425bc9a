"""The engine: TAPE from a state and a budget to the next action. Read it in this order.

1. ``settings.py``: every switch. ``result.py``: what an episode comes to.
2. ``episode.py``: one live episode, the only way to the environment and the ledger; ``approval.py``: who is asked
   before it acts. ``context.py``: model and prompts.
3. ``steps.py``: what all agents share: sample plans, write an action, compare prediction and observation.
4. Sample: ``proposer.py`` draws M plans from the LM.
5. Predict: ``world_model.py`` rolls them out; ``memory.py`` keeps what was observed, which goes before predictions;
   ``likelihood.py`` weighs what a plan assumes about things that nobody has seen; ``no_ops.py`` leaves out what is
   known to change nothing.
6. Fold: ``graph.py`` merges the rollouts into one plan graph (``graph_file.py`` reads one from a file,
   ``graph_problem.py`` writes it as a selection problem);
   ``expansion.py`` says where it may still grow and adds the variants of tools.
7. Score: ``scorer.py`` asks the LM for scores, and for costs where those are to be predicted; ``annotation.py`` puts
   rewards on nodes and costs on edges.
8. Select: ``selector.py`` asks the solver (or the LM, or takes the best single plan: ablations, which select from
   what ``candidates.py`` finds in the same graph); ``selection.py`` turns its answer into a path. Where there is none,
   ``infeasible.py`` says why, and the least caps that would do.
9. ``planner.py`` runs steps 4 to 8; ``planned.py`` is one such round without executing anything.
10. Execute: ``executor.py`` follows the path edge by edge; ``actor.py`` writes each action under its constraint;
    ``projector.py`` reads what was observed, and says which states are one where the model is to merge them. Compare: a
    mismatch ends the path; the environment may say what is one (``progression.py`` and ``pullback.py`` run plans on
    declared predicates).
11. Replan: ``tape/agents/tape.py`` is the loop around all this. ``verification.py`` is how it asks AEC, which it does
    not import, whether a path may be committed to.
"""

from tape.plugins import check_not_shadowed

check_not_shadowed("solvers")
