"""What plans assume of a house: where objects are that have not been seen, and how likely that is [ours]."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

from envs.alfworld.assumptions import assume, assumed_by, hypothesise, needed, plain
from envs.alfworld.commands import commands_of
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.predicates import inside
from envs.alfworld.state import as_state
from tape.protocols import Action, State
from tape.protocols.hooks import Beliefs, EpisodeHooks
from tape.protocols.predicates import Predicate


class AlfworldHypotheses(EpisodeHooks):
    """Where objects may be."""

    unseen = True

    def assume(self, state: State, actions: Sequence[Action]) -> State:
        """The state with what the actions rest on without its having been seen."""
        return assume(as_state(state), commands_of(actions))

    def plain(self, state: State) -> State:
        """The state without assumptions."""
        return plain(as_state(state))

    def assumptions(self, state: State, actions: Sequence[Action]) -> Sequence[Predicate]:
        """What the actions rest on, in the order in which they come upon it."""
        pairs = assumed_by(as_state(state), commands_of(actions))
        return list(dict.fromkeys(inside(kind_of(thing), place) for thing, place in pairs))

    async def likelihood(
        self, ask: Beliefs, state: State, plans: Sequence[tuple[Sequence[Action], Sequence[State]]]
    ) -> Sequence[Sequence[float]]:
        """The product of what the model believes of each assumption so far; what it cannot be asked about is certain.

        What has been looked into by then is part of the state, whether or not it was made use of yet.
        """
        assumed = [self.assumptions(state, actions) for actions, _ in plans]
        likely = await ask(state, [p for predicates in assumed for p in predicates])
        all_numbers = []
        for (actions, reached), predicates in zip(plans, assumed, strict=True):
            to_come = [self.assumptions(after, actions[i:]) for i, after in enumerate(reached, 1)]
            all_numbers.append(
                [math.prod(likely.get(p, 1.0) for p in predicates if p not in later) for later in to_come]
            )
        return all_numbers

    async def suppose(self, ask: Beliefs, state: State, count: int, seed: int) -> Sequence[State]:
        """The places of every object that the goal needs and that has not been seen.

        Each object's places are drawn without replacement, by the model's probabilities (Gumbel top-k); objects of
        which the same is known are put in different places. Where there are too few, they are gone through again.
        """
        here = as_state(state)
        groups = [[inside(kind, place) for kind, place in pairs] for pairs in needed(here) if pairs]
        if not groups:
            return ()
        likely = await ask(state, [p for group in groups for p in group])
        rng = random.Random(f"suppose:{seed}")
        alike = Counter(tuple(p for p in group if p in likely) for group in groups)
        if () in alike:
            return ()
        orders = {group: _order(rng, group, likely) for group in alike}
        drawn = [[p for group, n in alike.items() for p in _turn(orders[group], i, n)] for i in range(count)]
        return [hypothesise(here, [(p.args[0], p.args[1]) for p in predicates]) for predicates in drawn]


def _order(rng: random.Random, group: Sequence[Predicate], likely: Mapping[Predicate, float]) -> list[Predicate]:
    """A random order in which likelier ones tend to come first."""
    keys = {p: math.log(max(likely[p], 1e-12)) - math.log(-math.log(rng.random() or 1e-12)) for p in group}
    return sorted(group, key=lambda p: (-keys[p], p))


def _turn(order: Sequence[Predicate], turn: int, count: int) -> list[Predicate]:
    """The next ``count`` of an order, which begins again at its end."""
    return [order[(turn * count + k) % len(order)] for k in range(count)]
