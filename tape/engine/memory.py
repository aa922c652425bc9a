"""What was observed in an episode, and a world model that never predicts it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tape.protocols import Action, Prediction, State, WorldModel


@dataclass
class Memory:
    """What was observed in this episode; it outlives every plan graph.

    In a deterministic domain an observed transition is certain: it is never predicted again, and its
    rivals are never selected again.
    """

    transitions: list[tuple[State, Action, State]] = field(default_factory=list)
    refuted: list[tuple[State, Action, State]] = field(default_factory=list)

    def add(self, before: State, action: Action, after: State) -> None:
        """Record an observed transition."""
        self.transitions.append((before, action, after))

    def refute(self, before: State, action: Action, predicted: State) -> None:
        """Record a prediction that turned out wrong."""
        self.refuted.append((before, action, predicted))


class RememberingWorldModel:
    """Answers observed transitions from memory and asks the world model for the rest only.

    Args:
        model: The world model underneath.
        memory: What was observed.
        key: Identity of a state.
    """

    def __init__(self, model: WorldModel, memory: Memory, key: Callable[[State], str]) -> None:
        self._model, self._key = model, key
        self._observed: dict[tuple[str, Action], Prediction] = {}
        for before, action, after in memory.transitions:
            unchanged = key(before) == key(after)
            self._observed[key(before), action] = Prediction(None if unchanged else after)

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict, memory first; an action that was seen to change nothing is invalid."""
        known = [self._observed.get((self._key(state), action)) for state, action in pairs]
        asked = [pair for pair, found in zip(pairs, known, strict=True) if found is None]
        fresh = iter(await self._model.predict(asked) if asked else [])
        return [next(fresh) if found is None else found for found in known]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Follow each plan through memory wherever it can, and let the model continue in between.

        Where a predicted continuation leads back to an observed transition that says otherwise, the
        observation wins and the model is asked again from there.
        """
        rollouts: list[list[Prediction]] = [[] for _ in items]
        current: list[State | None] = [state for state, _ in items]
        while True:
            for i, (_, actions) in enumerate(items):
                current[i] = self._follow(current[i], actions, rollouts[i])
            live = [i for i, (_, actions) in enumerate(items) if current[i] is not None and rest(actions, rollouts[i])]
            if not live:
                return rollouts
            tails = await self._model.rollout([(current[i], rest(items[i][1], rollouts[i])) for i in live])
            for i, tail in zip(live, tails, strict=True):
                current[i] = self._take(tail, items[i][1], rollouts[i])

    def _follow(self, state: State | None, actions: Sequence[Action], rollout: list[Prediction]) -> State | None:
        """Append what memory knows; returns the state reached, None after an invalid action."""
        while state is not None and (left := rest(actions, rollout)):
            found = self._observed.get((self._key(state), left[0]))
            if found is None:
                break
            rollout.append(found)
            state = found.state
        return state

    def _take(self, tail: Sequence[Prediction], actions: Sequence[Action], rollout: list[Prediction]) -> State | None:
        """Append a predicted tail up to where memory knows the next transition; None where the plan ends."""
        for prediction in tail:
            rollout.append(prediction)
            left = rest(actions, rollout)
            if prediction.state is None or not left:
                return None
            if (self._key(prediction.state), left[0]) in self._observed:
                return prediction.state
        return None


def rest(actions: Sequence[Action], rollout: Sequence[Prediction]) -> Sequence[Action]:
    """The actions of a plan that are not rolled out yet."""
    return actions[len(rollout) :]
