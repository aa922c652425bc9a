"""f_theta by the model: ``--ablation merger=experiments.ablations.merger:LmMerger``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from experiments.ablations import require_ask
from tape.budget import Resources
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.project import Merger
from tape.errors import ConfigError
from tape.lm.base import OneOf, Request
from tape.protocols import State

MERGE_ROLE = "merge"

_OFFERED, _LONGEST = 6, 600
"""The most known states in a request about a new one, and the most characters of each."""

_NONE = "none"


class LmMerger(Merger):
    """f_theta (TAPE section 3.1): which states are one node of the plan graph; each new state is asked about once.

    States of equal keys are one node without a request. For every other new state the model chooses, among the most
    similar known states of the episode, the one that differs in wording only, or none. After an unreadable answer the
    state is a node of its own. Nodes are never merged later.

    Args:
        context: The episode's model and prompts; the prompt format must support ``ask``.
    """

    @classmethod
    def require(cls, roles: RoleContext) -> None:
        """Refuse prompts without a question about states, and domains whose keys leave nothing to merge."""
        require_ask(roles, MERGE_ROLE)
        if roles.domain.outcomes is not None:
            raise ConfigError(
                f"merger: {type(roles.domain).__name__} declares the outcomes of actions, so its keys leave nothing to "
                "merge"
            )

    @classmethod
    def of(cls, episode: Episode) -> LmMerger:
        """The merger of an episode."""
        return cls(episode.roles)

    def __init__(self, context: RoleContext) -> None:
        super().__init__(context.domain)
        self._context = context
        self._node: dict[str, str] = {}
        self._words: dict[str, frozenset[str]] = {}

    def key(self, state: State) -> str:
        """The key of a state's node, which is that of the first state merged into it."""
        own = self._context.domain.key(state)
        return self._node.get(own, own)

    async def merge(self, states: Sequence[State], expected: str | None = None) -> None:
        """Decide which nodes new states belong to, in one batch of requests.

        Args:
            states: New or known states.
            expected: Key of the predicted node; it is offered first, however similar it is.
        """
        fresh = {self._context.domain.key(state): state for state in states}
        fresh = {key: state for key, state in fresh.items() if key not in self._node}
        known = [*dict.fromkeys(self._node.values())]
        asked: list[tuple[str, list[str], Request]] = []
        for key, state in fresh.items():
            self._words[key] = frozenset(re.findall(r"\w+", key))
            if offered := self._similar(key, known, expected):
                asked.append((key, offered, self._request(state, key, offered)))
            known.append(key)  # a later state of this batch may equal this one
        completions = await self._context.lm.generate([request for *_, request in asked])
        self._node |= {key: key for key in fresh}
        for (key, offered, request), completion in zip(asked, completions, strict=True):
            answer = completion.texts[0].strip()
            assert isinstance(request.constraint, OneOf)
            if answer not in request.constraint.options:
                self._context.count_malformed(MERGE_ROLE, completion.texts[0])
            elif answer != _NONE:
                self._node[key] = self._node[offered[int(answer) - 1]]
        merged = {self._node[key] for key in fresh}
        assert all(self._node[node] == node for node in merged), (
            "a state is merged into a node, not into a merged state"
        )

    def worst_case(self, state: State) -> Resources:
        """The most that merging the next states can use, estimated from this state."""
        filler = "1 " * (_LONGEST // 2)
        return self._context.lm.worst_case(self._request(state, filler, [filler] * _OFFERED))

    def _similar(self, key: str, known: Sequence[str], expected: str | None) -> list[str]:
        """The known nodes to offer: the expected one first, then the most similar by their words."""
        first = [other for other in known if other == expected]
        mine = self._words[key]

        def unlike(other: str) -> float:
            theirs = self._words[other]
            return -len(mine & theirs) / max(1, len(mine | theirs))

        return [*first, *sorted((other for other in known if other not in first), key=unlike)][:_OFFERED]

    def _request(self, state: State, key: str, offered: Sequence[str]) -> Request:
        numbers = tuple(str(number) for number in range(1, len(offered) + 1))
        listed = "\n".join(f"{number}. {other[:_LONGEST]}" for number, other in zip(numbers, offered, strict=True))
        ask = (
            f"In short, this state is:\n{key[:_LONGEST]}\nThese states are known already:\n{listed}\nWhich of them is "
            "the same state as this one, as far as the rest of the task goes: the same is at hand, and as much of the "
            "task is done? Differences in wording, and in what the task does not depend on, do not count. "
            f"Answer with its number, or {_NONE}."
        )
        return Request(self._context.ask(state, ask), 4, constraint=OneOf((*numbers, _NONE)), role=MERGE_ROLE)
