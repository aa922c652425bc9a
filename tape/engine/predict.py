"""P_theta (TAPE section 3.1): where actions lead, predicted by the LM, declared by the domain, or observed before."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tape.engine.context import RoleContext
from tape.errors import InvalidOutputError
from tape.protocols import Action, Domain, Plan, Prediction, State, WorldModel
from tape.protocols.parts import Outcomes

ALWAYS = math.inf
"""A ``requery_threshold`` above every probability: each action predicted to be invalid is predicted again."""

MOST_REPAIRED = 20_000
"""Outcomes that are looked at to repair a plan."""

EVEN = 0.5
"""The least confidence in an action that a plan takes and the world model calls invalid, where outcomes have chances:
the same model has said both, so the plan is not cut there [ours]."""


@dataclass(frozen=True)
class Rollout:
    """A plan up to its first invalid action, with the predicted state after each action and its confidence."""

    start: State
    actions: tuple[Action, ...]
    states: tuple[State, ...]
    confidences: tuple[float, ...]


async def roll_out(model: WorldModel, domain: Domain, items: Sequence[tuple[State, Plan]]) -> list[Rollout]:
    """Predict where plans lead, each from a state."""
    if domain.outcomes is not None:
        items = [(s, replace(p, actions=possible(domain.outcomes, domain.key, s, p.actions))) for s, p in items]
    predicted = await model.rollout([(state, plan.actions) for state, plan in items])
    return [_cut(state, plan, predictions) for (state, plan), predictions in zip(items, predicted, strict=True)]


def _cut(start: State, plan: Plan, predictions: Sequence[Prediction]) -> Rollout:
    """A plan up to its first invalid action."""
    valid = [(prediction.state, prediction.confidence) for prediction in predictions if prediction.state is not None]
    assert all(prediction.state is not None for prediction in predictions[:-1]), (
        "a rollout ends at its first invalid action"
    )
    return Rollout(start, plan.actions[: len(valid)], tuple(s for s, _ in valid), tuple(c for _, c in valid))


def possible(
    declared: Outcomes, key: Callable[[State], str], state: State, actions: Sequence[Action]
) -> tuple[Action, ...]:
    """Replace each action that cannot be taken by the first of its variants that can.

    A plan that names an unusable variant of a call is kept: another variant of the call may work. Where no variant can
    be taken, the plan stops. If plans differ in variants alone, the actions before are replaced too, the last first, so
    that most of the plan stays [ours]; it stops at its furthest where that does not help, or takes too long.

    Args:
        declared: The outcomes.
        key: Of a state; where two are equal, what follows is.
        state: Where the plan begins.
        actions: The plan.
    """

    def options(state: State, depth: int) -> Iterator[tuple[Action, State]]:
        tried = dict.fromkeys([actions[depth], *declared.variants(state, actions[depth])])
        for option in tried:
            if (after := declared.outcome(state, option).state) is not None:
                yield option, after

    if not actions:
        return ()
    path: list[Action] = []
    furthest: tuple[Action, ...] = ()
    dead: set[tuple[int, str]] = set()
    trail, looked = [(state, options(state, 0))], 0
    while trail and looked < MOST_REPAIRED:
        here, rest = trail[-1]
        looked += 1
        option, after = next(rest, ("", None))
        if after is None:
            if len(path) >= len(furthest):
                furthest = (*path, actions[len(path)])
            if not declared.whole:
                break
            dead.add((len(path), key(here)))
            trail.pop()
            path = path[:-1]
        elif (len(path) + 1, key(after)) not in dead:
            path.append(option)
            if len(path) == len(actions):
                return tuple(path)
            trail.append((after, options(after, len(path))))
    return furthest


class LmWorldModel:
    """Predicts greedily, each (state, action) once per episode.

    A whole plan is one request if the prompt format supports that, else plans advance step by step in one batch.

    Args:
        context: The episode's model and prompts.
        requery_threshold: An action predicted to be invalid with less probability is predicted again, as a valid one,
            with the confidence that this leaves. Above 0, a prediction that contradicts the environment's declarations
            (:meth:`tape.protocols.hooks.EpisodeHooks.denies`) is requested again too [ours].
    """

    def __init__(self, context: RoleContext, requery_threshold: float = 0.0) -> None:
        self._context, self._threshold = context, requery_threshold
        self._hooks = context.domain.hooks
        self._doubt = EVEN if self._hooks.uncertain else 0.0
        self._known: dict[tuple[str, Action], Prediction] = {}

    def _key(self, state: State) -> str:
        """A prediction depends on what its plan assumes; a state's key does not."""
        return f"{self._context.domain.key(state)}{self._hooks.assumed(state)}"

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict the next state of each pair; a pair that was predicted before costs nothing."""
        key = self._key
        fresh = {(key(s), a): (s, a) for s, a in pairs if (key(s), a) not in self._known}
        first = await self._ask(fresh)
        self._known |= first
        read = {name: prediction for name, prediction in first.items() if prediction.readable}
        denied = {n: fresh[n] for n, prediction in read.items() if self._denies(*fresh[n], prediction.state)}
        invalid = {
            n: prediction.confidence for n, prediction in read.items() if prediction.state is None and n not in denied
        }
        unsure = {n: fresh[n] for n, sure in invalid.items() if sure * (1 - self._doubt) < self._threshold}
        # If the second answer cannot be read, the first one stands.
        for name, second in (await self._ask(unsure, valid=True)).items():
            if second.state is not None:
                left = max(1.0 - first[name].confidence, self._doubt)
                self._known[name] = Prediction(second.state, left * second.confidence)
        for name, second in (await self._ask(denied, valid=True)).items():
            again = first[name].state is not None and self._denies(*denied[name], second.state)
            if second.state is not None and not again:
                self._known[name] = second
        return [self._known[key(s), a] for s, a in pairs]

    async def _ask(
        self, pairs: Mapping[tuple[str, Action], tuple[State, Action]], *, valid: bool = False
    ) -> dict[tuple[str, Action], Prediction]:
        """Predict pairs in one batch; with ``valid`` the model must predict each action as valid."""
        prompts = self._context.prompt_format
        requests = [prompts.next_request(state, action, valid=valid) for state, action in pairs.values()]
        completions = await self._context.lm.generate(requests)
        predictions = {}
        for (name, (state, _)), completion in zip(pairs.items(), completions, strict=True):
            confidence = min(1.0, math.exp(completion.logprobs[0]))
            try:
                predictions[name] = Prediction(prompts.read_next(state, completion.texts[0]), confidence)
            except InvalidOutputError as error:
                self._context.count_malformed("next", completion.texts[0], error)
                predictions[name] = Prediction(None, confidence, readable=False)
        return predictions

    def _denies(self, state: State, action: Action, after: State | None) -> bool:
        """Whether a prediction contradicts what the environment declares of the action [ours]."""
        return self._threshold > 0 and self._hooks.denies(state, action, after)

    def assume(self, state: State, actions: Sequence[Action]) -> State:
        """The state under the assumptions of the actions, in domains that have assumptions."""
        return self._hooks.assume(state, actions)

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
        """The readable beginning of a rollout; a rollout that stops too early is counted as malformed."""
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
    """Predicts what the domain declares."""

    def __init__(self, declared: Outcomes) -> None:
        self._declared = declared

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """The declared outcome of each pair."""
        return [self._declared.outcome(state, action) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """The declared states along each plan, up to its first action that cannot be taken."""
        return [self._one(state, actions) for state, actions in items]

    def _one(self, state: State, actions: Sequence[Action]) -> list[Prediction]:
        predictions: list[Prediction] = []
        for action in actions:
            predictions.append(self._declared.outcome(state, action))
            if predictions[-1].state is None:
                break
            state = predictions[-1].state
        return predictions


@dataclass
class Memory:
    """The transitions observed in this episode; it outlives every plan graph.

    In a deterministic domain an observed transition is certain: it is not predicted again, and edges that contradict it
    are never selected.
    """

    transitions: list[tuple[State, Action, State]] = field(default_factory=list)
    contradicted: list[tuple[State, Action, State]] = field(default_factory=list)

    def add(self, before: State, action: Action, after: State) -> None:
        """Record an observed transition."""
        self.transitions.append((before, action, after))

    def contradict(self, before: State, action: Action, predicted: State) -> None:
        """Record a prediction that turned out wrong."""
        self.contradicted.append((before, action, predicted))


class RememberingWorldModel:
    """Answers observed transitions from memory and asks the world model only for the others."""

    def __init__(self, model: WorldModel, memory: Memory, key: Callable[[State], str]) -> None:
        self._model, self._key = model, key
        self._observed: dict[tuple[str, Action], Prediction] = {}
        for before, action, after in memory.transitions:
            unchanged = key(before) == key(after)
            self._observed[key(before), action] = Prediction(None if unchanged else after)

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict, from memory first; an action that was observed to change nothing is invalid."""
        known = [self._observed.get((self._key(state), action)) for state, action in pairs]
        asked = [pair for pair, prediction in zip(pairs, known, strict=True) if prediction is None]
        fresh = iter(await self._model.predict(asked) if asked else [])
        return [next(fresh) if prediction is None else prediction for prediction in known]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Follow each plan through memory as far as possible, and let the model predict the gaps.

        If a prediction reaches a state whose next transition was observed, the observation replaces the rest of the
        prediction, and the model continues after it.
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
        """Append the transitions that memory knows; return the state reached, None after an invalid action."""
        while state is not None and (left := rest(actions, rollout)):
            prediction = self._observed.get((self._key(state), left[0]))
            if prediction is None:
                break
            rollout.append(prediction)
            state = prediction.state
        return state

    def _take(self, tail: Sequence[Prediction], actions: Sequence[Action], rollout: list[Prediction]) -> State | None:
        """Append a predicted tail until memory knows the next transition; return None if the plan ends first."""
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
