"""The memory of a search and the calls of the model on it, shared by all parts of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tape.budget import Reservation
from tape.engine.episode import Episode
from tape.errors import InvalidOutputError
from tape.lm.base import Request
from tape.methods.cgdp.context import PromptWindow
from tape.methods.cgdp.curation import BeliefCaps
from tape.methods.cgdp.events import ContextEvent
from tape.methods.cgdp.prompts import SearchFormat
from tape.methods.cgdp.settings import CgdpSettings
from tape.methods.cgdp.view import Belief, SearchRound, View
from tape.protocols.search import SearchOption, SearchTask

T = TypeVar("T")

_RESOLVED = 3
"""Most resolved predicates in a prompt."""


class Remembered:
    """The memory of one search.

    Attributes:
        rounds: All rounds, oldest first, whatever prompts show.
        belief: The belief state; None with a transcript.
        notes: The model's own notes.
        gave_up: Whether curation has dropped an open question.
        rules: Tokens of the longest prompt of any role with an empty memory.
    """

    def __init__(self, episode: Episode, settings: CgdpSettings, domain: SearchTask, prompts: SearchFormat) -> None:
        self.episode, self.settings, self.domain, self.prompts = episode, settings, domain, prompts
        self.options: tuple[SearchOption, ...] = tuple(domain.options())
        self.window = PromptWindow(episode.roles.lm, settings.context_tokens)
        self.rounds: list[SearchRound] = []
        self.notes: list[str] = []
        self.belief: Belief | None = self._first_belief()
        self.gave_up = False
        self.caps = BeliefCaps(settings.k_trigger, settings.k_target, settings.belief_tokens)
        self.rules = 0
        self._shown_from = 0

    def _first_belief(self) -> Belief | None:
        form = self.settings.memory
        if form not in ("structured", "freeform"):
            return None
        questions = self.domain.sub_questions or ((self.domain.question,) if form == "structured" else ())
        return Belief(form, questions=tuple(questions))

    def view(self, target: str = "") -> View:
        """What a role is shown now."""
        memory = self.settings.memory
        if self.belief is not None:
            return View(self.domain.question, belief=self.shown(self.belief), notes=tuple(self.notes), target=target)
        if memory == "lobotomized":
            newest = tuple(SearchRound(1, "", round_.passages) for round_ in self.rounds[-1:])
            return View(self.domain.question, rounds=newest)
        return View(
            self.domain.question, rounds=tuple(self.rounds[self._shown_from :]), notes=tuple(self.notes), target=target
        )

    def belief_tokens(self, belief: Belief) -> int:
        """Tokens of a belief in a prompt."""
        return self._tokens(self.shown(belief))

    def shown(self, belief: Belief) -> Belief:
        """A belief as prompts show it: with as many of the newest resolved predicates as the cap allows."""
        most = self.caps.tokens
        for count in range(min(_RESOLVED, len(belief.resolved)), 0, -1):
            result = replace(belief, resolved=belief.resolved[-count:])
            if most is None or self._tokens(result) <= most:
                return result
        return replace(belief, resolved=())

    def _tokens(self, belief: Belief) -> int:
        bare = View(self.domain.question, belief=Belief(belief.form))
        whole = self.window.count(self.prompts.answer_request(replace(bare, belief=belief)))
        return whole - self.window.count(self.prompts.answer_request(bare))

    def bare(self) -> View:
        """A view of nothing but the question."""
        return View(self.domain.question, belief=None if self.belief is None else Belief(self.belief.form))

    def forget(self) -> None:
        """Omit all rounds but the newest from prompts from here on (Iter-RetGen)."""
        self._shown_from = max(0, len(self.rounds) - 1)

    async def ask(
        self,
        build: Callable[[View], Request],
        view: View,
        read: Callable[[View, str], T],
        kept_back: Reservation | None = None,
    ) -> T | None:
        """Call the model with a view that is shortened to fit.

        The answer is read with the shortened view, because some formats refer to it by position.

        Returns:
            The answer; None if it cannot be read, which is counted.

        Raises:
            BudgetExceededError: The call does not fit; it was not made.
        """
        fitted = self.window.fit(build, view)
        request, roles = fitted.request, self.episode.roles
        if fitted.dropped:
            self.log_dropped(request.role, fitted.dropped)
        [completion] = await roles.lm.generate([request], kept_back)
        try:
            return read(fitted.view, completion.texts[0])
        except InvalidOutputError as error:
            roles.count_malformed(request.role, completion.texts[0], error)
            return None

    def log_dropped(self, role: str, dropped: Sequence[str], most: int | None = None) -> None:
        """Record what was left out of a prompt.

        Args:
            role: The role of the prompt.
            dropped: What was left out.
            most: The limit of the prompt; else the window, or what is left of the budget.
        """
        left = (most, self.window.limit, self.episode.remaining().get("tokens"))
        tokens = min(tokens for tokens in left if tokens is not None)
        self.episode.trace.write(ContextEvent(role=role, tokens=tokens, dropped=list(dropped)))
