"""The ``chains`` prompt format, for the bundled model that reads what users ask for, and does nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from envs.tool_chains.typed.domain import TypedState, as_typed
from envs.tool_chains.typed.prompts.common import LONGEST_REQUEST, TypedFormat
from envs.tool_chains.words import PARTS, all_specs, type_name, words
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import OneOf, Request
from tape.protocols import State

UNKNOWN = "<unk>"
MARKERS = ("text:", "<read>", "->", UNKNOWN)


@cache
def vocabulary() -> tuple[str, ...]:
    """Every word of our own requests, and the words that the format is made of."""
    lists = words()
    texts = [*lists["requests"], *lists["changes"]]
    texts += [phrase for part in PARTS for entry in lists[part] for phrase in (*entry["said"], entry["name"])]
    all_texts = {word for text in texts for word in _split(re.sub(r"\{\w+\}", " ", text))}
    return (*MARKERS, *sorted(all_texts - set(MARKERS)))


def read_words(text: str) -> list[str]:
    """A text in words of the vocabulary; others are ``<unk>``."""
    known = set(vocabulary())
    return [word if word in known else UNKNOWN for word in _split(text[:LONGEST_REQUEST])]


def goal_words(goal: str) -> list[str]:
    """A type that requests may name, in words."""
    return _split(goal)


def prompt(text: str) -> list[str]:
    """What the model is shown of a request."""
    return ["text:", *read_words(text), "<read>", "->"]


def _split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


class ReadingFormat(TypedFormat):
    """Reads requests; refuses to plan and to act.

    The model never saw a tool. Agents that would ask for plans are refused beforehand (``instead``).
    """

    instead = (
        "it reads what users ask for; plans and calls are declared here: --agent tape --proposer declared "
        "--scorer declared --execution forced"
    )

    def _reading(self, request: str) -> Request:
        own = {type_name(spec, 1, 1) for spec in all_specs()}
        if not own.issuperset(self._goals):
            raise ConfigError(
                "this model reads requests of our own problems alone; for tools of your own take a general model"
            )
        return Request(_text(prompt(request)), 12, constraint=OneOf(tuple(map(_goal, self._goals))), role="project")

    def read_project(self, state: State, text: str) -> TypedState:
        """The state with what is wanted."""
        name = next((goal for goal in self._goals if _goal(goal) == text), None)
        if name is None:
            raise InvalidOutputError(f"{text[:80]!r} is none of the types that a request may name")
        return as_typed(state).read(name)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Every end is the one that is wanted: the exact planner makes no other."""
        del state
        return Request("-> ", 1, constraint=OneOf((_text(["->"]),)), role="score"), {_text(["->"]): 1.0}


def _text(words: Sequence[str]) -> str:
    return "".join(f"{word} " for word in words)


def _goal(goal: str) -> str:
    return _text(goal_words(goal))
