"""The JSON that general models write as actions on a multi-hop question: kinds and titles are enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.hotpotqa.actions import FINISH, Find, Finish, HotpotAnswer, ParagraphSearch, Parsed

MOST_ACTIONS = 12
"""Actions of a plan."""

LONGEST_THOUGHT, LONGEST_QUOTE, LONGEST_TEXT = 240, 300, 120
"""Characters of a thought, of a sentence that is copied, and of a query, a question or an answer."""

_STRICT = ConfigDict(extra="forbid")
_THOUGHT: Any = (str, Field(max_length=LONGEST_THOUGHT))
_TEXT: Any = (str, Field(min_length=1, max_length=LONGEST_TEXT))


class SearchStep(BaseModel):
    """A search."""

    model_config = _STRICT
    do: Literal["search"]
    query: str = Field(min_length=1, max_length=LONGEST_TEXT)


class AnswerStep(BaseModel):
    """An answer that stands from then on."""

    model_config = _STRICT
    do: Literal["answer"]
    answer: str = Field(min_length=1, max_length=LONGEST_TEXT)


class FinishStep(BaseModel):
    """The end."""

    model_config = _STRICT
    do: Literal["finish"]


class AnswerAtLimit(BaseModel):
    """The answer at a limit."""

    model_config = _STRICT
    reason: str = Field(max_length=LONGEST_THOUGHT)
    answer: str = Field(max_length=LONGEST_TEXT)


def _model(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __config__=_STRICT, **fields)


def _steps(titles: tuple[str, ...], searches: bool, *, ahead: bool) -> Any:
    """The kinds of steps there are: searches where there is something to search, findings where there is a text.

    A plan that searches goes on with findings in paragraphs that are not there yet.
    """
    kinds: list[type[BaseModel]] = [SearchStep] if searches else []
    if titles or (searches and ahead):
        title: Any = _TEXT if searches and ahead else (Literal[tuple(dict.fromkeys(titles))], ...)
        quote: Any = (str, Field(max_length=LONGEST_QUOTE))
        find: Any = (Literal["find"], ...)
        kinds.append(_model("FindStep", do=find, question=_TEXT, quote=quote, answer=_TEXT, title=title))
    return reduce(or_, [*kinds, AnswerStep, FinishStep])


@lru_cache(maxsize=64)
def plan_model(titles: tuple[str, ...], searches: bool) -> type[BaseModel]:
    """A thought, and from one step to :data:`MOST_ACTIONS`."""
    steps: Any = (list[_steps(titles, searches, ahead=True)], Field(min_length=1, max_length=MOST_ACTIONS))  # type: ignore[misc]
    return _model("Planned", thought=_THOUGHT, steps=steps)


@lru_cache(maxsize=64)
def act_model(titles: tuple[str, ...], searches: bool) -> type[BaseModel]:
    """A thought and a step."""
    return _model("Acted", thought=_THOUGHT, step=(_steps(titles, searches, ahead=False), ...))


@lru_cache(maxsize=64)
def fixed_model(action: str) -> type[BaseModel]:
    """A thought and this action."""
    return _model("FixedAct", thought=_THOUGHT, action=(Literal[action], ...))


def as_action(step: Any, hop: int) -> Parsed:
    """What a step does; a finding is that of a hop, and the next hop asks about it."""
    match step.do:
        case "search":
            return ParagraphSearch(step.query)
        case "find":
            return Find(hop, step.answer.strip(), step.title, step.answer.strip(), step.question.strip())
        case "answer":
            return HotpotAnswer(step.answer)
        case _:
            return Finish()


def as_step(action: Parsed, quote: str = "") -> dict[str, str]:
    """An action as a model writes it."""
    match action:
        case ParagraphSearch(query):
            return {"do": "search", "query": query}
        case Find():
            return {
                "do": "find",
                "question": action.sub,
                "quote": quote,
                "answer": action.finding,
                "title": action.title,
            }
        case HotpotAnswer(text):
            return {"do": "answer", "answer": text}
        case _:
            return {"do": FINISH}


def as_actions(steps: Sequence[Any], done: int) -> list[Parsed]:
    """What steps do, where so many hops have a finding already."""
    actions: list[Parsed] = []
    for step in steps:
        index = sum(isinstance(action, Find) for action in actions)
        actions.append(as_action(step, done + index + 1))
    return actions
