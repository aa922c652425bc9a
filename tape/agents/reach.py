"""Whether the budget reaches the goal by rules that a domain declares, known before anything is spent [ours]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tape.budget.deadline import blocking
from tape.choice.graph import PlanGraph
from tape.engine.episode import Episode, environment_faults
from tape.engine.infeasible import FailedAttempt, explained, infeasible
from tape.protocols import Action
from tape.protocols.parts import ExactRules

MOST_MOVES = 10_000
"""Moves that are looked at; where there are more, it is left to the episode."""


async def require_reachable(episode: Episode) -> None:
    """End an episode whose goal no sequence of actions reaches within the caps; no model is asked.

    Raises:
        EpisodeEnded: ``infeasible``, with the least caps that would do.
        EnvironmentFaultError: The rules have failed.
    """
    domain = episode.env.domain
    if domain.exact_rules is None or episode.config.on_infeasible == "partial":
        return
    actions = domain.admissible(episode.state)
    if actions is None:
        return
    with environment_faults("the search by the declared rules failed"):
        graph = await blocking(partial(_explored, episode, domain.exact_rules, actions), "search by the declared rules")
    if graph is not None:
        attempt = FailedAttempt.now(episode, graph)
        if explained(episode, attempt)[0].causes:
            raise infeasible(episode, [attempt])


def _explored(episode: Episode, rules: ExactRules, actions: Sequence[Action]) -> PlanGraph | None:
    """All states that the rules lead to, up to the goal, with the declared costs; None if there are too many."""
    domain = episode.env.domain
    graph, queue, moves = PlanGraph(domain.key), [episode.state], 0
    known = {graph.add_state(episode.state)}
    for here in queue:  # grows while it is read
        if rules.reached(here):
            graph.set_goal(domain.key(here))
            continue
        moves += len(actions)
        if moves > MOST_MOVES:
            return None
        for action in actions:
            after = rules.after(here, action)
            if after is None:
                continue
            target = graph.add_variant(here, action, after)
            graph.set_cost(graph.find(domain.key(here), action, target), domain.cost(here, action))
            if target not in known:
                known.add(target)
                queue.append(after)
    return graph
