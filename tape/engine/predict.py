"""P_theta (TAPE section 3.1): the LM predicts what actions lead to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tape.engine.context import RoleContext
from tape.errors import InvalidOutputError
from tape.protocols import Action, Prediction, State
from tape.protocols.parts import Outcomes


class LmWorldModel:
    """Predicts greedily, each (state, action) once per episode.

    A whole plan is one request where the prompt format can write it, else plans advance step by step in
    one batch.

    Args:
        context: The episode's model and prompts.
        doubt: Where an action is called invalid with less probability, it is predicted again as a valid one. The
            prediction's confidence is then what was left for that. Above 0, what denies what the environment
            declares (:meth:`tape.protocols.parts.MismatchTest.denies`) is predicted again too [ours].
    """

    def __init__(self, context: RoleContext, doubt: float = 0.0) -> None:
        self._context, self._doubt = context, doubt
        self._unseen = context.domain.unseen
        # What a plan assumes is part of what is predicted of it, though not of a state's key.
        self._name = self._unseen.assuming_key if self._unseen else context.domain.key
        self._known: dict[tuple[str, Action], Prediction] = {}

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict the next state of each pair; equal pairs and earlier ones cost nothing."""
        key = self._name
        fresh = {(key(s), a): (s, a) for s, a in pairs if (key(s), a) not in self._known}
        requests = [self._context.prompt_format.next_request(state, action) for state, action in fresh.values()]
        completions = await self._context.lm.generate(requests)
        doubted: dict[tuple[str, Action], tuple[State, Action]] = {}
        denied: dict[tuple[str, Action], tuple[State, Action]] = {}
        for (name, pair), completion in zip(fresh.items(), completions, strict=True):
            confidence = min(1.0, math.exp(completion.logprobs[0]))
            try:
                after = self._context.prompt_format.read_next(pair[0], completion.texts[0])
                if after is None and confidence < self._doubt:
                    doubted[name] = pair
                elif self._denied(*pair, after):
                    denied[name] = pair
                self._known[name] = Prediction(after, confidence)
            except InvalidOutputError as error:
                self._context.count_malformed("next", completion.texts[0], error)
                self._known[name] = Prediction(None, confidence, readable=False)
        await self._think_again(doubted)
        await self._correct(denied)
        return [self._known[key(s), a] for s, a in pairs]

    def assume(self, state: State, actions: Sequence[Action]) -> State:
        """The state under what the actions rest on, where the domain has assumptions."""
        return self._unseen.assume(state, actions) if self._unseen else state

    async def _think_again(self, doubted: Mapping[tuple[str, Action], tuple[State, Action]]) -> None:
        """Predict what the pairs lead to if they are valid after all; unreadable answers change nothing."""
        requests = [
            self._context.prompt_format.next_request(state, action, valid=True) for state, action in doubted.values()
        ]
        completions = await self._context.lm.generate(requests)
        for (name, (state, _)), completion in zip(doubted.items(), completions, strict=True):
            try:
                after = self._context.prompt_format.read_next(state, completion.texts[0])
            except InvalidOutputError as error:
                self._context.count_malformed("next", completion.texts[0], error)
                continue
            if after is not None:
                odds = 1.0 - self._known[name].confidence
                self._known[name] = Prediction(after, odds * min(1.0, math.exp(completion.logprobs[0])))

    def _denied(self, state: State, action: Action, after: State | None) -> bool:
        """Whether a prediction says otherwise than the environment declares of the action [ours]."""
        test = self._context.domain.mismatch_test
        return self._doubt > 0 and test is not None and test.denies(state, action, after)

    async def _correct(self, denied: Mapping[tuple[str, Action], tuple[State, Action]]) -> None:
        """Predict the pairs again as valid ones; what says otherwise again, or cannot be read, changes nothing."""
        requests = [
            self._context.prompt_format.next_request(state, action, valid=True) for state, action in denied.values()
        ]
        completions = await self._context.lm.generate(requests)
        for (name, (state, action)), completion in zip(denied.items(), completions, strict=True):
            try:
                after = self._context.prompt_format.read_next(state, completion.texts[0])
            except InvalidOutputError as error:
                self._context.count_malformed("next", completion.texts[0], error)
                continue
            first = self._known[name].state
            if after is not None and (first is None or not self._denied(state, action, after)):
                self._known[name] = Prediction(after, min(1.0, math.exp(completion.logprobs[0])))

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Predict each plan's states; a list ends at its first invalid action."""
        key = self._context.domain.key
        distinct = {(key(s), tuple(actions)): (s, actions) for s, actions in items if actions}
        requests = [self._context.prompt_format.rollout_request(state, actions) for state, actions in distinct.values()]
        asked = [request for request in requests if request is not None]
        if len(asked) < len(requests) or not asked:
            return await step_by_step(self, items)
        completions = await self._context.lm.generate(asked)
        read: dict[tuple[str, tuple[Action, ...]], list[Prediction]] = {}
        for (name, (state, actions)), completion in zip(distinct.items(), completions, strict=True):
            read[name] = self._read_rollout(state, actions, completion.texts[0])
        return [read.get((key(s), tuple(actions)), []) for s, actions in items]

    def _read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[Prediction]:
        """The readable beginning of a rollout; one that stops too early is counted as malformed."""
        try:
            states = self._context.prompt_format.read_rollout(state, actions, text)
        except InvalidOutputError as error:
            self._context.count_malformed("rollout", text, error)
            return []
        if len(states) < len(actions) and (not states or states[-1] is not None):
            self._context.count_malformed("rollout", text)
        return [Prediction(after) for after in states]


async def step_by_step(model: LmWorldModel, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
    """Roll plans out together, one batched prediction per depth."""
    rollouts: list[list[Prediction]] = [[] for _ in items]
    current: list[State | None] = [state for state, _ in items]
    for depth in range(max((len(actions) for _, actions in items), default=0)):
        live = [i for i, (_, actions) in enumerate(items) if depth < len(actions) and current[i] is not None]
        if not live:
            break
        pairs = [(model.assume(current[i], items[i][1][depth:]), items[i][1][depth]) for i in live]
        predictions = await model.predict(pairs)
        for i, prediction in zip(live, predictions, strict=True):
            rollouts[i].append(prediction)
            current[i] = prediction.state
    return rollouts


class DeclaredWorldModel:
    """Implements :class:`tape.protocols.WorldModel` without a model.

    Args:
        declared: The outcomes.
    """

    def __init__(self, declared: Outcomes) -> None:
        self._declared = declared

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """What is declared for each pair."""
        return [self._declared.outcome(state, action) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """The declared states along each plan, up to its first action that cannot be taken."""
        return [self._one(state, actions) for state, actions in items]

    def _one(self, state: State, actions: Sequence[Action]) -> list[Prediction]:
        found: list[Prediction] = []
        for action in actions:
            found.append(self._declared.outcome(state, action))
            if found[-1].state is None:
                break
            state = found[-1].state
        return found
