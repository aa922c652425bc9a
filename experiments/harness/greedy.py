"""Agents without a solver that take the best variant of a tool which still fits, and keep a reserve for the rest.

A row beside the one in which the model itself names the variant: the comparison with TAPE then shows what planning
does, and not who knows the prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from tape import OpenLoopAgent, ReactAgent
from tape.agents.lines import free_actor
from tape.budget import Resources
from tape.engine.episode import Episode
from tape.protocols import Acted, Action, Actor, Plan, Proposer, State
from tape.tools.calls import ANSWER, parse
from tape.tools.environment import ToolEnvironment


def best_that_fits(
    env: ToolEnvironment, action: Action, left: Mapping[str, int], rest: Sequence[Action] = ()
) -> Action:
    """A call by the best variant of its kind whose worst case fits beside the cheapest calls of the rest.

    Args:
        env: Its tools.
        action: The call, by any variant; an answer stays as it is.
        left: What is left of the budget.
        rest: What is to be called after it; an answer is kept back in any case.
    """
    made = parse(action)
    if made.kind == ANSWER:
        return action
    kept = sum((_cheapest(env, name) for name in rest), Resources({"steps": 0 if rest else 1}))
    for tool in sorted(env.domain.toolbox.of_kind(made.kind), key=lambda item: item.quality or 1.0, reverse=True):
        worst = tool.worst + kept
        if all((count := worst[kind]) is not None and count <= amount for kind, amount in left.items()):
            return replace(made, variant=tool.variant).text
    return action


def _cheapest(env: ToolEnvironment, action: Action) -> Resources:
    kind = parse(action).kind
    if kind == ANSWER:
        return Resources({"steps": 1})
    worst = [tool.worst for tool in env.domain.toolbox.of_kind(kind)]
    return Resources(
        {
            name: min(resources[name] or 0 for resources in worst)
            for name in {name for resources in worst for name in resources}
        }
    )


class _GreedyActor:
    def __init__(self, actor: Actor, env: ToolEnvironment) -> None:
        self._actor, self._env = actor, env

    async def act(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
    ) -> Acted:
        acted = await self._actor.act(state, remaining, action, plan, seed)
        return replace(acted, action=acted.action and best_that_fits(self._env, acted.action, remaining))


class _GreedyProposer:
    def __init__(self, proposer: Proposer, env: ToolEnvironment) -> None:
        self._proposer, self._env = proposer, env

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        proposed = await self._proposer.propose(starts, m, seed)
        return [[self._chosen(plan, left) for plan in plans] for (_, left), plans in zip(starts, proposed, strict=True)]

    def _chosen(self, plan: Plan, remaining: Mapping[str, int]) -> Plan:
        left, actions = dict(remaining), []
        for number, action in enumerate(plan.actions, 1):
            actions.append(best_that_fits(self._env, action, left, plan.actions[number:]))
            made = parse(actions[-1])
            worst = Resources({"steps": 1}) if made.kind == ANSWER else self._env.domain.toolbox.find(made).worst
            left = {kind: count - (worst[kind] or 0) for kind, count in left.items()}
        return replace(plan, actions=tuple(actions))


def _tools(episode: Episode) -> ToolEnvironment:
    assert isinstance(episode.env, ToolEnvironment), "variants are of tools"
    return episode.env


class GreedyReactAgent(ReactAgent):
    """ReAct, greedy with a reserve."""

    name: ClassVar[str] = "react_greedy"

    def actor(self, episode: Episode) -> Actor:
        """Writes an action; the variant is chosen for it."""
        return _GreedyActor(free_actor(episode, self.config.temperature, each=False), _tools(episode))


class GreedyOpenLoopAgent(OpenLoopAgent):
    """The open loop, greedy with a reserve."""

    name: ClassVar[str] = "open_loop_greedy"

    def proposer(self, episode: Episode) -> Proposer:
        """Samples a plan; the variants are chosen for it."""
        return _GreedyProposer(super().proposer(episode), _tools(episode))
