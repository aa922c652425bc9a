"""P_theta (TAPE section 3.1): the LM predicts what actions lead to."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tape.errors import InvalidOutputError
from tape.protocols import Action, Prediction, State
from tape.roles.context import RoleContext


class LmWorldModel:
    """Predicts greedily, each (state, action) once per episode.

    A whole plan is one request where the dialect can write it, else plans advance step by step in
    one batch.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Action], Prediction] = {}

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict the next state of each pair; equal pairs and earlier ones cost nothing."""
        key = self._context.domain.key
        fresh = {(key(s), a): (s, a) for s, a in pairs if (key(s), a) not in self._known}
        requests = [self._context.dialect.next_request(state, action) for state, action in fresh.values()]
        completions = await self._context.lm.generate(requests)
        for (name, (state, _)), completion in zip(fresh.items(), completions, strict=True):
            confidence = min(1.0, math.exp(completion.logprobs[0]))
            try:
                after = self._context.dialect.read_next(state, completion.texts[0])
                self._known[name] = Prediction(after, confidence)
            except InvalidOutputError as error:
                self._context.count_malformed("next", completion.texts[0], error)
                self._known[name] = Prediction(None, confidence, readable=False)
        return [self._known[key(s), a] for s, a in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Predict each plan's states; a list ends at its first invalid action."""
        requests = [self._context.dialect.rollout_request(state, actions) for state, actions in items]
        asked = [request for request in requests if request is not None]
        if len(asked) < len(requests) or not asked:
            return await step_by_step(self, items)
        completions = await self._context.lm.generate(asked)
        rollouts = []
        for (state, actions), completion in zip(items, completions, strict=True):
            text = completion.texts[0]
            try:
                states = self._context.dialect.read_rollout(state, actions, text)
            except InvalidOutputError as error:
                self._context.count_malformed("rollout", text, error)
                states = []
            rollouts.append([Prediction(after) for after in states])
        return rollouts


async def step_by_step(model: LmWorldModel, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
    """Roll plans out together, one batched prediction per depth."""
    rollouts: list[list[Prediction]] = [[] for _ in items]
    current: list[State | None] = [state for state, _ in items]
    for depth in range(max((len(actions) for _, actions in items), default=0)):
        live = [i for i, (_, actions) in enumerate(items) if depth < len(actions) and current[i] is not None]
        if not live:
            break
        predictions = await model.predict([(current[i], items[i][1][depth]) for i in live])
        for i, prediction in zip(live, predictions, strict=True):
            rollouts[i].append(prediction)
            current[i] = prediction.state
    return rollouts
