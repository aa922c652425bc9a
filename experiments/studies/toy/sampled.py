"""The simulated agents played out step by step: the rules of :mod:`experiments.studies.toy.exact`, other arithmetic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from random import Random

from experiments.studies.toy.exact import Setting
from experiments.studies.toy.world import N_ACTIONS, World

Player = Callable[[World, Setting, Random, int], bool]


def play_react(world: World, setting: Setting, rng: Random, budget: int) -> bool:
    """One episode of ReAct; True if the goal is reached within the budget."""
    state = world.start
    for remaining in range(budget, 0, -1):
        action = _act(world, setting, rng, state, remaining)
        if world.after(state, remaining)[action] is None:
            return False
        state = world.move(state, action)
        if world.cost(state) == 0:
            return True
    return False


def play_plan_and_act(world: World, setting: Setting, rng: Random, budget: int) -> bool:
    """One episode of Plan-and-Act, whose whole plan is drawn before the first step."""
    plan, imagined = [], world.start
    for remaining in range(budget, 0, -1):
        plan.append(world.plan(rng, imagined, remaining, setting.epsilon_p))
        if world.after(imagined, remaining)[plan[-1]] in (None, 0):
            break
        imagined = world.move(imagined, plan[-1])
    state, aligned = world.start, True
    for taken in range(budget):
        remaining = budget - taken
        if aligned and rng.random() < setting.p_follow:
            action = plan[taken]
        else:
            action = _act(world, setting, rng, state, remaining)
        aligned = aligned and action == plan[taken]
        if world.after(state, remaining)[action] is None:
            return False
        state = world.move(state, action)
        if world.cost(state) == 0:
            return True
    return False


def play_tape_step(world: World, setting: Setting, rng: Random, budget: int) -> bool:
    """One episode of TAPE with M fresh actions per step."""
    state = world.start
    for remaining in range(budget, 0, -1):
        drawn = {world.plan(rng, state, remaining, setting.epsilon_p) for _ in range(setting.plans)}
        chosen = _best(world, state, remaining, drawn)
        if chosen is None:
            return False
        state = world.move(state, chosen)
        if world.cost(state) == 0:
            return True
    return False


def play_tape_folded(world: World, setting: Setting, rng: Random, budget: int, *, replan: bool) -> bool:
    """One episode of TAPE with whole plans, sampled once, or with ``replan`` anew where the path ends."""
    state, remaining = world.start, budget
    while True:
        graph = _fold(world, setting, rng, state, remaining)
        path = _path(world, graph, state, remaining)
        if not path:  # nothing better was found: wait where a sampled action allows it, and plan again
            chosen = _best(world, state, remaining, graph.get(state, set()))
            if chosen is None or not replan:
                return False
            path = [chosen]
        for action in path:
            state, remaining = world.move(state, action), remaining - 1
        if world.cost(state) == 0:
            return True
        if not replan:
            return False


def _fold(world: World, setting: Setting, rng: Random, state: Hashable, remaining: int) -> dict[Hashable, set[int]]:
    """Samples M plans, cuts each at its first non-viable action, and merges equal states."""
    graph: dict[Hashable, set[int]] = {}
    for _ in range(setting.plans):
        at, left = state, remaining
        while world.cost(at) != 0:
            action = world.plan(rng, at, left, setting.epsilon_p)
            if world.after(at, left)[action] is None:
                break
            graph.setdefault(at, set()).add(action)
            at, left = world.move(at, action), left - 1
    return graph


def _path(world: World, graph: dict[Hashable, set[int]], start: Hashable, remaining: int) -> list[int]:
    """The shortest path to the node with the least cost-to-go that leaves enough budget; empty if that is here."""
    paths: dict[Hashable, list[int]] = {start: []}
    queue, best = deque([start]), start
    best_cost = world.cost(start)
    while queue:
        state = queue.popleft()
        for action in sorted(graph.get(state, ())):
            following = world.move(state, action)
            if following in paths:
                continue
            paths[following] = [*paths[state], action]
            queue.append(following)
            cost = world.cost(following)
            if cost is None or cost + len(paths[following]) > remaining:
                continue
            if best_cost is None or cost < best_cost:  # nearer nodes come first, so ties keep the shorter path
                best, best_cost = following, cost
    return paths[best]


def _best(world: World, state: Hashable, remaining: int, actions: set[int]) -> int | None:
    """What an exact solver takes: the viable action with the least cost-to-go after it."""
    after = world.after(state, remaining)
    viable = [action for action in actions if after[action] is not None]
    return min(viable, key=lambda action: (after[action], action)) if viable else None


def _act(world: World, setting: Setting, rng: Random, state: Hashable, remaining: int) -> int:
    """A ReAct step: plan, then execute something else with the sampling error."""
    planned = world.plan(rng, state, remaining, setting.epsilon_p)
    if rng.random() < setting.epsilon_s:
        return rng.choice([action for action in range(N_ACTIONS) if action != planned])
    return planned
