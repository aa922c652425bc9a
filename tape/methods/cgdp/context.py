"""The window: the most tokens of a prompt, counted by the model's own tokenizer.

A prompt's length is a peak, not a sum, so it is no budget: it decides what may be shown. What does not fit is left out,
oldest first, and recorded; a prompt that is too long is never sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tape.errors import ConfigError, ModelError
from tape.lm.base import LanguageModel, Request
from tape.methods.cgdp.prompts import SearchFormat
from tape.methods.cgdp.view import Belief, Form, SearchRound, View
from tape.protocols.search import Passage

SMALL = Passage("p1", "A", "B.")
"""The smallest passage, with which others are compared."""


@dataclass(frozen=True)
class Fitted:
    """A request that fits."""

    request: Request
    view: View
    tokens: int
    dropped: tuple[str, ...] = ()


class PromptWindow:
    """Counts prompts and makes them fit."""

    def __init__(self, model: LanguageModel, limit: int | None) -> None:
        self._model, self.limit = model, limit
        self._own: int | None = None
        self.longest = 0
        """Tokens of the longest prompt so far."""

    def count(self, request: Request) -> int:
        """Tokens of a prompt."""
        return self._model.prompt_tokens(request)

    def fits(self, request: Request) -> bool:
        """Whether a prompt fits."""
        return self.limit is None or self.count(request) <= self.limit

    def fit(self, build: Callable[[View], Request], view: View, most: int | None = None) -> Fitted:
        """The request of a view, shortened until it fits.

        Args:
            build: Makes the request.
            view: What is to be shown.
            most: Most tokens of this prompt; None: the window's limit.

        Raises:
            ModelError: Not even the shortest fits; :meth:`require` rules that out for the sizes it is given.
        """
        limit, dropped = self.limit if most is None else most, list[str]()
        while True:
            request = build(view)
            tokens = self.count(request)
            if limit is None or tokens <= limit:
                self.longest = max(self.longest, tokens)
                return Fitted(request, view, tokens, tuple(dropped))
            shorter = _shorter(view)
            if shorter is None:
                raise ModelError(
                    f"the shortest {request.role or 'prompt'} takes {tokens} tokens and the window is {limit}; it "
                    "was not sent: give more with context_tokens"
                )
            view, what = shorter
            dropped.append(what)

    def keep_within(self, window: int | None, answer: int) -> None:
        """Keep to the model's own window too.

        Args:
            window: Most tokens of a prompt and its answer together; None: unknown.
            answer: Most tokens of an answer.

        Raises:
            ConfigError: The limit is above it.
        """
        if window is None:
            return
        self._own = window - answer
        if self.limit is not None and self.limit + answer > window:
            raise ConfigError(
                f"context_tokens={self.limit} is too large: the model reads {window} tokens in all, and an answer may "
                f"take {answer} of them; give at most {window - answer}"
            )
        self.limit = window - answer if self.limit is None else self.limit

    def require(self, least: int) -> None:
        """Refuse a window that is too small, before anything is spent.

        Raises:
            ConfigError: The window is smaller; names a sufficient one.
        """
        if self._own is not None and self._own < least:
            raise ConfigError(
                f"the model reads too little for this task: the rules of a role, the question and one passage take up "
                f"to {least} tokens, and it reads {self._own} beside an answer; take a model with a longer window, or "
                "shorter passages"
            )
        if self.limit is not None and self.limit < least:
            raise ConfigError(
                f"context_tokens={self.limit} is too small for this task and model: the rules of a role, the question "
                f"and one passage take up to {least} tokens; give at least {least}"
            )


@dataclass(frozen=True)
class PassageSizes:
    """Counts the tokens that a passage adds to the prompt in which it is read.

    Instances are equal for equal model, prompts and form, so that a corpus is counted once: the question hardly changes
    the count.
    """

    model: str
    version: str
    form: Form | None
    window: PromptWindow = field(compare=False)
    prompts: SearchFormat = field(compare=False)
    question: str = field(compare=False)

    def __call__(self, passage: Passage) -> int:
        """Tokens beyond those of :data:`SMALL`."""
        return self._read_in(passage) - self._read_in(SMALL)

    def _read_in(self, passage: Passage) -> int:
        if self.form is None:
            view = View(self.question, rounds=(SearchRound(1, "", (passage,)),))
            return self.window.count(self.prompts.answer_request(view))
        view = View(self.question, belief=Belief(self.form))
        return self.window.count(self.prompts.extract_request(view, (passage,)))


def _shorter(view: View) -> tuple[View, str] | None:
    """A view with less in it and what was left out; None if nothing can be left out."""
    if len(view.rounds) > 1:
        return replace(view, rounds=view.rounds[1:]), f"round {view.rounds[0].number}"
    if view.notes:
        return replace(view, notes=view.notes[1:]), "the oldest note"
    if view.rounds and view.rounds[0].passages:
        only = view.rounds[0]
        kept, last = only.passages[:-1], only.passages[-1]
        return replace(view, rounds=(replace(only, passages=kept),)), f"passage {last.id} of round {only.number}"
    if view.rounds and view.rounds[0].thought:
        number = view.rounds[0].number
        return replace(view, rounds=(replace(view.rounds[0], thought=""),)), f"the thought of round {number}"
    if view.rounds:
        return replace(view, rounds=()), f"the query of round {view.rounds[0].number}"
    belief = view.belief
    if belief is not None and belief.resolved:
        return replace(view, belief=replace(belief, resolved=())), "what is resolved"
    if belief is not None and belief.facts:
        return replace(view, belief=replace(belief, facts=belief.facts[1:])), "the oldest fact"
    if belief is not None and len(belief.questions) > 1:
        return replace(view, belief=replace(belief, questions=belief.questions[:-1])), "the last open question"
    if view.target:
        return replace(view, target=""), "what to find out"
    if belief is not None and belief.questions:
        return replace(view, belief=replace(belief, questions=())), "the open question"
    return None
