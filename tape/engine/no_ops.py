"""What is known to change nothing where the agent is (:class:`tape.protocols.parts.NoOps`) [ours].

In a domain that is not deterministic an observed transition is no certainty, so a wrong prediction may come again, and
with it the same action: for ever, where the action leads back to the same state. What the domain itself can tell to
be of no use in the observed state is neither planned nor done.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

from tape.engine.episode import Episode, environment_faults
from tape.engine.graph import PlanGraph
from tape.protocols import Action
from tape.protocols.parts import NoOps


def known_no_ops(episode: Episode) -> NoOps | None:
    """What the environment knows of them, where paths are judged by what they need; else None."""
    return None if episode.config.mismatch == "exact" else episode.env.domain.no_ops


def useful(episode: Episode, actions: Sequence[Action]) -> tuple[Action, ...]:
    """A plan from where the agent is without what it begins with in vain; all of it where nothing would be left."""
    known = known_no_ops(episode)
    if known is None:
        return tuple(actions)
    with environment_faults("what the first actions of a plan would change cannot be worked out"):
        return tuple(dropwhile(lambda action: known.is_no_op(episode.state, action), actions)) or tuple(actions)


def rule_out_no_ops(graph: PlanGraph, episode: Episode) -> None:
    """Rule out, from where the agent is, what is known to change nothing there, whatever was predicted of it."""
    known = known_no_ops(episode)
    if known is None:
        return
    start = episode.key(episode.state)
    with environment_faults("what an action would change cannot be worked out"):
        for edge in list(graph.edges()):
            if edge.source == start and known.is_no_op(episode.state, edge.action):
                graph.refute(graph.state(edge.source), edge.action, graph.state(edge.target))
